"""The picture in the README: plain and private PCA of scikit-learn's handwritten digits.

Run it as ``python docs/pictures/digits.py``; it writes digits.svg beside itself. Noise comes from the operating
system, so every run draws another one, and all of them are private.
"""  # noqa: INP001  # a script

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from eigenveil import DPPCA, Budget, Ledger
from eigenveil.plots import ScoreMapDisplay, ScreeDisplay

K, EPSILON, MAP_EPSILON, DELTA = 3, 1.0, 1.0, 1e-6


def fitted() -> tuple[Any, DPPCA, Any]:
    """Plain PCA, private PCA, and a map of scores that was bought on top."""
    rows = load_digits().data
    ledger = Ledger(Budget.from_mu(math.hypot(*(_mu(one) for one in (EPSILON, MAP_EPSILON)))))
    private = DPPCA(K, epsilon=EPSILON, delta=DELTA, ledger=ledger).fit(rows)
    scores = private.private_scores(rows, epsilon=MAP_EPSILON, delta=DELTA, bins=14, ledger=ledger)
    return PCA(K).fit(rows), private, scores


def draw(plain: Any, private: DPPCA, scores: Any) -> Figure:
    """Components as images, their variances, and where digits lie."""
    figure = Figure(figsize=(10.5, 3.2), layout="constrained")
    images, variances, place = figure.subfigures(1, 3, width_ratios=[1.2, 1.0, 1.1])
    images.suptitle(f"Components of {len(private.components_[0])} pixels, as images", fontsize="medium")
    _images(images.subplots(2, K), plain.components_, private.components_)
    ax = variances.subplots()
    ScreeDisplay.from_estimator(private).plot(ax)
    ax.plot(
        np.arange(1, K + 1), plain.explained_variance_, "D", color="black", markeredgecolor="white", label="plain"
    )
    ax.legend(frameon=False, handlelength=1)
    ScoreMapDisplay.from_histogram(scores, guarantee=f"bought on top, ε = {MAP_EPSILON:g}").plot(place.subplots())
    return figure


def write(figure: Figure, path: Path) -> None:
    """Write the picture with nothing in it that tells of the day or the machine."""
    with mpl.rc_context({"svg.hashsalt": "eigenveil", "svg.fonttype": "none"}):
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text.getvalue(), flags=re.DOTALL)
    path.write_text("\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n", encoding="utf-8")


def _images(axes: Any, plain: Any, private: Any) -> None:
    """Components as 8 x 8 pixels; private ones turned to point the same way as plain ones."""
    for j in range(K):
        sign = np.sign(plain[j] @ private[j])
        for ax, row in ((axes[0, j], plain[j]), (axes[1, j], sign * private[j])):
            _image(ax, row)
        axes[1, j].set_xlabel(f"{j + 1}")
    axes[0, 0].set_ylabel("plain PCA")
    axes[1, 0].set_ylabel(f"eigenveil,\nε = {EPSILON:g}")


def _image(ax: Axes, row: Any) -> None:
    reach = float(np.abs(row).max())
    ax.imshow(row.reshape(8, 8), cmap="PuOr", vmin=-reach, vmax=reach)
    ax.set(xticks=[], yticks=[])


def _mu(epsilon: float) -> float:
    return Budget.from_epsilon_delta(epsilon, DELTA).mu


def make(folder: Path) -> list[Path]:
    """Make the picture in a folder."""
    write(draw(*fitted()), folder / "digits.svg")
    return [folder / "digits.svg"]


if __name__ == "__main__":
    make(Path(__file__).parent)
