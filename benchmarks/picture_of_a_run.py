"""A picture of three runs of tracked PCA: zeta after every question, against the share of the budget spent.

python benchmarks/picture_of_a_run.py     # writes docs/pictures/tracked-run.svg
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pathlib
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from cells import arena, real_rows
from harness import parser

from eigenveil import metrics
from eigenveil.algorithms import tracked_pca
from eigenveil.algorithms.tracked import algorithm
from eigenveil.algorithms.tracked.state import State
from eigenveil.engines import LocalEngine

PICTURES = pathlib.Path(__file__).parent.parent / "docs" / "pictures"
RUNS = (("spiked sigma=.001 n=2,000", 2), ("decay d=100 n=20,000", 5), ("real digits n=1,797", 5))
COLOURS = {"Sigma": "#777777", "wide": "#56B4E9", "narrow": "#0072B2", "last": "#D55E00"}


@dataclass
class Watched(algorithm.TrackedRun):
    """A run that keeps the state after every question."""

    states: list[tuple[str, float, State]] = field(default_factory=list)

    def buy_refined(self, state: State) -> State:
        """The same, with the state after Sigma kept."""
        self.states.append(("Sigma", 1 - self.asking.purse.left, state))
        return super().buy_refined(state)

    def buy_round(self, *question: Any) -> State:
        """The same, with the state kept."""
        state = super().buy_round(*question)
        self.states.append((self.rounds[-1].kind, 1 - self.asking.purse.left, state))
        return state


def make(folder: pathlib.Path) -> list[pathlib.Path]:
    """Run, draw, and write the picture into a folder."""
    cells = {cell.name: cell for cell in [*arena(), *real_rows()]}
    figure, axes = plt.subplots(1, len(RUNS), figsize=(11, 3.4))
    for axis, (name, k) in zip(axes, RUNS, strict=True):
        data = cells[name].draw(1001)
        searches: list[Watched] = []

        def watched(*given: Any, kept: list[Watched] = searches) -> Watched:
            kept.append(Watched(*given))
            return kept[-1]

        search, algorithm.TrackedRun = algorithm.TrackedRun, watched  # type: ignore[misc,assignment]
        try:
            tracked_pca(data.units, k, epsilon=1.0, delta=cells[name].delta, random_state=1, engine=LocalEngine(1))
        finally:
            algorithm.TrackedRun = search  # type: ignore[misc]
        points = [
            (kind, spent, metrics.zeta(state.V[:, :k].T, data.covariance))
            for kind, spent, state in searches[0].states
        ]
        axis.plot([spent for _, spent, _ in points], [zeta for *_, zeta in points], color="#bbbbbb", zorder=1)
        for kind, colour in COLOURS.items():
            some = [(spent, zeta) for what, spent, zeta in points if what == kind]
            axis.scatter(*np.array(some).reshape(-1, 2).T, color=colour, label=kind, zorder=2)
        axis.axhline(
            searches[0].expected_zeta, color=COLOURS["last"], linestyle=":", label="expected by its price"
        )
        axis.set(yscale="log", xlim=(0, 1.03), xlabel="share of the budget spent", title=f"{name}, k = {k}")
    axes[0].set_ylabel("zeta after the question (seed 1)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper center", ncols=5, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    mpl.rcParams["svg.hashsalt"] = "eigenveil"
    figure.savefig(folder / "tracked-run.svg", metadata={"Date": None})
    return [folder / "tracked-run.svg"]


if __name__ == "__main__":
    parser(__doc__).parse_args()
    make(PICTURES)
