"""The pictures of a report, as far as the model has released what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from eigenveil.errors import InvalidInputError
from eigenveil.plots import (
    BiplotDisplay,
    ConvergenceDisplay,
    CumulativeVarianceDisplay,
    LedgerDisplay,
    LoadingsDisplay,
    ScoreMapDisplay,
    ScreeDisplay,
)
from eigenveil.report.svg import inline_svg

MOST_COMPONENTS = 6
"""How many components get a picture of their loadings."""


_INTERVALS = (
    "Lines hold the population's value 95 times in 100: they count noise, the chance of who is in the data, and "
    "what clipping took, for rows that are about normal. With heavy tails the truth may lie above them."
)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture on the page; `svg` is None where it cannot be drawn, and `caption` then says why."""

    title: str
    caption: str
    svg: Markup | None


def pictures_of(model: Any, scores: Any) -> list[Picture]:
    """All pictures, in the order of the page."""
    pictures = [_scree(model), _cumulative(model)]
    pictures += [_loadings(model, number) for number in range(1, min(model.n_components_, MOST_COMPONENTS) + 1)]
    pictures += [*_maps(model, scores), _convergence(model), _ledger(model)]
    return [picture for picture in pictures if picture is not None]


def _scree(model: Any) -> Picture:
    title = "Variance along each component"
    try:
        display = ScreeDisplay.from_estimator(model)
    except AttributeError as absent:
        return Picture(title=title, caption=_reason(absent), svg=None)
    numbers = ", ".join(f"{value:.3g}" for value in display.variances)
    known = (
        f"Bars are released values. {_INTERVALS}"
        if display.intervals is not None
        else "This algorithm does not tell how large the noise in them is; clipping makes them low."
    )
    return _drawn(title, display.plot, name="scree", label=f"Bars of variances: {numbers}.", caption=known)


def _cumulative(model: Any) -> Picture | None:
    if "explained_variance_ratio_" not in vars(model):
        return None
    display = CumulativeVarianceDisplay.from_estimator(model)
    last = f"{100 * display.shares[-1]:.0f} %"
    return _drawn(
        "Share of all variance",
        display.plot,
        name="cumulative",
        label=f"Line of shares of variance, up to {last} with {len(display.shares)} components.",
        caption=f"The first {len(display.shares)} components hold about {last} of the variance."
        + (f" {_INTERVALS}" if display.intervals is not None else ""),
    )


def _loadings(model: Any, number: int) -> Picture:
    display = LoadingsDisplay.from_estimator(model, component=number, top=8)
    largest = ", ".join(
        f"{name} {value:+.2f}" for name, value in zip(display.names[:3], display.loadings[:3], strict=True)
    )
    return _drawn(
        f"Component {number}",
        display.plot,
        name=f"loadings-{number}",
        label=f"Bars of loadings; largest: {largest}.",
        caption=f"Columns that weigh most: {largest}. Striped bars are negative.",
    )


def _maps(model: Any, scores: Any) -> Iterator[Picture]:
    """The map of scores where one was bought, with arrows; arrows alone where not."""
    if scores is None and model.n_components_ < 2:
        return
    shown = None if scores is None else ScoreMapDisplay.from_histogram(scores)
    display = BiplotDisplay.from_estimator(model, scores=shown, top=6)
    label = f"Arrows of the columns {', '.join(display.names)} in the plane of two components"
    if shown is None:
        caption = "Longer arrows weigh more; arrows that point the same way go up together."
    else:
        label += f", over a map of noisy counts, {int(np.sum(~np.isnan(shown.shown())))} cells of which stand out"
        caption = (
            f"Noise in a cell has a standard deviation of {shown.noise:.3g}; cells below two of them are blank."
        )
    yield _drawn("Map", display.plot, name="biplot", label=f"{label}.", caption=caption, height=3.3)
    if shown is not None:
        yield from (_group_map(shown, group, index) for index, group in enumerate(shown.groups))


def _group_map(shown: ScoreMapDisplay, group: str, index: int) -> Picture:
    def draw(axes: Axes) -> object:
        return shown.plot(axes, group=group)

    label = f"Noisy map of group {group}."
    return _drawn(f"Map of {group}", draw, name=f"map-{index}", label=label, caption="", height=3.3)


def _convergence(model: Any) -> Picture | None:
    try:
        display = ConvergenceDisplay.from_estimator(model)
    except InvalidInputError:
        return None
    return _drawn(
        "Round by round",
        display.plot,
        name="convergence",
        label=f"Radius and noise of {len(display.kinds)} rounds; noise ends at {display.noise[-1]:.3g}.",
        caption="Units longer than the radius were shortened to it. Noise in the last round is what counts.",
    )


def _ledger(model: Any) -> Picture:
    display = LedgerDisplay.from_estimator(model)
    shown = display.largest()
    parts = ", ".join(
        f"{label} {100 * share:.0f} %" for label, share in zip(shown.labels, shown.shares, strict=True)
    )
    return _drawn(
        "Where the budget went",
        display.plot,
        name="ledger",
        label=f"Bars of shares of the budget: {parts}.",
        caption=f"Shares of {display.of}; the table below has every entry.",
        height=max(2.0, 0.9 + 0.2 * len(shown.labels)),
    )


def _drawn(
    title: str, draw: Callable[[Axes], object], *, name: str, label: str, caption: str, height: float = 2.7
) -> Picture:
    def untitled(axes: Axes) -> None:
        draw(axes)
        axes.set_title("")  # the page has it as a heading, and the guarantee at its top

    svg = inline_svg(untitled, name=name, label=f"{title}. {label}", height=height)
    return Picture(title=title, caption=caption, svg=svg)


def _reason(absent: AttributeError) -> str:
    return f"Not drawn. {str(absent).splitlines()[0]}"
