"""Plot of a table: small panels with a label beside each curve.

Curves are distinguishable by marker, dashes and label as well as by colour. A method has the same colour in every
figure.
"""

from __future__ import annotations

import re
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
from eigenveil.experiments.labels import Label, add_labels
from eigenveil.experiments.methods import METHODS
from eigenveil.experiments.table import Row, Table
from eigenveil.plots.style import BLUE, GREEN, ORANGE, PURPLE

NOT_FOR_USE = "Fits are seeded, which is for experiments only; the data are synthetic."


@dataclass(frozen=True)
class Style:
    """Line style of a curve."""

    colour: str
    mark: str
    dash: str = "-"
    width: float = 1.5


STYLES = {
    names.PLAIN: Style("#000000", "", "-", 1.0),
    names.TRACKED: Style(BLUE, "o", "-", 2.6),
    names.GAUSS_1: Style(GREEN, "s"),
    names.GAUSS_1_BOUGHT: Style("#882255", "P"),
    names.GAUSS_2: Style("#56B4E9", "D"),
    names.POWER: Style("#999999", "v"),
    names.POWER_PRINTED: Style("#999933", "^"),
    names.LITERAL: Style("#D55E00", "x"),
    names.LITERAL_LOG_BATCHES: Style("#CC6677", "+"),
    names.LITERAL_FIXED: Style("#DDCC77", "^"),
    names.LITERAL_FIXED_FOUR: Style("#661100", "d"),
    names.TRACKED_MEAN: Style(ORANGE, "h"),
    names.TRACKED_MEAN_RATES: Style("#332288", "p"),
    names.OJAS: Style(PURPLE, "*"),
    names.BOUND: Style("#555555", "", ":", 1.6),
    names.OJAS_PRINTED: Style(PURPLE, "*", "--"),
    names.GAUSS_2_PRINTED: Style("#56B4E9", "D", "--"),
}
"""Colours from the palette of Okabe and Ito, and for variants from one of Tol. Dashed curves are not private; they
have the colour of the same method with valid noise. Dotted curves are bounds."""

REFERENCES = (names.PLAIN, names.TRACKED)
"""Curves that every panel has."""
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Baselines": (
        (names.GAUSS_1, names.GAUSS_1_BOUGHT, names.GAUSS_2, names.POWER, names.POWER_PRINTED),
        (),
    ),
    "The paper's methods": (
        (
            names.LITERAL,
            names.LITERAL_LOG_BATCHES,
            names.LITERAL_FIXED,
            names.LITERAL_FIXED_FOUR,
            names.TRACKED_MEAN,
            names.TRACKED_MEAN_RATES,
            names.OJAS,
            names.BOUND,
        ),
        (),
    ),
    "Noise as printed (dashed: NOT PRIVATE)": (
        (names.OJAS_PRINTED, names.GAUSS_2_PRINTED),
        (names.OJAS, names.GAUSS_2),
    ),
}
"""Panels of a plot, left to right: their title, their own curves, and curves shown for comparison."""

_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "font.size": 11.0}
_LEFT, _TOP, _BELOW, _FOOT, _LINE = 0.85, 0.75, 0.65, 0.12, 0.18
"""Inches left of, above and below the panels, below the caption, and of a line of the caption."""
_WIDE, _HIGH = 2.2, 3.3
"""Size of a panel in inches."""
_NARROW, _BROAD = 16, 36
"""Characters in a line of a label, beside one of several panels and beside a single panel."""


def draw(table: Table, figure: Figure, stem: Path) -> list[Path]:
    """Write the plot as SVG and PNG. Both contain the command, in the caption and in the metadata."""
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": figure.name}):
        canvas = _canvas(table, figure)
        about = {"Title": figure.title, "Description": table.command}
        paths = [stem.with_suffix(".svg"), stem.with_suffix(".png")]
        canvas.savefig(paths[0], metadata={**about, "Date": None})
        canvas.savefig(paths[1], metadata=about, dpi=150)
    return paths


def panels_of(table: Table) -> dict[str, list[str]]:
    """Return the curves of each panel by its title, without panels that would show references only."""
    present = {row.method for row in table.rows}
    return {
        title: [name for name in (*REFERENCES, *compared, *own) if name in present]
        for title, (own, compared) in GROUPS.items()
        if present.intersection(own)
    }


def _canvas(table: Table, figure: Figure) -> Canvas:
    """Return the plot: a column for every group of methods, and a row for every panel of the figure."""
    columns, rows = panels_of(table), table.panels()
    chars = _NARROW if len(columns) > 1 else _BROAD
    beside, wide = 0.35 + 0.085 * chars, _WIDE if len(columns) > 1 else 1.5 * _WIDE
    high = _HIGH if len(rows) == 1 else 0.8 * _HIGH
    width = _LEFT + len(columns) * (wide + beside)
    caption = [line for text in _caption(table, figure) for line in textwrap.wrap(text, int(15.5 * width))]
    foot = _FOOT + len(caption) * _LINE
    height = _TOP + len(rows) * high + (len(rows) - 1) * 0.25 + _BELOW + foot
    canvas = Canvas(figsize=(width, height))
    for i, row in enumerate(rows):
        for j, (title, methods) in enumerate(columns.items()):
            left, low = _LEFT + j * (wide + beside), height - _TOP - high - i * (high + 0.25)
            axes = canvas.add_axes((left / width, low / height, wide / width, high / height))
            _panel(axes, table, figure, row, methods)
            add_labels(axes, _labels(table, figure, row, methods, chars), high)
            if i == 0:
                axes.set_title(title, fontsize="medium", loc="left", weight="bold")
            axes.tick_params(labelleft=j == 0, labelbottom=i == len(rows) - 1)
            axes.set_xlabel(figure.label if i == len(rows) - 1 else "")
            if j == 0:
                axes.set_ylabel("zeta" if row is None else f"{figure.panel} = {row:g}: zeta")
    heading = f"{figure.title} (QUICK RUN: smaller n and d)" if table.quick else figure.title
    canvas.text(0.1 / width, 1 - 0.1 / height, heading, va="top", fontsize="large")
    canvas.text(0.1 / width, _FOOT / height, "\n".join(caption), va="bottom", fontsize=9)
    return canvas


