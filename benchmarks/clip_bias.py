"""How much of what is clipped turns directions: phi, measured without noise on data that may be tuned on.

    python benchmarks/clip_bias.py                  # writes benchmarks/results/clip-bias.md
    python benchmarks/clip_bias.py --only digits    # data whose name contains this; prints only

The last question of tracked PCA, M Sigma W D with W the first k true directions, is asked without noise and
clipped at a quantile of the units' norms. What clipping removes from the entries between wanted and other
directions costs energy. phi is the root of that loss over the loss if all of the excess turned directions
(`cost_of_excess`), with the excess at the clip times the excess at the median, as in `clip_of_block`. If phi is
about the same everywhere, one constant prices clipping: `Tuning.turning`. The last two lines are of an excess that
is spread evenly over all entries, for comparison. Data that cannot be had are left out.
"""

from __future__ import annotations

import functools
import math
import statistics

import numpy as np
import real_data
import stamp
from cells import FAMILIES, REPORTED, FloatArray
from harness import parser, table, write

from eigenveil.algorithms.tracked import Tuning
from eigenveil.algorithms.tracked.loss import cost_of_errors, cost_of_excess
from eigenveil.algorithms.tracked.state import State

QUANTILES = (0.3, 0.5, 0.75, 0.9, 0.97)
ROWS = 20_000
MADE = (
    "decay d=100 n=20,000",
    "skewed decay d=30 n=20,000",
    "skewed root d=100 n=20,000",
    "pareto 4.5 d=50 n=10,000",
)
TUNING = Tuning()


def real_rows(name: str) -> FloatArray:
    """At most 20,000 rows of a real data set."""
    X = real_data.load(name)
    if len(X) > ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), ROWS, replace=False))]
    return np.array(X, dtype=float)


def made_rows(name: str) -> FloatArray:
    """Rows of a cell of the arena."""
    cell = next(cell for family in FAMILIES.values() for cell in family() if cell.name == name)
    return cell.draw(1000).arrays["X"]


def turned(X: FloatArray, k: int) -> tuple[list[float], list[float]]:
    """Phi at each quantile: as the price has it, and with an even spread."""
    X = X - X.mean(axis=0)
    n, d = X.shape
    values, V = np.linalg.eigh(X.T @ X / n)
    values, Y = np.maximum(values[::-1], 1e-12 * values[-1]), X @ V[:, ::-1]
    M = min(k + min(10, 2 * k), max(k + 1, d // 2))
    state = State(np.eye(d, M), values[:M], float(values[M:].mean()), np.zeros(M), np.zeros(M))
    g = TUNING.inside
    a = cost_of_errors(state, k, k, TUNING)
    columns = (a / values[:k]) ** 0.25
    columns /= columns.max()
    left, right, centre = Y.copy(), Y[:, :k] * columns, values[:k] * columns * g
    left[:, :k] *= g
    squares = np.sum(left**2, axis=1) * np.sum(right**2, axis=1)
    squares += np.sum(centre**2) - 2 * np.sum(left[:, :k] * right * centre, axis=1)
    norms = np.sqrt(np.maximum(squares, 0.0))
    gaps = np.maximum(values[:k, None] - values[None, k:], TUNING.least_gap * values[0])
    at_median = np.maximum(norms - np.median(norms), 0).mean()
    price, even = cost_of_excess(state, k, columns, g, TUNING), float(np.sum(a / columns**2)) / (k * (d - k))
    losses = []
    for quantile in QUANTILES:
        radius = float(np.quantile(norms, quantile))
        removed = 1 - np.minimum(1.0, radius / np.maximum(norms, 1e-300))
        entries = (Y[:, :k] * removed[:, None]).T @ Y[:, k:] / n
        excess = np.maximum(norms - radius, 0).mean()
        losses.append(float(np.sum(entries**2 / gaps)) / (excess * at_median))
    return [math.sqrt(loss / price) for loss in losses], [math.sqrt(loss / even) for loss in losses]


def main() -> None:
    """Measure, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--only", default="", help="data whose name contains this; nothing is written")
    only = options.parse_args().only
    stamped = stamp.line()
    lines: list[list[str]] = []
    real: tuple[list[list[float]], list[list[float]]] = ([], [])
    data = [(name, real_rows) for name in real_data.SOURCES if name not in REPORTED]
    for name, rows in [*data, *((name, made_rows) for name in MADE)]:
        if only not in name:
            continue
        if not real_data.here(name, functools.partial(rows, name)):
            continue
        X = rows(name)
        for k in (2, 5, 10):
            if 2 * k > X.shape[1]:
                continue
            found = turned(X, k)
            lines.append([name, f"{k}", *(f"{phi:.3f}" for phi in found[0])])
            if rows is real_rows:
                for kept, phis in zip(real, found, strict=True):
                    kept.append([math.log(phi) for phi in phis])
    for label, logs in zip(("real", "real, even spread"), real, strict=True):
        if len(logs) < 2:
            continue
        columns = list(zip(*logs, strict=True))
        medians = [f"{math.exp(statistics.median(column)):.3f}" for column in columns]
        spreads = [f"{statistics.stdev(column):.2f}" for column in columns]
        lines.append([f"{label}: median", "", *medians])
        lines.append([f"{label}: deviation of the logarithm", "", *spreads])
    write(
        "clip-bias",
        title="Clip bias: the share of the clipped excess that turns directions",
        about="phi of the last question at five clips (quantiles of the units' norms), without noise.\n"
        f"Of more than {ROWS:,} rows so many are chosen, with seed 0; synthetic rows have seed 1000.\n"
        "`benchmarks/clip_bias.py` says what phi is.",
        stamp=stamped,
        command="python benchmarks/clip_bias.py",
        body=table(["data", "k", *map(str, QUANTILES)], lines),
        keep=not only,
    )


if __name__ == "__main__":
    main()
