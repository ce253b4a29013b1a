"""How long a private fit takes beside a plain one: ratios in one run, on all threads of this machine.

    python benchmarks/speed.py                 # writes benchmarks/results/speed.md
    python benchmarks/speed.py --only 20,000   # cells whose name contains this; prints only

`DPPCA.fit` with everything paid (count, mean, components, variances), epsilon = 1, beside scikit-learn's PCA with
`svd_solver="covariance_eigh"` and "randomized" on the same float64 rows. Every fit is timed several times, in
turn, and the shortest of each counts. The rows' eigenvalues are 10 * .7^j + .1. "Scaled" cells buy a mean and a
scale for every column as well (`scale="private"`), after which no direction of these rows stands out, and a fit
takes longer. The last line is a fit of a Parquet file over one of the same rows in memory.
"""

from __future__ import annotations

import pathlib
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import stamp
from harness import parser, say, seconds, table, write
from pyarrow import parquet
from sklearn.decomposition import PCA

from eigenveil import DPPCA

FloatArray = np.typing.NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """Rows and columns, components, people, and whether scales are bought."""

    n: int
    d: int
    k: int
    repeats: int = 3
    people: int | None = None
    scaled: bool = False

    @property
    def name(self) -> str:
        """As in the table."""
        of = "" if self.people is None else f", {self.people:,} people"
        return f"{self.n:,} x {self.d:,}, k = {self.k}{of}{', scaled' * self.scaled}"


CELLS = (
    Cell(2_000, 20, 2, repeats=9),
    Cell(20_000, 100, 5, repeats=9),
    Cell(200_000, 100, 5, repeats=5),
    Cell(1_000_000, 200, 5),
    Cell(200_000, 1_000, 10, repeats=2),
    Cell(50_000, 4_000, 10, repeats=2),
    Cell(500_000, 100, 5, people=5_000),
    Cell(50_000, 36, 5, repeats=5),
    Cell(50_000, 36, 5, repeats=5, scaled=True),
)


def measured(cell: Cell) -> dict[str, float]:
    """The shortest time of every method."""
    X = np.random.default_rng(0).standard_normal((cell.n, cell.d))
    X *= np.sqrt(10 * 0.7 ** np.arange(cell.d) + 0.1)
    X += 1.0
    ids = None if cell.people is None else np.repeat(np.arange(cell.people), cell.n // cell.people)
    private = DPPCA(n_components=cell.k, epsilon=1.0, delta=1e-6, scale="private" if cell.scaled else None)
    methods: dict[str, Callable[[], object]] = {
        "eigenveil": lambda: private.fit(X) if ids is None else private.fit(X, units=ids),
        "covariance_eigh": lambda: PCA(cell.k, svd_solver="covariance_eigh").fit(X),
        "randomized": lambda: PCA(cell.k, svd_solver="randomized", random_state=0).fit(X),
    }
    best = dict.fromkeys(methods, np.inf)
    for _ in range(cell.repeats):
        for name, fit in methods.items():
            best[name] = min(best[name], seconds(fit))
    return best


def from_parquet(n: int, d: int, k: int) -> float:
    """The time of a fit of a file over that of the same rows in memory."""
    X = np.random.default_rng(0).standard_normal((n, d)) * np.sqrt(10 * 0.7 ** np.arange(d) + 0.1) + 1.0
    pca = DPPCA(n_components=k, epsilon=1.0, delta=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.parquet"
        parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(d)}), file, row_group_size=100_000)
        times: dict[str, float] = {}
        for name, given in [("file", str(file)), ("rows", X)] * 2:
            times[name] = min(times.get(name, np.inf), seconds(lambda given=given: pca.fit(given)))
    return times["file"] / times["rows"]


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--only", default="", help="cells whose name contains this; nothing is written")
    only = options.parse_args().only
    stamped = stamp.line("estimators")
    warnings.simplefilter("ignore")
    rows = []
    for cell in CELLS:
        if only in cell.name:
            times = measured(cell)
            ratios = [times["eigenveil"] / times[name] for name in ("covariance_eigh", "randomized")]
            rows.append([cell.name, *(f"{ratio:.2g}" for ratio in ratios)])
            say(rows[-1])
    body = table(("rows", "over covariance_eigh", "over randomized"), rows)
    if only in "Parquet":
        ratio = from_parquet(1_000_000, 200, 5)
        body += f"\n\nParquet, 1,000,000 x 200, k = 5, over the same rows in memory: {ratio:.2g}."
    write(
        "speed",
        title="Speed: a private fit over a plain one",
        about="Time of `DPPCA.fit`, everything paid, over that of scikit-learn's PCA on the same rows.\n"
        "Data have seed 0; noise has none.",
        stamp=stamped,
        command="python benchmarks/speed.py",
        body=body,
        keep=not only,
    )


if __name__ == "__main__":
    main()
