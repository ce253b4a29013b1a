"""Plot of a table. Curves are distinguishable by marker, dashes and grey level as well as by colour."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from eigenveil.experiments import names
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.fits import RELATION
from eigenveil.experiments.methods import METHODS
from eigenveil.experiments.table import Row, Table

NOT_FOR_USE = "Fits are seeded, which is for experiments only; the data are synthetic."


@dataclass(frozen=True)
class Style:
    """Line style of a curve."""

    colour: str
    mark: str
    dash: str = "-"
    width: float = 1.4


STYLES = {
    names.PLAIN: Style("#000000", "", "-", 1.0),
    names.GAUSS_1: Style("#0072B2", "s"),
    names.GAUSS_1_BOUGHT: Style("#0072B2", "P", "-", 0.9),
    names.GAUSS_2: Style("#56B4E9", "D"),
    names.POWER: Style("#999999", "v"),
    names.POWER_PRINTED: Style("#999999", "^", "-", 0.9),
    names.LITERAL: Style("#D55E00", "x"),
    names.LITERAL_LOG_BATCHES: Style("#D55E00", "+", "-", 0.9),
    names.LITERAL_FIXED: Style("#999999", "^"),
    names.LITERAL_FIXED_FOUR: Style("#0072B2", "D"),
    names.TRACKED_MEAN: Style("#E69F00", "o"),
    names.TRACKED_MEAN_RATES: Style("#E69F00", "p", "-", 0.9),
    names.OJAS: Style("#CC79A7", "*"),
    names.TRACKED: Style("#009E73", "o", "-", 2.4),
    names.OJAS_PRINTED: Style("#CC79A7", "*", "--"),
    names.GAUSS_2_PRINTED: Style("#56B4E9", "D", "--"),
    names.BOUND: Style("#555555", "", ":", 1.6),
}
"""Colours from the palette of Okabe and Ito. Dashed curves are not private; dotted curves are bounds."""
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "font.size": 9.0}


def draw(table: Table, figure: Figure, stem: Path) -> list[Path]:
    """Write the plot as SVG and PNG. Both contain the command, in the caption and in the metadata."""
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": figure.name}):
        canvas = _canvas(table, figure)
        about = {"Title": figure.title, "Description": table.command}
        paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
        canvas.savefig(paths[0], metadata={**about, "Date": None})
        canvas.savefig(paths[1], metadata=about, dpi=130)
    return paths


def _canvas(table: Table, figure: Figure) -> Canvas:
    panels = table.panels()
    canvas = Canvas(figsize=(5.2 + 2.9 * len(panels), 4.6), layout="constrained")
    all_axes = canvas.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(all_axes, panels, strict=True):
        _panel(axes, table, figure, panel)
    all_axes[0].set_ylabel(f"zeta, mean and {'standard deviation' if figure.bars == 'sd' else '95 % interval'}")
    by_label = dict(zip(*reversed(all_axes[0].get_legend_handles_labels()), strict=True))
    labels = [METHODS[name].label for name in figure.methods if METHODS[name].label in by_label]
    handles = [by_label[label] for label in labels]
    canvas.legend(handles, labels, loc="outside right center", fontsize=8, frameon=False, handlelength=3.2)
    title = f"{figure.title} (QUICK RUN: smaller n and d)" if table.quick else figure.title
    canvas.suptitle(title, fontsize="medium", x=0.01, ha="left")
    canvas.supxlabel("\n".join(_caption(table, figure, wide=len(panels) > 1)), fontsize=6.5, x=0.01, ha="left")
    return canvas


def _panel(axes: Axes, table: Table, figure: Figure, panel: float | None) -> None:
    present = [name for name in figure.methods if table.curve(name, panel)]
    for place, name in enumerate(present):
        rows = sorted(table.curve(name, panel).values(), key=lambda row: row.x)
        if figure.bars == "sd":
            _bars(axes, rows, name, shift=0.5 * (place / max(1, len(present) - 1) - 0.5))
        else:
            _shaded(axes, rows, name)
    if not figure.linear:
        axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="clip")
    means = [row.mean for row in table.rows if row.mean > 0]
    if means:
        axes.set_ylim(min(means) / 2, 1.5)
    places = sorted({row.x for row in table.rows})
    axes.set_xticks(places, [f"{x:,g}" for x in places])
    axes.minorticks_off()
    axes.set_xlabel(figure.label)
    if panel is not None:
        axes.set_title(f"{figure.panel} = {panel:g}", fontsize="medium")
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _look(name: str) -> dict[str, Any]:
    style = STYLES[name]
    filled = "white" if style.dash == "--" else style.colour
    return {
        "color": style.colour,
        "marker": style.mark or None,
        "markerfacecolor": filled,
        "linestyle": style.dash,
        "linewidth": style.width,
        "markersize": 6,
        "label": METHODS[name].label,
    }


def _shaded(axes: Axes, rows: Sequence[Row], name: str) -> None:
    x = [row.x for row in rows]
    axes.plot(x, [row.mean for row in rows], **_look(name))
    low = [max(row.low, row.mean / 10) for row in rows]  # a logarithmic axis cannot show 0; the table does
    axes.fill_between(x, low, [row.high for row in rows], color=STYLES[name].colour, alpha=0.18, linewidth=0)


def _bars(axes: Axes, rows: Sequence[Row], name: str, *, shift: float) -> None:
    """Draw points with error bars, shifted sideways so that the bars do not overlap."""
    x, mean = [row.x + shift for row in rows], [row.mean for row in rows]
    if METHODS[name].fit is None:
        axes.plot(x, mean, **_look(name))
    else:
        axes.errorbar(x, mean, yerr=[row.sd for row in rows], capsize=2, elinewidth=0.8, **_look(name))


def _caption(table: Table, figure: Figure, *, wide: bool) -> list[str]:
    setting = figure.base
    counts = sorted({row.trials for row in table.rows if row.trials})
    fewer = {row.trials for row in table.rows if row.trials and row.trials < counts[-1]} if counts else set()
    slow = f" ({min(fewer)} of k-DP-Ojas with the printed noise, a step a unit)" if fewer else ""
    terms = f"epsilon = {setting.epsilon:g}, delta = {setting.delta:g}, relation: {RELATION.value}"
    bounded = setting.model == "spiked" and names.BOUND in figure.methods
    beyond = " The bound is for Gaussian rows; here all units share one signal, so it can be passed."
    text = (
        f"Paper: {figure.where}. Mean of {counts[-1] if counts else 0} trials{slow}; {terms}. "
        f"Dashed: not private. {NOT_FOR_USE}{beyond if bounded else ''}"
    )
    return [f"$ {table.command}", *textwrap.wrap(text, 190 if wide else 150)]
