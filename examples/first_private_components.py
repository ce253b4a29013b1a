"""From handwritten digits to private components: every number that leaves is paid for.

    make demo        # or: python examples/first_private_components.py

Prints the ledger and how much of the variance the private directions keep, and draws them beside the
ones that plain PCA finds.
"""

from __future__ import annotations

import pathlib

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

import eigenveil as ev

mpl.use("Agg")
import matplotlib.pyplot as plt

EPSILON, DELTA, K = 1.0, 1e-6, 2
OUT = pathlib.Path("demo-output")
FloatArray = np.typing.NDArray[np.float64]


def top(covariance: FloatArray) -> FloatArray:
    """The first K eigenvectors, as rows, each with its largest entry positive."""
    directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :K].T
    return directions * np.sign(directions[np.arange(K), np.abs(directions).argmax(axis=1)])[:, None]


def draw(plain: FloatArray, private: FloatArray, kept: float, path: pathlib.Path) -> None:
    """Both sets of directions as 8 x 8 images."""
    figure, axes = plt.subplots(2, K, figsize=(2.4 * K + 1.6, 5.4), layout="constrained")
    for row, (name, directions) in enumerate(
        [("plain PCA\n(not private)", plain), (f"private, ε = {EPSILON:g}\n(keeps {kept:.0%})", private)]
    ):
        for column, direction in enumerate(directions):
            axis = axes[row, column]
            reach = np.abs(direction).max()
            axis.imshow(direction.reshape(8, 8), cmap="PuOr", vmin=-reach, vmax=reach)
            axis.set_xticks([])
            axis.set_yticks([])
            if row == 0:
                axis.set_title(f"direction {column + 1}")
            if column == 0:
                axis.set_ylabel(name)
    figure.suptitle("Directions in which handwritten digits differ most\n(strong colour: pixels that matter)")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run the story from data to picture."""
    rows = load_digits().data
    release = ev.tracked_pca(rows, K, epsilon=EPSILON, delta=DELTA, center=True)
    ledger, private = release.ledger, release.components
    truth = np.cov(rows.T, bias=True)
    plain = top(truth)
    best = np.trace(plain @ truth @ plain.T)
    kept = ev.metrics.energy_ratio(private, truth)
    by_chance = K / rows.shape[1] * np.trace(truth) / best

    print(
        f"{len(rows)} handwritten digits of {rows.shape[1]} pixels; "
        f"({EPSILON:g}, {DELTA:g})-differential privacy for each.\n"
    )
    print(ledger)
    print(f"\nall together: epsilon = {ledger.epsilon(DELTA):.4f} at delta = {DELTA:g}, private: {ledger.private}")
    print(f"\nvariance that {K} private directions keep, of what plain PCA keeps: {kept:.1%}")
    print(f"({K} random directions would keep about {by_chance:.0%})")
    picture = OUT / "first_private_components.png"
    draw(plain, private, kept, picture)
    print("(these two comparisons look at the data itself; they are for you, not for publication)")
    print(f"\nThe picture: {picture}")


if __name__ == "__main__":
    main()
