"""How long a fit takes on a Dask cluster of this machine, over the same fit by threads.

    python benchmarks/cluster.py                 # writes benchmarks/results/cluster.md
    python benchmarks/cluster.py --rows 100000   # smaller; prints only

Rows are made by the workers and kept there, as on a real cluster; the local engine has the same rows in memory.
One worker with two threads shows what Dask adds; two workers with one thread each, over one such worker, show what
a second one brings. Every fit is timed three times in turn, and the shortest counts.
"""

from __future__ import annotations

import argparse
import pathlib
import time
import warnings
from collections.abc import Callable

import dask.array as da
import numpy as np
import stamp
from distributed import Client, LocalCluster

from eigenveil import DPPCA

COLUMNS, CHUNK = 200, 25_000


def rows(n: int) -> da.Array:
    """Rows with eigenvalues 10 * .7^j + .1 and mean 1, in chunks."""
    made = da.random.default_rng(0).standard_normal((n, COLUMNS), chunks=(CHUNK, COLUMNS))
    return made * np.sqrt(10 * 0.7 ** np.arange(COLUMNS) + 0.1) + 1.0


def shortest(fit: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of some times."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    return min(times)


def by_threads(n: int) -> float:
    """The time of a fit by the local engine."""
    X = rows(n).compute()
    return shortest(lambda: DPPCA(5).fit(X))


def on_cluster(n: int, workers: int, threads: int) -> float:
    """The time of a fit by so many workers."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X = client.persist(rows(n))
        client.gather(client.compute(X.sum()))
        return shortest(lambda: DPPCA(5, engine=client).fit(X))


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="nothing is written unless 1,000,000")
    n = parser.parse_args().rows
    warnings.simplefilter("ignore")
    local = by_threads(n)
    one_of_two, one, two = on_cluster(n, 1, 2), on_cluster(n, 1, 1), on_cluster(n, 2, 1)
    lines = [
        "# A Dask cluster on one machine",
        "",
        f"`DPPCA(5).fit` of {n:,} x {COLUMNS}, everything paid, in one run.",
        stamp.line(),
        "Made by `python benchmarks/cluster.py`, which says how.",
        "",
        "| | |",
        "|---|---|",
        f"| one worker of two threads over the local engine | {one_of_two / local:.2f} |",
        f"| one worker of one thread over two such workers | {one / two:.2f} |",
        "",
    ]
    print("\n".join(lines))
    if n == 1_000_000:
        (pathlib.Path(__file__).parent / "results" / "cluster.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
