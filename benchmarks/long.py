"""What a fit to files larger than memory costs: peak memory, and time over that of the same rows in memory.

    python benchmarks/long.py                            # writes benchmarks/results/long.md; needs an idle machine
    python benchmarks/long.py --rows 50000 --memory 20   # smaller; prints only
    python benchmarks/long.py --only csv                 # cases whose name contains this; prints only

`DPPCA.fit` with everything paid, k = 5, epsilon = 1, on all threads, d = 200, people of 8 rows each that are
scattered over the file, or rows as they are. LocalEngine(memory=...) allows a quarter of what the numbers take.
Each case is written by one process and fitted by another, once. Memory is the largest resident size of the process
in the fit, less what it had before; people are sorted in no less than the sort needs, 505 MB at d = 200. Time is
over that of the same fit to an array in memory. A Parquet file of twice as many rows shows that memory does not
grow with the file. Files are as their usual writers leave them: Parquet by pyarrow
with row groups of 100,000 rows (snappy), Feather with batches of 65,536 rows (lz4), CSV with all digits. The
temporary files are in TMPDIR, which must not be in memory. Eigenvalues are 10 * .7^j + .1.
"""

from __future__ import annotations

import pathlib
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import stamp
from harness import MB, alone, answered, parser, peak, resident, say, seconds, table, write

from eigenveil import DPPCA
from eigenveil.engines import LocalEngine

D, K, EACH = 200, 5, 8
GROUPS = {"parquet": 100_000, "feather": 1 << 16, "csv": 10_000}
"""Rows that are written in one go."""


@dataclass(frozen=True)
class Case:
    """What is fitted: a kind of file, or an array; rows or people; how many rows; megabytes allowed."""

    kind: str
    people: bool
    n: int
    memory: int
    folder: str

    @property
    def path(self) -> pathlib.Path:
        """The file."""
        return pathlib.Path(self.folder) / f"rows.{self.kind}"


def pieces(n: int, height: int) -> Iterator[tuple[np.typing.NDArray[Any], np.typing.NDArray[Any]]]:
    """Rows and ids, some at a time, the same for any height that 500 divides."""
    for start in range(0, n, height):
        parts, ids = [], []
        for first in range(start, min(start + height, n), 500):
            rng, rows = np.random.default_rng(first), min(500, n - first)
            parts.append(rng.standard_normal((rows, D)) * np.sqrt(10 * 0.7 ** np.arange(D) + 0.1) + 1.0)
            ids.append(rng.integers(0, max(1, n // EACH), rows))
        yield np.concatenate(parts), np.concatenate(ids)


def written(case: Case) -> dict[str, float]:
    """Write the file of a case."""
    names = [f"x{j}" for j in range(D)]
    kinds = [*((name, pa.float64()) for name in names), *([("who", pa.int64())] if case.people else [])]
    schema = pa.schema(kinds)
    makers = {
        "parquet": lambda: pq.ParquetWriter(case.path, schema),
        "feather": lambda: pa.ipc.new_file(
            str(case.path), schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
        ),
        "csv": lambda: pc.CSVWriter(case.path, schema),
    }
    height = GROUPS[case.kind] // 500 * 500
    with makers[case.kind]() as writer:
        for X, ids in pieces(case.n, height):
            columns = [
                *(pa.array(np.ascontiguousarray(X[:, j])) for j in range(D)),
                *([pa.array(ids)] * case.people),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return {"size": case.path.stat().st_size / MB}


def fit(case: Case) -> dict[str, float]:
    """The time of a fit, its passes, and the most memory beyond what was there."""
    warnings.simplefilter("ignore")
    data: Any = case.path
    ids: Any = "who" if case.people else None
    if case.kind == "array":
        data, ids = np.empty((case.n, D)), np.empty(case.n, dtype=np.int64)
        for number, (X, who) in enumerate(pieces(case.n, 10_000)):
            place = slice(number * 10_000, number * 10_000 + len(X))
            data[place], ids[place] = X, who
        ids = ids if case.people else None
    pca = DPPCA(K, epsilon=1.0, delta=1e-6, engine=LocalEngine(memory=case.memory * MB))
    pca.fit(next(pieces(1000, 1000))[0])  # what is loaded at the first fit is none of its cost
    before = resident()
    took = seconds(lambda: pca.fit(data, units=ids))
    passes = pca.release_.diagnostics["passes"]
    return {"time": took, "passes": passes, "memory": max(peak() - before, 0.0)}


def measured(given: dict[str, Any]) -> dict[str, float]:
    """Write or fit one case."""
    return (written if given.pop("what") == "write" else fit)(Case(**given))


def cells(case: Case, one: dict[str, float], inside: dict[str, float], size: float | None) -> list[str]:
    """A line of the table. Times are compared for the same number of rows only."""
    return [
        "array in memory" if case.kind == "array" else case.kind,
        "people" if case.people else "rows",
        f"{case.n:,}",
        "" if size is None else f"{size:.0f}",
        f"{one['memory']:.0f}",
        f"{one['time'] / inside['time']:.2g}" if case.n == inside["n"] else "",
        f"{one['passes']:.0f}",
    ]


def main() -> None:
    """Run, print and write the table."""
    if answered(measured):
        return
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=500_000)
    options.add_argument("--memory", type=int, default=200, help="megabytes")
    options.add_argument("--only", default="", help="cases whose name contains this; nothing is written")
    given = options.parse_args()
    stamped = stamp.line("estimators")
    lines = []
    for people in (False, True):
        inside: dict[str, float] = {}
        sizes = [*((kind, given.rows) for kind in ("array", *GROUPS)), ("parquet", 2 * given.rows)]
        for kind, rows in sizes:
            if kind != "array" and given.only not in f"{kind} {'people' if people else 'rows'}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                case = asdict(Case(kind, people, rows, given.memory, folder))
                size = None if kind == "array" else alone(__file__, {"what": "write", **case})["size"]
                found = alone(__file__, {"what": "fit", **case})
            inside = inside or {**found, "n": rows}
            lines.append(cells(Case(**case), found, inside, size))
            say(lines[-1])
    write(
        "long",
        title="Files larger than memory",
        about=f"{given.rows:,} x {D}: {given.rows * D * 8 / MB:.0f} MB of numbers, {given.memory} MB allowed.\n"
        "Megabytes of the file, and of memory beyond what was there before the fit; time over that of the array.\n"
        "Data are seeded by the numbers of their rows; noise has no seed.",
        stamp=stamped,
        command="python benchmarks/long.py",
        body=table(("data", "units", "number of rows", "file", "memory", "time", "passes"), lines),
        keep=not given.only and given.rows == options.get_default("rows"),
    )


if __name__ == "__main__":
    main()
