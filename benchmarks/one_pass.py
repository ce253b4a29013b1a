"""One round (residual norms around a centre, counts on the grid, a clipped sum) against plain reads and products.

    python benchmarks/one_pass.py           # writes benchmarks/results/one-pass.md; about 10 GB of memory
    python benchmarks/one_pass.py --small   # a hundredth of the rows; prints only

Ratios of times taken in turn in one run; the median of five.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import stamp
from harness import alone, answered, parser, peak, seconds, table, write
from scipy import sparse

from eigenveil.engines import SampledPopulation
from eigenveil.kernels import Clip
from eigenveil.mechanisms.radius import EDGES
from eigenveil.operators import Matrices, Operator, Products, samples

ROUNDS = 5
DENSE = [(1_000_000, 200, 10), (200_000, 1000, 15), (50_000, 4000, 15)]


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


def dense(n: int, d: int, m: int) -> tuple[str, ...]:
    """float64 and float32 arrays against a read and against X^T X."""
    X = np.random.default_rng(0).standard_normal((n, d))
    single = X.astype(np.float32)
    ours, ours32, read, gram = medians(
        one_round(samples.rows(X), m), one_round(samples.rows(single), m), X.sum, lambda: X.T @ X
    )
    return f"n={n:,} d={d} m={m}", f"{ours / read:.2f}", f"{ours / gram:.3f}", f"{ours32 / ours:.2f}"


def sigma(n: int, d: int) -> tuple[str, ...]:
    """A release of Sigma itself (norms, counts, one clipped sum of x x^T) against X^T X."""
    X = np.random.default_rng(0).standard_normal((n, d))
    population, zero = SampledPopulation(samples.rows(X), Matrices()), np.zeros((d, d))
    ours, plain = medians(lambda: population.survey(zero, EDGES, [Clip(float(d), -16)]), lambda: X.T @ X)
    return f"Sigma of n={n:,} d={d}, against `X.T @ X`", f"{ours / plain:.2f}", ""


def write_parquet(path: str, n: int, d: int) -> None:
    """A file of normal numbers, as pyarrow writes it by default."""
    rng, names = np.random.default_rng(0), [f"x{i}" for i in range(d)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, n, 50_000):
            block = rng.standard_normal((min(50_000, n - start), d))
            writer.write_table(pa.table(list(block.T), names=names))


def parquet(n: int, d: int, m: int) -> tuple[str, ...]:
    """A Parquet file against a plain scan of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.parquet"
        write_parquet(path, n, d)

        def scan() -> None:
            for _ in ds.dataset(path).to_batches():
                pass

        ours, plain = medians(one_round(samples.rows(path), m), scan)
    return f"Parquet n={n:,} d={d} m={m}, against a pyarrow scan", f"{ours / plain:.2f}", "1.5"


def csr(n: int, d: int, m: int) -> tuple[str, ...]:
    """A CSR array with 100 entries a row against scipy's products."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, size=(n, 100), dtype=np.int32).ravel()
    X = sparse.csr_array((rng.standard_normal(n * 100), indices, np.arange(0, n * 100 + 1, 100)), shape=(n, d))
    X.sum_duplicates()
    W, Y = rng.normal(size=(d, m)), rng.normal(size=(n, m))
    ours, plain = medians(one_round(samples.rows(X), m), lambda: (X @ W, X.T @ Y))
    return f"CSR n={n:,} d={d:,} m={m}, 100 a row, against `X @ W` and `X.T @ Y`", f"{ours / plain:.2f}", "2"


def surveyed(path: str) -> tuple[float, float]:
    """Peak memory of this process after a survey of a file, and how much of it is beyond imports."""
    before = peak()
    one_round(samples.rows(path), 10)()
    return peak(), peak() - before


def memory(n: int, d: int) -> tuple[str, ...]:
    """Peak memory of a process that surveys a Parquet file of n rows, and of one with 10 n rows."""
    told = []
    for rows in (n, 10 * n):
        with tempfile.TemporaryDirectory() as folder:
            write_parquet(f"{folder}/data.parquet", rows, d)
            told.append(alone(__file__, f"{folder}/data.parquet"))
    (whole, beyond), (whole_10, beyond_10) = told
    both = f"{whole:.0f} and {whole_10:.0f}", f"{beyond:.0f} and {beyond_10:.0f}"
    return f"Parquet d={d}, n={n:,} and {10 * n:,}", *both


def main() -> None:
    """Measure, print and write the tables."""
    if answered(surveyed):
        return
    options = parser(__doc__)
    options.add_argument("--small", action="store_true", help="a hundredth of the rows; nothing is written")
    small = options.parse_args().small
    stamped = stamp.line()
    scale = 100 if small else 1
    # files first: after large arrays have come and gone a scan is slower, which would flatter us
    others = [parquet(500_000 // scale, 200, 10), csr(200_000 // scale, 100_000, 15)]
    in_memory = [dense(n // scale, d, m) for n, d, m in DENSE]
    others += [sigma(n // scale, d) for n, d in ((500_000, 100), (50_000, 1000))]
    over = ("over `X.sum()` (goal 4)", "over `X.T @ X`", "float32 over float64 (goal .7)")
    beyond = "beyond imports (goal < 300, and the same for both)"
    tables = [
        table(("dense rows in memory", *over), in_memory),
        table(("other data", "ratio", "goal"), others),
        table(("peak memory, MB", "whole process", beyond), [memory(100_000 // scale, 200)]),
    ]
    write(
        "one-pass",
        title="One round over the data",
        about=f"Residual norms around a centre, counts at {EDGES.size} edges and one clipped sum, in one pass.\n"
        f"Medians of {ROUNDS} rounds taken in turn. Rows are normal, with seed 0; there is no noise.",
        stamp=stamped,
        command="python benchmarks/one_pass.py",
        body="\n\n".join(tables),
        keep=not small,
    )


if __name__ == "__main__":
    main()