def _panel(axes: Axes, table: Table, figure: Figure, panel: float | None, methods: Sequence[str]) -> None:
    for name in methods:
        rows = _curve(table, name, panel)
        if figure.bars == "sd":
            _bars(axes, rows, name, shift=_shift(figure, methods, name))
        else:
            _shaded(axes, rows, name)
    if not figure.linear:
        axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="clip")
    means = [row.mean for row in table.rows if row.mean > 0]
    if means:
        axes.set_ylim(min(means) / 2, 1.5)
    places = sorted({row.x for row in table.rows})
    axes.set_xticks(places, [_tick(x) for x in places])
    axes.minorticks_off()
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _shift(figure: Figure, methods: Sequence[str], name: str) -> float:
    """Return by how much a curve is shifted sideways, so that bars do not overlap; 0 without bars."""
    return 0.4 * (methods.index(name) / max(1, len(methods) - 1) - 0.5) if figure.bars == "sd" else 0.0


def _curve(table: Table, name: str, panel: float | None) -> list[Row]:
    return sorted(table.curve(name, panel).values(), key=lambda row: row.x)


def _tick(x: float) -> str:
    """Format a position.

    Examples
    --------
    >>> [_tick(x) for x in (0.025, 5.0, 400.0, 3000.0, 100000.0)]
    ['0.025', '5', '400', '3k', '100k']
    """
    return f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"


def _labels(table: Table, figure: Figure, panel: float | None, methods: Sequence[str], chars: int) -> list[Label]:
    """Return a label for each curve, at its last point; curves that coincide share one."""
    labels: list[Label] = []
    rest = [name for name in methods if table.curve(name, panel)]
    while rest:
        first = rest[0]
        same = [name for name in rest if _coincide(table, first, name, panel)]
        rest = [name for name in rest if name not in same]
        last = _curve(table, first, panel)[-1]
        texts = [METHODS[name].label for name in same]
        if len(same) > 1:
            texts = [f"{len(same)} curves that coincide:", *(f"– {text}" for text in texts)]
        text = "\n".join(_lines(text, chars) for text in texts)
        x = last.x + _shift(figure, methods, first)
        labels.append(Label(text, STYLES[first].colour, x, last.mean))
    return labels


def _lines(text: str, chars: int) -> str:
    """Break a text into lines, at commas and colons if it is too long.

    Examples
    --------
    >>> _lines("k-DP-Ojas, printed noise: NOT PRIVATE", 16).splitlines()
    ['k-DP-Ojas,', 'printed noise:', 'NOT PRIVATE']
    """
    parts = [text] if len(text) <= chars else re.split("(?<=[,:]) ", text)
    return "\n".join(line for part in parts for line in textwrap.wrap(part, chars, break_on_hyphens=False))


def _coincide(table: Table, one: str, other: str, panel: float | None) -> bool:
    """Return whether two curves have the same points, and means that differ by at most 1 %."""
    ours, theirs = table.curve(one, panel), table.curve(other, panel)
    return ours.keys() == theirs.keys() and all(
        abs(row.mean - theirs[x].mean) <= 0.01 * max(row.mean, theirs[x].mean) for x, row in ours.items()
    )


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
    }


def _shaded(axes: Axes, rows: Sequence[Row], name: str) -> None:
    x = [row.x for row in rows]
    axes.plot(x, [row.mean for row in rows], **_look(name))
    low = [max(row.low, row.mean / 10) for row in rows]  # a logarithmic axis cannot show 0; the table does
    axes.fill_between(x, low, [row.high for row in rows], color=STYLES[name].colour, alpha=0.18, linewidth=0)


def _bars(axes: Axes, rows: Sequence[Row], name: str, *, shift: float) -> None:
    """Draw points with error bars, shifted sideways."""
    x, mean = [row.x + shift for row in rows], [row.mean for row in rows]
    if METHODS[name].fit is None:
        axes.plot(x, mean, **_look(name))
    else:
        axes.errorbar(x, mean, yerr=[row.sd for row in rows], capsize=2, elinewidth=0.8, **_look(name))


def _caption(table: Table, figure: Figure) -> list[str]:
    setting = figure.base
    counts = sorted({row.trials for row in table.rows if row.trials}) or [0]
    slow = f" ({counts[0]} of slow methods)" if counts[0] < counts[-1] else ""
    shown = "Bars: standard deviation." if figure.bars == "sd" else "Shades: 95 % interval."
    terms = f"epsilon = {setting.epsilon:g}, delta = {setting.delta:g}, relation: {RELATION.value}"
    bounded = setting.model == "spiked" and names.BOUND in figure.methods
    beyond = " The bound is for Gaussian rows; here all units share one signal, so it can be passed."
    text = (
        f"zeta: root of the share of energy lost, smaller is better; mean of {counts[-1]} trials{slow}. {shown} "
        f"{terms}. {NOT_FOR_USE}{beyond if bounded else ''} Paper: {figure.paper}."
    )
    return [text, f"$ {table.command}"]
