"""From handwritten digits to a private covariance: every number that leaves is paid for.

    make demo        # or: python examples/first_private_covariance.py

Prints the ledger and how much of the variance the private directions keep, and draws them beside the
ones that plain PCA finds.
"""

from __future__ import annotations

import pathlib

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits

from eigenveil.engines import TensorPopulation
from eigenveil.mechanisms import Veil, noisy_count, private_mean, tracked_mean
from eigenveil.privacy import Budget, Ledger

mpl.use("Agg")
import matplotlib.pyplot as plt

EPSILON, DELTA, K = 1.0, 1e-6, 2
OUT = pathlib.Path("demo-output")
FloatArray = np.typing.NDArray[np.float64]


def private_covariance(rows: FloatArray) -> tuple[FloatArray, Ledger]:
    """Count, mean and covariance of the rows, (EPSILON, DELTA)-DP together."""
    budget = Budget.from_epsilon_delta(EPSILON, DELTA)
    veil = Veil(Ledger(budget, relation="add-remove"))
    mu_count, mu_mean, mu_radius, mu_sum = budget.split(1, 15, 8, 76)

    population = TensorPopulation(rows)
    n_hat = noisy_count(population, mu=mu_count, veil=veil)
    mean = private_mean(population, n_hat=n_hat, mu=mu_mean, veil=veil).mean

    centred = rows - mean
    matrices = TensorPopulation(centred[:, :, None] * centred[:, None, :], symmetric=True)
    release = tracked_mean(
        matrices,
        centre=np.zeros(matrices.shape),
        n_hat=n_hat,
        mu_radius=mu_radius,
        mu_sum=mu_sum,
        veil=veil,
        what="covariance",
    )
    return release.mean, veil.ledger


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
    covariance, ledger = private_covariance(rows)
    truth = np.cov(rows.T, bias=True)
    plain, private = top(truth), top(covariance)
    best = np.trace(plain @ truth @ plain.T)
    kept = float(np.trace(private @ truth @ private.T) / best)
    by_chance = K / rows.shape[1] * np.trace(truth) / best

    print(
        f"{len(rows)} handwritten digits of {rows.shape[1]} pixels; "
        f"({EPSILON:g}, {DELTA:g})-differential privacy for each.\n"
    )
    print(ledger)
    print(f"\nall together: epsilon = {ledger.epsilon(DELTA):.4f} at delta = {DELTA:g}, private: {ledger.private}")
    print(f"\nvariance that {K} private directions keep, of what plain PCA keeps: {kept:.1%}")
    print(f"({K} random directions would keep about {by_chance:.0%})")
    picture = OUT / "first_private_covariance.png"
    draw(plain, private, kept, picture)
    print("(these two comparisons look at the data itself; they are for you, not for publication)")
    print(f"\nThe picture: {picture}")


if __name__ == "__main__":
    main()
