"""Pictures of curves with error bars, and the means and standard errors that they show; methods look alike in all.

Shared by downstream.py and growth.py.
"""

from __future__ import annotations

import io
import math
import pathlib
import re
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenveil.experiments import names
from eigenveil.experiments.drawing import STYLES

PICTURES = pathlib.Path(__file__).parent.parent / "docs" / "pictures"
PLAIN, OURS, GAUSS, BOUND = "PCA, not private", "eigenveil", "DP-Gauss-1", "paper's lower bound (rate)"
LOOKS = {
    OURS: STYLES[names.TRACKED],
    GAUSS: STYLES[names.GAUSS_1_BOUGHT],
    PLAIN: STYLES[names.PLAIN],
    BOUND: STYLES[names.BOUND],
}
"""Curves look as in the paper's figures."""
SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "eigenveil", "font.size": 9.0}
BARS = 2.0
"""Length of an error bar to either side, in standard errors."""


class Mean(NamedTuple):
    """A mean and its standard error (0 for a single value), of a geometric mean that of its logarithm."""

    value: float
    error: float
    geometric: bool = False

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Of independent values."""
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(statistics.mean(values), error)

    @classmethod
    def of_logarithms(cls, values: Sequence[float]) -> Mean:
        """The geometric mean of independent values."""
        logarithm = cls.of([math.log(value) for value in values])
        return cls(math.exp(logarithm.value), logarithm.error, geometric=True)

    @property
    def bar(self) -> tuple[float, float]:
        """How far an error bar reaches down and up: two standard errors."""
        reach = BARS * self.error
        if not self.geometric:
            return reach, reach
        return -self.value * math.expm1(-reach), self.value * math.expm1(reach)


@contextmanager
def picture(
    path: pathlib.Path | None,
    *,
    rows: int,
    columns: int,
    size: tuple[float, float],
    note: str,
    share_y: bool = False,
) -> Iterator[list[list[Axes]]]:
    """Yield panels to draw on; then add a legend of all curves and a note, and write the picture as SVG.

    Parameters
    ----------
    path : Path or None
        None: draw, but write nothing.
    rows, columns : int
        Number of panels.
    size : pair of float
        Width and height in inches.
    note : str
        A line below the panels.
    share_y : bool, default=False
        Whether the panels of a row have one y axis.
    """
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey="row" if share_y else "none")
        for axes in panels.flat:
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(visible=True, axis="y", alpha=0.3)
        yield panels.tolist()
        curves: dict[str, Any] = {}
        for axes in panels.flat:
            curves |= {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(curves.values(), curves, loc="outside upper center", ncols=len(curves), frameon=False)
        figure.supxlabel(note, fontsize=7.5)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    if path is not None:
        path.write_text(_bare(text.getvalue()), "utf-8")


def draw(axes: Axes, method: str, x: Sequence[float], means: Sequence[Mean]) -> None:
    """Draw a curve with bars of two standard errors to either side."""
    look = LOOKS[method]
    bars = [*zip(*(mean.bar for mean in means), strict=True)]
    axes.errorbar(
        x,
        [mean.value for mean in means],
        yerr=bars if any(mean.error for mean in means) else None,
        color=look.colour,
        marker=look.mark or None,
        linestyle=look.dash,
        linewidth=look.width,
        markersize=5,
        elinewidth=1.0,
        capsize=2.5,
        label=method,
    )


def _bare(svg: str) -> str:
    """Return a picture without metadata and comments, and with coordinates to a hundredth of a point."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(?<![>\d])-?\d+\.\d{5,}", lambda found: f"{float(found[0]):.2f}", svg)  # text stays as it is
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
