"""What a fit to files larger than memory costs: peak memory, and time over that of the same rows in memory.

    python benchmarks/long.py                            # writes benchmarks/results/long.md; needs an idle machine
    python benchmarks/long.py --rows 50000 --memory 20   # smaller; prints only
    python benchmarks/long.py --only csv                 # cases whose name contains this; prints only

`DPPCA.fit` with everything paid, k = 5, epsilon = 1, on all threads, d = 200, people of 8 rows each that are
scattered over the file, or rows as they are. LocalEngine(memory=...) allows a quarter of what the numbers take.
Each case is written by one process and fitted by another, once. Memory is the largest resident size of the process
in the fit, less what it had before; people are sorted in no less than the sort needs, 505 MB at d = 200. Time is
over that of the same fit to an array in memory. Files are as their usual writers leave them: Parquet by pyarrow
with row groups of 100,000 rows (snappy), Feather with batches of 65,536 rows (lz4), CSV with all digits. The
temporary files are in TMPDIR, which must not be in memory. Eigenvalues are 10 * .7^j + .1.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import stamp

from eigenveil import DPPCA
from eigenveil.engines import LocalEngine

MB = 10**6
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


def write(case: Case) -> dict[str, float]:
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


def resident() -> float:
    """Megabytes that this process has in memory now."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MB


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
    before, start = resident(), time.perf_counter()
    pca.fit(data, units=ids)
    took = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    return {"time": took, "passes": pca.release_.diagnostics["passes"], "memory": max(most - before, 0.0)}


def in_a_process(what: str, case: Case) -> dict[str, float]:
    """Write or fit in a process of its own."""
    command = [sys.executable, __file__, "--one", what, json.dumps(asdict(case))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def cells(case: Case, one: dict[str, float], inside: dict[str, float], size: float | None) -> list[str]:
    """A line of the table."""
    return [
        "array in memory" if case.kind == "array" else case.kind,
        "people" if case.people else "rows",
        "" if size is None else f"{size:.0f}",
        f"{one['memory']:.0f}",
        f"{one['time'] / inside['time']:.2g}",
        f"{one['passes']:.0f}",
    ]


def main() -> None:
    """Run, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--memory", type=int, default=200, help="megabytes")
    parser.add_argument("--only", default="", help="cases whose name contains this; nothing is written")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        what, case = options.one[0], Case(**json.loads(options.one[1]))
        print(json.dumps((write if what == "write" else fit)(case)))
        return
    lines = []
    for people in (False, True):
        inside: dict[str, float] = {}
        for kind in ("array", *GROUPS):
            if kind != "array" and options.only not in f"{kind} {'people' if people else 'rows'}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                case = Case(kind, people, options.rows, options.memory, folder)
                size = None if kind == "array" else in_a_process("write", case)["size"]
                found = in_a_process("fit", case)
            inside = inside or found
            lines.append(f"| {' | '.join(cells(case, found, inside, size))} |")
            print(lines[-1], flush=True)
    text = [
        "# Files larger than memory",
        "",
        f"{options.rows:,} x {D}: {options.rows * D * 8 / MB:.0f} MB of numbers, {options.memory} MB allowed.",
        "Megabytes of the file, and of memory beyond what was there before the fit; time over that of the array.",
        stamp.line(),
        "Made by `python benchmarks/long.py`, which says how.",
        "",
        "| data | units | file | memory | time | passes |",
        "|---|---|---|---|---|---|",
        *lines,
        "",
    ]
    if not options.only and options.rows == parser.get_default("rows"):
        (pathlib.Path(__file__).parent / "results" / "long.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
