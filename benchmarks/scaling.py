"""How time and memory of a private fit grow with rows, columns, components, and rows per person.

    python benchmarks/scaling.py                # writes benchmarks/results/scaling.md; needs an idle machine
    python benchmarks/scaling.py --only rows    # series whose name contains this; prints only
    python benchmarks/scaling.py --small        # a hundredth of the rows; prints only

`DPPCA.fit` with everything paid, epsilon = 1, on all threads, each size in a process of its own. Time is the
shortest of three fits, over that of the smallest size of its series. A fit whose directions converge later makes
more passes, so the exponent is fitted to time per pass, by least squares on logarithms. Memory is the largest
resident size of the process during fits, less what it had before them, with the data in it. The rows'
eigenvalues are 10 * .7^j + .1. `docs/cost.md` says what to expect.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import stamp
from harness import MB, alone, answered, parser, peak, resident, say, seconds, table, write

from eigenveil import DPPCA


@dataclass(frozen=True)
class Size:
    """Rows, columns, components, and rows per person."""

    n: int
    d: int
    k: int
    m: int = 1


SERIES: dict[str, tuple[str, list[Size]]] = {
    "rows": ("n", [Size(n, 100, 5) for n in (50_000, 100_000, 200_000, 400_000, 800_000)]),
    "columns": ("d", [Size(40_000, d, 5) for d in (50, 100, 200, 400, 800)]),
    "many columns": ("d", [Size(10_000, d, 5) for d in (1_500, 3_000, 6_000)]),
    "components": ("k", [Size(100_000, 200, k) for k in (2, 4, 8, 16)]),
    "rows per person": ("m", [Size(400_000, 50, 5, m) for m in (1, 2, 8, 32)]),
    "the goal's memory": ("n", [Size(1_000_000, 200, 5)]),
}


def data(size: Size) -> np.typing.NDArray[np.float64]:
    """Rows, made in place and some at a time, so that nothing but them is ever in memory."""
    X, rng = np.empty((size.n, size.d)), np.random.default_rng(0)
    for start in range(0, size.n, 10_000):
        part = X[start : start + 10_000]
        rng.standard_normal(out=part)
        part *= np.sqrt(10 * 0.7 ** np.arange(size.d) + 0.1)
        part += 1.0
    return X


def measured(case: dict[str, Any]) -> dict[str, float]:
    """The shortest time of a fit, its passes, and the most memory beyond the data."""
    size = Size(**case)
    warnings.simplefilter("ignore")
    pca = DPPCA(n_components=size.k, epsilon=1.0, delta=1e-6)
    X, ids = data(size), None if size.m == 1 else np.arange(size.n) // size.m
    pca.fit(X[:1000])  # what is loaded at the first fit is none of its cost
    before = resident()
    shortest = min(seconds(lambda: pca.fit(X, units=ids)) for _ in range(3))
    passes = pca.release_.diagnostics["passes"]
    return {"time": shortest, "passes": passes, "memory": max(peak() - before, 0.0), "data": X.nbytes / MB}


def series(name: str, grows: str, sizes: list[Size]) -> list[list[str]]:
    """The rows of one series, each size in a process of its own; the last one has the exponent."""
    found = []
    for size in sizes:
        found.append(alone(__file__, asdict(size)))
        say(f"{name}: {size}")
    rows = [
        [
            name,
            f"{size.n:,} x {size.d:,}, k = {size.k}" + (f", {size.m} rows each" if size.m > 1 else ""),
            f"{one['time'] / found[0]['time']:.2g}",
            f"{one['passes']:.0f}",
            f"{one['memory']:.0f}",
            f"{one['data']:.0f}",
        ]
        for size, one in zip(sizes, found, strict=True)
    ]
    if len(sizes) > 1:
        sides = [getattr(size, grows) for size in sizes]
        exponent = np.polyfit(np.log(sides), np.log([one["time"] / one["passes"] for one in found]), 1)[0]
        rows.append([name, f"time per pass grows as {grows}^{exponent:.2f}", *[""] * 4])
    return rows


def main() -> None:
    """Run, print and write the table."""
    if answered(measured):
        return
    options = parser(__doc__)
    options.add_argument("--only", default="", help="series whose name contains this; nothing is written")
    options.add_argument("--small", action="store_true", help="a hundredth of the rows; nothing is written")
    given = options.parse_args()
    stamped = stamp.line("estimators")
    rows = []
    for name, (grows, sizes) in SERIES.items():
        if given.only in name:
            chosen = [replace(size, n=size.n // 100) for size in sizes] if given.small else sizes
            rows += series(name, grows, chosen)
    write(
        "scaling",
        title="Scaling: what a private fit costs as data grow",
        about="Time over that of the first line of its series; memory in megabytes beyond the data.\n"
        "Data have seed 0; noise has none.",
        stamp=stamped,
        command="python benchmarks/scaling.py",
        body=table(("series", "rows", "time", "passes", "memory", "data"), rows),
        keep=not given.only and not given.small,
    )


if __name__ == "__main__":
    main()
