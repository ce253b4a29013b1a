"""Figures of a report, for the values that the model has released."""

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
"""Maximal number of components with a figure of their loadings."""


_INTERVALS = (
    "Lines are 95 % confidence intervals for the population's value. They account for noise, sampling and "
    "clipping, for rows that are approximately normal. With heavy tails the true value may lie above them."
)


@dataclass(frozen=True, kw_only=True)
class ReportFigure:
    """A figure on the page. If it cannot be drawn, `svg` is None and `caption` gives the reason."""

    title: str
    caption: str
    svg: Markup | None


def report_figures(model: Any, scores: Any) -> list[ReportFigure]:
    """Return all figures, in the order of the page."""
    figures = [_scree(model), _cumulative(model)]
    figures += [_loadings(model, number) for number in range(1, min(model.n_components_, MOST_COMPONENTS) + 1)]
    figures += [*_maps(model, scores), _convergence(model), _ledger(model)]
    return [figure for figure in figures if figure is not None]


def _scree(model: Any) -> ReportFigure:
    title = "Variance along each component"
    try:
        display = ScreeDisplay.from_estimator(model)
    except AttributeError as absent:
        return ReportFigure(title=title, caption=_reason(absent), svg=None)
    numbers = ", ".join(f"{value:.3g}" for value in display.variances)
    known = (
        f"Bars are released values. {_INTERVALS}"
        if display.intervals is not None
        else "This algorithm does not report the noise in the variances. Clipping biases them downwards."
    )
    return _drawn(title, display.plot, name="scree", label=f"Bars of variances: {numbers}.", caption=known)


def _cumulative(model: Any) -> ReportFigure | None:
    if "explained_variance_ratio_" not in vars(model):
        return None
    display = CumulativeVarianceDisplay.from_estimator(model)
    last = f"{100 * display.shares[-1]:.0f} %"
    return _drawn(
        "Share of total variance",
        display.plot,
        name="cumulative",
        label=f"Line of shares of variance, up to {last} with {len(display.shares)} components.",
        caption=f"The first {len(display.shares)} components explain about {last} of the variance."
        + (f" {_INTERVALS}" if display.intervals is not None else ""),
    )


def _loadings(model: Any, number: int) -> ReportFigure:
    display = LoadingsDisplay.from_estimator(model, component=number, top=8)
    largest = ", ".join(
        f"{name} {value:+.2f}" for name, value in zip(display.names[:3], display.loadings[:3], strict=True)
    )
    return _drawn(
        f"Component {number}",
        display.plot,
        name=f"loadings-{number}",
        label=f"Bars of loadings; largest: {largest}.",
        caption=f"Largest loadings: {largest}. Striped bars are negative.",
    )


def _maps(model: Any, scores: Any) -> Iterator[ReportFigure]:
    """Yield a biplot: arrows of the loadings, over the map of scores if one was bought."""
    if scores is None and model.n_components_ < 2:
        return
    shown = None if scores is None else ScoreMapDisplay.from_histogram(scores)
    display = BiplotDisplay.from_estimator(model, scores=shown, top=6)
    label = f"Arrows of the columns {', '.join(display.names)} in the plane of two components"
    if shown is None:
        caption = "Longer arrows are larger loadings. Columns whose arrows point the same way increase together."
    else:
        visible = int(np.sum(~np.isnan(shown.shown())))
        label += f", over a map of noisy counts, {visible} cells of which exceed the noise"
        caption = (
            f"The noise in a cell has standard deviation {shown.noise:.3g}. Cells below two standard deviations "
            "are blank."
        )
    yield _drawn("Map", display.plot, name="biplot", label=f"{label}.", caption=caption, height=3.3)
    if shown is not None:
        yield from (_group_map(shown, group, index) for index, group in enumerate(shown.groups))


def _group_map(shown: ScoreMapDisplay, group: str, index: int) -> ReportFigure:
    def draw(axes: Axes) -> object:
        return shown.plot(axes, group=group)

    label = f"Noisy map of group {group}."
    return _drawn(f"Map of {group}", draw, name=f"map-{index}", label=label, caption="", height=3.3)


def _convergence(model: Any) -> ReportFigure | None:
    try:
        display = ConvergenceDisplay.from_estimator(model)
    except InvalidInputError:
        return None
    return _drawn(
        "Rounds",
        display.plot,
        name="convergence",
        label=f"Radius and noise of {len(display.kinds)} rounds; noise ends at {display.noise[-1]:.3g}.",
        caption="Units with a norm above the radius were clipped to it. The noise of the last round determines "
        "the accuracy.",
    )


def _ledger(model: Any) -> ReportFigure:
    display = LedgerDisplay.from_estimator(model)
    shown = display.largest()
    parts = ", ".join(
        f"{label} {100 * share:.0f} %" for label, share in zip(shown.labels, shown.shares, strict=True)
    )
    return _drawn(
        "Spending of the budget",
        display.plot,
        name="ledger",
        label=f"Bars of shares of the budget: {parts}.",
        caption=f"Shares of {display.of}. The table below lists every entry.",
        height=max(2.0, 0.9 + 0.2 * len(shown.labels)),
    )


def _drawn(
    title: str, draw: Callable[[Axes], object], *, name: str, label: str, caption: str, height: float = 2.7
) -> ReportFigure:
    def untitled(axes: Axes) -> None:
        draw(axes)
        axes.set_title("")  # the page shows the title as a heading, and the guarantee at its top

    svg = inline_svg(untitled, name=name, label=f"{title}. {label}", height=height)
    return ReportFigure(title=title, caption=caption, svg=svg)


def _reason(absent: AttributeError) -> str:
    return f"Not drawn. {str(absent).splitlines()[0]}"
