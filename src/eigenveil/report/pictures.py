"""Figures of a report, for the values that the model has released."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from eigenveil.errors import InvalidInputError
from eigenveil.estimators.uncertainty import known_angles
from eigenveil.plots import (
    BiplotDisplay,
    ConvergenceDisplay,
    CumulativeVarianceDisplay,
    LedgerDisplay,
    LoadingsDisplay,
    LoadingsImageDisplay,
    ScoreMapDisplay,
    ScreeDisplay,
)
from eigenveil.plots.score_map import FALSE_ALARM
from eigenveil.privacy import Ledger
from eigenveil.report.svg import inline_svg
from eigenveil.report.tables import angle_in_words

MOST_COMPONENTS = 6
"""Maximal number of components with a figure of their loadings."""
_FIRST = 3
"""Number of figures on the first screen."""


@dataclass(frozen=True, kw_only=True)
class ReportFigure:
    """A figure on the page: one picture, or several of a kind."""

    title: str
    caption: str
    svgs: list[Markup]


@dataclass(frozen=True, kw_only=True)
class ReportFigures:
    """All figures, in the order of the page, and why there is no figure of variances if there is none."""

    first: list[ReportFigure]
    more: list[ReportFigure]
    diagnostics: list[ReportFigure]
    missing: str


def report_figures(model: Any, scores: Any, grid: tuple[int, int] | None, ledger: Ledger) -> ReportFigures:
    """Return the figures: variances, first loadings and map, then all others."""
    scree, missing = _scree(model)
    loadings = [_images(model, grid)] if grid is not None else list(_loadings(model))
    maps = list(_maps(scores))
    others = [*loadings[1:], *_cumulative(model), *(_arrows(model) if grid is None else ()), *maps[1:]]
    order = [*scree, loadings[0], *maps[:1], *others]
    diagnostics = [*_convergence(model), _ledger(ledger)]
    return ReportFigures(first=order[:_FIRST], more=order[_FIRST:], diagnostics=diagnostics, missing=missing)


def _scree(model: Any) -> tuple[list[ReportFigure], str]:
    """Return the figure of variances, or the reason why there is none."""
    try:
        display = ScreeDisplay.from_estimator(model)
    except AttributeError as absent:
        return [], str(absent).splitlines()[0]
    numbers = ", ".join(f"{value:.3g}" for value in display.variances)
    caption = (
        "Bars are released values. Lines are 95 % confidence intervals for the population's value."
        if display.intervals is not None
        else "This algorithm does not report the noise in the variances. Clipping biases them downwards."
    )
    label = f"Bars of variances: {numbers}."
    return [_drawn("Variance along each component", display.plot, name="scree", label=label, caption=caption)], ""


def _cumulative(model: Any) -> Iterator[ReportFigure]:
    if "explained_variance_ratio_" not in vars(model) or model.n_components_ < 2:
        return
    display = CumulativeVarianceDisplay.from_estimator(model)
    last = f"{100 * display.shares[-1]:.0f} %"
    yield _drawn(
        "Share of total variance",
        display.plot,
        name="cumulative",
        label=f"Line of shares of variance, up to {last} with {len(display.shares)} components.",
        caption=f"The first {len(display.shares)} components explain about {last} of the variance.",
    )


def _loadings(model: Any) -> Iterator[ReportFigure]:
    for number in range(1, min(model.n_components_, MOST_COMPONENTS) + 1):
        display = LoadingsDisplay.from_estimator(model, component=number, top=8)
        striped = " Striped bars are negative." if number == 1 else ""
        yield _drawn(
            f"Component {number}: largest loadings",
            display.plot,
            name=f"loadings-{number}",
            label=f"Bars of loadings; largest: {_largest(display)}.",
            caption=_accuracy(model, number) + striped,
        )


def _images(model: Any, grid: tuple[int, int]) -> ReportFigure:
    """Return one figure with an image per component."""
    angles, (rows, columns) = known_angles(model), grid
    svgs = []
    for number in range(1, min(model.n_components_, MOST_COMPONENTS) + 1):
        display = LoadingsImageDisplay.from_estimator(model, grid=grid, component=number)
        largest = _largest(LoadingsDisplay.from_estimator(model, component=number, top=3))
        title = f"component {number}"
        if angles is not None:
            title += f"\n{angles[number - 1]:.0f}°, {angle_in_words(angles[number - 1])[0]}"
        svgs.append(
            inline_svg(
                _with_title(display.plot, title),
                name=f"image-{number}",
                label=f"Component {number} as {rows} by {columns} pixels; largest loadings: {largest}.",
                width=1.3,
                height=1.3 * min(2.0, max(0.5, rows / columns)) + 0.3,
            )
        )
    caption = "Blue pixels have positive loadings, orange ones negative; stronger colours are larger loadings."
    if angles is not None:
        caption += " Angles are the expected distances to the population's own components."
    return ReportFigure(title="Loadings as images", caption=caption, svgs=svgs)


def _largest(display: LoadingsDisplay) -> str:
    pairs = zip(display.names[:3], display.loadings[:3], strict=True)
    return ", ".join(f"{name} {value:+.2f}" for name, value in pairs)


def _accuracy(model: Any, number: int) -> str:
    """Return a sentence on the expected angle of a component, and its meaning; "" if it is not known."""
    angles = known_angles(model)
    if angles is None:
        return ""
    angle, to = angles[number - 1], " to the population's own component" if number == 1 else ""
    short, advice = angle_in_words(angle)
    return f"Expected angle{to}: {angle:.0f}°, {short} ({advice})."


def _arrows(model: Any) -> Iterator[ReportFigure]:
    if model.n_components_ < 2:
        return
    display = BiplotDisplay.from_estimator(model, top=8)
    yield _drawn(
        "Columns in the plane of components 1 and 2",
        display.plot,
        name="biplot",
        label=f"Arrows of the columns {', '.join(display.names)} in the plane of two components.",
        caption="Longer arrows are larger loadings. Columns whose arrows point the same way increase together.",
    )


def _maps(scores: Any) -> Iterator[ReportFigure]:
    """Yield the map of all units, and one map per group."""
    if scores is None:
        return
    display = ScoreMapDisplay.from_histogram(scores)
    for index, group in enumerate((None, *display.groups)):
        shown = int(np.sum(~np.isnan(display.shown(group))))

        def draw(axes: Axes, group: str | None = group) -> object:
            return display.plot(axes, group=group)

        none = "" if shown else "No cell exceeds the noise: fewer bins or a larger epsilon would show more. "
        blank = f"{none}Cells with fewer than about {display.threshold(group):.0f} units are blank"
        explained = (
            f"Stronger colours are more units. {blank}: noise alone would colour a cell, anywhere on the map, in "
            f"at most {100 * FALSE_ALARM:.0f} % of maps."
        )
        yield _drawn(
            "Where the units lie" if group is None else f"Map of {group}",
            draw,
            name=f"map-{index}",
            label=f"Map of noisy counts; {shown} of {display.counts.size} cells exceed the noise.",
            caption=explained if group is None else f"{blank}.",
        )


def _convergence(model: Any) -> Iterator[ReportFigure]:
    try:
        display = ConvergenceDisplay.from_estimator(model)
    except InvalidInputError:
        return
    yield _drawn(
        "Rounds",
        display.plot,
        name="convergence",
        label=f"Radius and noise of {len(display.kinds)} rounds; noise ends at {display.noise[-1]:.3g}.",
        caption="Units with a norm above the radius were clipped to it. The noise of the last round determines "
        "the accuracy.",
    )


def _ledger(ledger: Ledger) -> ReportFigure:
    display = LedgerDisplay.from_ledger(ledger)
    shown = display.largest()
    parts = ", ".join(
        f"{label} {100 * share:.0f} %" for label, share in zip(shown.labels, shown.shares, strict=True)
    )
    return _drawn(
        "Spending of the budget",
        display.plot,
        name="ledger",
        label=f"Bars of shares of the budget: {parts}.",
        caption=f"Shares of {display.of}. The ledger lists every entry.",
        height=max(2.0, 0.9 + 0.2 * len(shown.labels)),
    )


def _drawn(
    title: str, draw: Callable[[Axes], object], *, name: str, label: str, caption: str, height: float = 2.6
) -> ReportFigure:
    svg = inline_svg(_with_title(draw, ""), name=name, label=f"{title}. {label}", height=height)
    return ReportFigure(title=title, caption=caption.strip(), svgs=[svg])


def _with_title(draw: Callable[[Axes], object], title: str) -> Callable[[Axes], object]:
    """Return `draw` with another title: the page shows titles as headings, and the guarantee at its top."""

    def titled(axes: Axes) -> None:
        draw(axes)
        axes.set_title(title, fontsize="medium")

    return titled
