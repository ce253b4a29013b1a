"""A picture of a raw table before and after a fit: its columns as they are, and in the scales that were bought.

python benchmarks/picture_of_a_table.py     # writes docs/pictures/raw-table.svg

The table is public. Noise comes from the operating system, so that every run draws another picture.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib
import warnings

import numpy as np
import real_data
from curves import PICTURES, picture
from harness import parser
from matplotlib.axes import Axes

from eigenveil import DPPCA
from eigenveil.engines import LocalEngine

FloatArray = np.typing.NDArray[np.float64]
TABLE = "Ecdat/Computers"
COLUMNS = ("price", "speed", "disk", "memory", "screen", "ads", "month")
ENDS, QUARTERS = (0.05, 0.95), (0.25, 0.75)
RAW, CORRELATIONS, PRIVATE = "PCA of the columns as they are", "PCA of correlations, not private", "eigenveil"
COLOURS = {RAW: "#bbbbbb", CORRELATIONS: "#333333", PRIVATE: "#0072B2"}


def fitted() -> tuple[FloatArray, DPPCA]:
    """The table, and a fit that knows nothing of it."""
    X = real_data.raw_tables()[TABLE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca = DPPCA(2, epsilon=1.0, delta=1e-6, scale="private", engine=LocalEngine(1)).fit(X)
    return X, pca


def leading(matrix: FloatArray) -> FloatArray:
    """The eigenvector with the largest eigenvalue."""
    out: FloatArray = np.linalg.eigh(matrix)[1][:, -1]
    return out


def draw_columns(axes: Axes, X: FloatArray, title: str) -> None:
    """The range of every column: a line between the 5 % and 95 % quantiles, a thick one between quarters."""
    rows = np.arange(X.shape[1])
    for ends, width in ((ENDS, 1.5), (QUARTERS, 5.0)):
        axes.hlines(rows, *np.quantile(X, ends, axis=0), colors=COLOURS[PRIVATE], linewidth=width)
    axes.plot(np.median(X, axis=0), rows, "o", color="white", markeredgecolor=COLOURS[PRIVATE], markersize=5)
    axes.set_title(title, fontsize=9.5)
    axes.set_yticks(rows, COLUMNS)


def make(folder: pathlib.Path) -> list[pathlib.Path]:
    """Fit, draw, and write the picture into a folder."""
    X, pca = fitted()
    sides = {
        RAW: leading(np.cov(X.T)),
        CORRELATIONS: leading(np.corrcoef(X.T)),
        PRIVATE: pca.components_[0],
    }
    note = f"{len(X):,} computers for sale; (ε, δ) = (1, 1e-6) pays for means, scales and components"
    with picture(folder / "raw-table.svg", rows=1, columns=3, size=(10.5, 3.4), note=note, share_y=True) as panels:
        before, after, loadings = panels[0]
        draw_columns(before, X, "before: columns in their own units")
        before.set_xscale("log")
        draw_columns(after, (X - pca.mean_) / pca.scale_, "after: (value - mean) / scale, both bought")
        after.invert_yaxis()  # which the panels share
        for place, (name, side) in enumerate(sides.items()):
            rows = np.arange(len(COLUMNS)) + (place - 1) * 0.27
            loadings.barh(rows, side * np.sign(side[0]), 0.25, color=COLOURS[name], label=name)
        loadings.set_title("loadings of the first component", fontsize=9.5)
        for axes in (after, loadings):
            axes.axvline(0, color="black", linewidth=0.6)
    return [folder / "raw-table.svg"]


if __name__ == "__main__":
    parser(__doc__).parse_args()
    make(PICTURES)
