"""One round (residual norms around a centre, counts on the grid, a clipped sum) against plain reads and products.

    python benchmarks/pass.py           # writes benchmarks/results/pass.md; about 10 GB of memory
    python benchmarks/pass.py --small   # a tenth of the rows

Ratios of times taken in turn in one run; the median of five.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from scipy import sparse

from eigenveil.engines import SampledPopulation
from eigenveil.kernels import Clip
from eigenveil.mechanisms.radius import EDGES
from eigenveil.operators import Matrices, Operator, Products, samples

ROUNDS = 5
DENSE = [(1_000_000, 200, 10), (200_000, 1000, 15), (50_000, 4000, 15)]


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def medians(*calls: Callable[[], object]) -> list[float]:
    """Median time of each call, all taken in turn."""
    for call in calls:
        call()
    rounds = [[seconds(call) for call in calls] for _ in range(ROUNDS)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def one_round(operator: Operator, m: int) -> Callable[[], object]:
    """A survey with a centre and one clip, as a round of the block iteration makes it."""
    rng = np.random.default_rng(1)
    W = np.linalg.qr(rng.normal(size=(operator.d, m)))[0]
    population = SampledPopulation(operator, Products(W))
    radius = float(np.sqrt(operator.d * m))
    return lambda: population.survey(W, EDGES, [Clip(radius, -16)])


def dense(n: int, d: int, m: int) -> list[str]:
    """float64 and float32 arrays against a read and against X^T X."""
    X = np.random.default_rng(0).standard_normal((n, d))
    single = X.astype(np.float32)
    ours, ours32, read, gram = medians(
        one_round(samples.rows(X), m), one_round(samples.rows(single), m), X.sum, lambda: X.T @ X
    )
    return [f"| n={n:,} d={d} m={m} | {ours / read:.2f} | {ours / gram:.3f} | {ours32 / ours:.2f} |"]


def sigma(n: int, d: int) -> str:
    """A release of Sigma itself (norms, counts, one clipped sum of x x^T) against X^T X."""
    X = np.random.default_rng(0).standard_normal((n, d))
    population, zero = SampledPopulation(samples.rows(X), Matrices()), np.zeros((d, d))
    ours, plain = medians(lambda: population.survey(zero, EDGES, [Clip(float(d), -16)]), lambda: X.T @ X)
    return f"| Sigma of n={n:,} d={d}, against `X.T @ X` | {ours / plain:.2f} | |"


def parquet(n: int, d: int, m: int) -> str:
    """A Parquet file, as pyarrow writes it by default, against a plain scan of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.parquet"
        rng = np.random.default_rng(0)
        names = [f"x{i}" for i in range(d)]
        schema = pa.schema([(name, pa.float64()) for name in names])
        with pq.ParquetWriter(path, schema) as writer:
            for start in range(0, n, 50_000):
                block = rng.standard_normal((min(50_000, n - start), d))
                writer.write_table(pa.table(list(block.T), names=names))

        def scan() -> None:
            for _ in ds.dataset(path).to_batches():
                pass

        ours, plain = medians(one_round(samples.rows(path), m), scan)
    return f"| Parquet n={n:,} d={d} m={m}, against a pyarrow scan | {ours / plain:.2f} | 1.5 |"


def csr(n: int, d: int, m: int) -> str:
    """A CSR array with 100 entries a row against scipy's products."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, size=(n, 100), dtype=np.int32).ravel()
    X = sparse.csr_array((rng.standard_normal(n * 100), indices, np.arange(0, n * 100 + 1, 100)), shape=(n, d))
    X.sum_duplicates()
    W, Y = rng.normal(size=(d, m)), rng.normal(size=(n, m))
    ours, plain = medians(one_round(samples.rows(X), m), lambda: (X @ W, X.T @ Y))
    return f"| CSR n={n:,} d={d:,} m={m}, 100 a row, against `X @ W` and `X.T @ Y` | {ours / plain:.2f} | 2 |"


MEMORY = """
import sys, numpy as np
from eigenveil.engines import SampledPopulation
from eigenveil.kernels import Clip
from eigenveil.mechanisms.radius import EDGES
from eigenveil.operators import Products, samples
path = sys.argv[1]
def peak():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
before = peak()
source = samples.rows(path)
W = np.linalg.qr(np.random.default_rng(0).normal(size=(source.d, 10)))[0]
SampledPopulation(source, Products(W)).survey(W, EDGES, [Clip(40.0, -16)])
print(f"{peak():.0f} {peak() - before:.0f}")
"""


def memory(n: int, d: int) -> str:
    """Peak memory of a process that surveys a Parquet file of n rows, and of one with 10 n rows."""
    told = []
    for rows in (n, 10 * n):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/data.parquet"
            names = [f"x{i}" for i in range(d)]
            with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
                for start in range(0, rows, 50_000):
                    block = np.random.default_rng(start).standard_normal((min(50_000, rows - start), d))
                    writer.write_table(pa.table(list(block.T), names=names))
            out = subprocess.run([sys.executable, "-c", MEMORY, path], check=True, capture_output=True, text=True)  # noqa: S603
            told.append(out.stdout.split())
    (whole, beyond), (whole_10, beyond_10) = told
    return f"| Parquet d={d}, n={n:,} and {10 * n:,} | {whole} and {whole_10} | {beyond} and {beyond_10} |"


def main() -> None:
    """Measure, print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the rows")
    small = parser.parse_args().small
    scale = 10 if small else 1
    # files first: after large arrays have come and gone a scan is slower, which would flatter us
    others = [parquet(500_000 // scale, 200, 10), csr(200_000 // scale, 100_000, 15)]
    lines = [
        "# One round over the data",
        "",
        f"Residual norms around a centre, counts at {EDGES.size} edges and one clipped sum, in one pass.",
        f"Medians of {ROUNDS} rounds taken in turn.",
        f"Made by `python benchmarks/pass.py{' --small' if small else ''}`.",
        "",
        "| dense rows in memory | over `X.sum()` (goal 4) | over `X.T @ X` | float32 over float64 (goal .7) |",
        "|---|---|---|---|",
        *(line for n, d, m in DENSE for line in dense(n // scale, d, m)),
        "",
        "| other data | ratio | goal |",
        "|---|---|---|",
        *others,
        *(sigma(n // scale, d) for n, d in ((500_000, 100), (50_000, 1000))),
        "",
        "| peak memory, MB | whole process | beyond imports (goal < 300, and the same for both) |",
        "|---|---|---|",
        memory(100_000 // scale, 200),
        "",
    ]
    text = "\n".join(lines)
    print(text)
    (pathlib.Path(__file__).parent / "results" / "pass.md").write_text(text)


if __name__ == "__main__":
    main()
