"""How long a fit takes on a Dask cluster of this machine, over the same fit by threads.

    python benchmarks/cluster.py                 # writes benchmarks/results/cluster.md
    python benchmarks/cluster.py --rows 100000   # smaller; prints only

Rows are made by the workers and kept there, as on a real cluster; the local engine has the same rows in memory.
One worker with two threads shows what Dask adds; two workers with one thread each, over one such worker, show what
a second one brings. Two bare processes, each with half of the rows and one thread, over one process with all of
them, show what this machine can bring at most. Every fit is timed some times in turn, and the shortest counts. The
second table holds the passes of one fit: what is computed of a number of the data on paper (a multiplication with
an addition counts as one), how long the pass takes over a plain sum of all numbers by the same workers, and what
is sent, pickled.
"""

from __future__ import annotations

import multiprocessing
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
import stamp
from distributed import Client, LocalCluster
from harness import parser, seconds, table, write

from eigenveil import DPPCA
from eigenveil.engines import DaskEngine, LocalEngine

COLUMNS, CHUNK, REPEATS = 200, 25_000, 5


def rows(n: int) -> da.Array:
    """Rows with eigenvalues 10 * .7^j + .1 and mean 1, in chunks."""
    made = da.random.default_rng(0).standard_normal((n, COLUMNS), chunks=(CHUNK, COLUMNS))
    return made * np.sqrt(10 * 0.7 ** np.arange(COLUMNS) + 0.1) + 1.0


def shortest(fit: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of some times."""
    return min(seconds(fit) for _ in range(repeats))


def by_threads(n: int) -> float:
    """The time of a fit by the local engine."""
    X = rows(n).compute()
    return shortest(lambda: DPPCA(5, random_state=0).fit(X))


def _bare(n: int, together: Any, times: Any) -> None:
    """Fit some rows with one thread, at the same time as the other processes; send when it began and ended."""
    warnings.simplefilter("ignore")
    X = rows(n).compute(scheduler="single-threaded")
    for _ in range(REPEATS):
        together.wait()
        start = time.perf_counter()
        DPPCA(5, random_state=0, engine=LocalEngine(threads=1)).fit(X)
        times.put((start, time.perf_counter()))
        together.wait()


def by_processes(n: int, count: int) -> float:
    """The time in which so many bare processes fit their parts of the rows, from first start to last end."""
    context = multiprocessing.get_context("spawn")
    together, times = context.Barrier(count + 1), context.Queue()
    processes = [context.Process(target=_bare, args=(n // count, together, times)) for _ in range(count)]
    for process in processes:
        process.start()
    taken = []
    for _ in range(REPEATS):
        together.wait()
        starts, ends = zip(*(times.get() for _ in processes), strict=True)
        taken.append(max(ends) - min(starts))
        together.wait()
    for process in processes:
        process.join()
    return min(taken)


@dataclass(frozen=True)
class Timed(DaskEngine):
    """Keeps, of every pass: its name, its time, and the bytes of its query and of a state."""

    seen: list[tuple[str, float, int, int]] = field(default_factory=list)

    def reduce(self, partitions: Any, plan: Any, query: Any) -> Any:
        """As the engine does."""
        start = time.perf_counter()
        answer = super().reduce(partitions, plan, query)
        taken = time.perf_counter() - start
        sent, back = len(pickle.dumps((query, plan))), len(pickle.dumps(query.zero()))
        self.seen.append((named(query), taken, sent, back))
        return answer


def named(query: Any) -> str:
    """What a query asks for."""
    queries = getattr(query, "queries", (query,))
    first = next(one for one in queries if hasattr(one, "tensor"))
    shape = " x ".join(map(str, first.tensor.shape(COLUMNS)))
    return f"{type(first.tensor).__name__} ({shape}), {'sums' if first.clips else 'norms only'}"


def on_paper(name: str) -> str:
    """Multiplications per number of the data, from what is asked."""
    if name.startswith("Matrices"):
        return "1" if "norms" in name else f"{(COLUMNS + 1) // 2}"
    if name.startswith("Products"):
        m = int(name.split(" x ")[1].split(")", maxsplit=1)[0])
        return f"{m + 1}" if "norms" in name else f"{4 * m + 1}"
    return "1" if name.startswith("MeanRows") else "6"


def on_cluster(
    n: int, workers: int, threads: int, repeats: int = REPEATS
) -> tuple[float, list[tuple[str, float, int, int]]]:
    """The time of a fit by so many workers; and its passes, over a plain sum."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X = client.persist(rows(n))
        plain = shortest(lambda: client.gather(client.compute(X.sum())), 5)
        best, passes = float("inf"), []
        for _ in range(repeats):
            pca = DPPCA(5, engine=(engine := Timed(client)), random_state=0)
            taken = seconds(lambda pca=pca: pca.fit(X))
            if taken < best:
                best, passes = taken, [(name, spent / plain, *sizes) for name, spent, *sizes in engine.seen]
        return best, passes


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=1_000_000, help="nothing is written unless 1,000,000")
    n = options.parse_args().rows
    stamped = stamp.line("estimators")
    warnings.simplefilter("ignore")
    local = by_threads(n)
    (one_of_two, _), (one, alone), (two, both) = on_cluster(n, 1, 2), on_cluster(n, 1, 1), on_cluster(n, 2, 1)
    fits = [
        ("one worker of two threads over the local engine", f"{one_of_two / local:.2f}"),
        ("one worker of one thread over two such workers", f"{one / two:.2f}"),
        ("one bare process over two with half of the rows each", f"{by_processes(n, 1) / by_processes(n, 2):.2f}"),
    ]
    passes = [
        (name, on_paper(name), f"{first:.1f}", f"{second:.1f}", f"{sent / 1000:.0f}", f"{back / 1000:.0f}")
        for (name, first, sent, back), (_, second, *_) in zip(alone, both, strict=True)
    ]
    per_number, over = "multiplications per number", "over a plain sum, one worker"
    write(
        "cluster",
        title="A Dask cluster on one machine",
        about=f"`DPPCA(5).fit` of {n:,} x {COLUMNS}, everything paid, in one run; seed 0 for data and noise.",
        stamp=stamped,
        command="python benchmarks/cluster.py",
        body=f"{table(('', ''), fits)}\n\n"
        + table(("pass", per_number, over, "two workers", "kB out", "kB back"), passes),
        keep=n == 1_000_000,
    )


if __name__ == "__main__":
    main()
