"""What lengths and the mean of clipped rows tell of clip bias, before any noise: the evidence behind `Run.skewed`.

    python benchmarks/lengths.py      # all cells of rows with up to 1024 columns and 100,000 rows

Real data that methods are not tuned on are left out.

Writes benchmarks/results/lengths.md. 'Spread' is how far the longest tenth of rows lie above the median, in
squared lengths and as Gaussian deviations of the logarithm; 'over Gaussian' is that over what Gaussian rows of the
same spectrum have. 'Lean' is the squared mean of rows that were clipped at the median length, over that length
squared and in units of 1/n, which is about what chance gives. Then zeta of plain PCA after clipping at five
quantiles, without noise: what clip and sample cost.
"""

from __future__ import annotations

import math
import pathlib

import numpy as np
from cells import FAMILIES, REPORTED, Drawn, FloatArray, available
from scipy import linalg, special

from eigenveil import metrics
from eigenveil.subspace.bounds import LONG, gaussian_spread
from eigenveil.subspace.tracked_run import WIDEST_MATRIX

CLIPS = (0.1, 0.5, 0.75, 0.9, 0.99)
MOST_ROWS = 100_000


def clipped(data: Drawn, quantile: float) -> FloatArray:
    """Sigma, clipped so that it leaves this share of rows whole."""
    radius = float(np.quantile(data.norms, quantile))
    return data.clipped_sum(np.minimum(1.0, radius / np.maximum(data.norms, 1e-300))) / len(data.norms)


def spreads(data: Drawn) -> tuple[float, float]:
    """The spread of squared lengths, and that over a Gaussian's."""
    median, long = np.quantile(data.norms, [0.5, LONG])
    spread = math.log(long / median) / float(special.ndtri(LONG))
    return spread, spread / gaussian_spread(linalg.eigvalsh(clipped(data, 0.99)))


def lean(data: Drawn) -> float:
    """How far the mean of clipped rows lies off 0, over what chance gives."""
    median = float(np.median(data.norms))
    shrink = np.minimum(1.0, np.sqrt(median / np.maximum(data.norms, 1e-300)))
    return float(np.sum((shrink @ data.arrays["X"]) ** 2)) / median / len(data.norms)


def main() -> None:
    """Measure, print and write."""
    lines = []
    for name, family in FAMILIES.items():
        for cell in family():
            if (name == "real" and cell.source in REPORTED) or not available(cell):
                continue
            data = cell.draw(1000)
            n, d = len(data.norms), len(data.covariance)
            if set(data.arrays) != {"X"} or d > WIDEST_MATRIX or n > MOST_ROWS:
                continue
            tops = [linalg.eigh(clipped(data, q), subset_by_index=[d - max(cell.ks), d - 1])[1] for q in CLIPS]
            told = [*(f"{x:.2f}" for x in spreads(data)), f"{lean(data):.1f}"]
            for k in cell.ks:
                zetas = [metrics.zeta(top[:, ::-1][:, :k].T, data.covariance) for top in tops]
                shown = " | ".join([*told, *(f"{zeta:.3g}" for zeta in zetas)])
                lines.append(f"| {name} | {cell.name} | {k} | {shown} |")
                print(lines[-1], flush=True)
    head = ["family", "cell", "k", "spread", "over Gaussian", "lean", *(f"clip {q:g}" for q in CLIPS)]
    text = [
        "# Lengths of rows, how they lean when clipped, and what clipping costs without noise",
        "",
        "One data set a cell. Made by `python benchmarks/lengths.py`, which says what the columns are.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *lines,
        "",
    ]
    (pathlib.Path(__file__).parent / "results" / "lengths.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
