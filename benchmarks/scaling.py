"""How time and memory of a private fit grow with rows, columns, components, and rows per person.

    python benchmarks/scaling.py                # writes benchmarks/results/scaling.md; needs an idle machine
    python benchmarks/scaling.py --only rows    # series whose name contains this; prints only

`DPPCA.fit` with everything paid, epsilon = 1, on all threads, each size in a process of its own. Time is the
shortest of three fits, over that of the smallest size of its series. A fit whose directions converge later makes
more passes, so the exponent is fitted to time per pass, by least squares on logarithms. Memory is the largest
resident size of the process during fits, less what it had before them, with the data in it. The rows'
eigenvalues are 10 * .7^j + .1. `docs/cost.md` says what to expect.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass

import numpy as np
import stamp

from eigenveil import DPPCA

MB = 2**20


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


def resident() -> float:
    """Megabytes that this process has in memory now."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MB


def measured(size: Size) -> dict[str, float]:
    """The shortest time of a fit, its passes, and the most memory beyond the data."""
    warnings.simplefilter("ignore")
    pca = DPPCA(n_components=size.k, epsilon=1.0, delta=1e-6)
    X, ids = data(size), None if size.m == 1 else np.arange(size.n) // size.m
    pca.fit(X[:1000])  # what is loaded at the first fit is none of its cost
    before, times = resident(), []
    for _ in range(3):
        start = time.perf_counter()
        pca.fit(X, units=ids)
        times.append(time.perf_counter() - start)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    passes = pca.release_.diagnostics["passes"]
    return {"time": min(times), "passes": passes, "memory": max(most - before, 0.0), "data": X.nbytes / MB}


def in_a_process(size: Size) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(asdict(size))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="series whose name contains this; nothing is written")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(Size(**json.loads(options.one)))))
        return
    lines = []
    for name, (grows, sizes) in SERIES.items():
        if options.only not in name:
            continue
        found = [in_a_process(size) for size in sizes]
        first = found[0]
        for size, one in zip(sizes, found, strict=True):
            cells = [
                name,
                f"{size.n:,} x {size.d:,}, k = {size.k}" + (f", {size.m} rows each" if size.m > 1 else ""),
                f"{one['time'] / first['time']:.2g}",
                f"{one['passes']:.0f}",
                f"{one['memory']:.0f}",
                f"{one['data']:.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
        if len(sizes) > 1:
            sides = [getattr(size, grows) for size in sizes]
            exponent = np.polyfit(np.log(sides), np.log([one["time"] / one["passes"] for one in found]), 1)[0]
            lines.append(f"| {name} | time per pass grows as {grows}^{exponent:.2f} | | | | |")
            print(lines[-1], flush=True)
    text = [
        "# Scaling: what a private fit costs as data grow",
        "",
        "Time over that of the first line of its series; memory in megabytes beyond the data.",
        stamp.line(),
        "Made by `python benchmarks/scaling.py`, which says how.",
        "",
        "| series | rows | time | passes | memory | data |",
        "|---|---|---|---|---|---|",
        *lines,
        "",
    ]
    if not options.only:
        (pathlib.Path(__file__).parent / "results" / "scaling.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
