"""Time and memory of a fit against the values of one row.

    python benchmarks/side_channels.py
    python benchmarks/side_channels.py --pairs 5      # quicker; nothing is written

Two data sets differ in one unit. They are fitted in turn, in one process, and processor time is measured. The
table has the median of the ratios of pairs, with a 95 % interval for that median (order statistics). One pair of
equal data sets shows what the method itself gives. Peak memory is that of a process of its own for each of them.
Processor time is little disturbed by others on the machine, but caches are shared: small effects may hide.
"""

from __future__ import annotations

import gc
import io
import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np
import stamp
from harness import alone, answered, parser, peak, say, table, write
from scipy import sparse, stats

from eigenveil import DPPCA

N, D, WIDE, PAIRS = 5_000, 20, 20_000, 21
LINES, LONG, RECORDS = 2_000, 8 << 20, 20_000
"""Lines of a file, bytes of the long line, rows of the person who has many."""


# -- data that differ in one unit ------------------------------------------------------------------


def array(value: float) -> np.ndarray:
    """Normal rows, one of which has this value in every column."""
    rows = np.random.default_rng(0).normal(size=(N, D))
    rows[N // 2] = value
    return rows


def text(line: bytes) -> pathlib.Path:
    """A CSV file with this line in its middle."""
    rows = io.BytesIO()
    np.savetxt(rows, np.random.default_rng(0).normal(size=(LINES, D)), fmt="%.6f", delimiter=",")
    lines = rows.getvalue().splitlines()
    lines[LINES // 2] = line
    path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    path.write_bytes(b"\n".join([",".join(f"x{j}" for j in range(D)).encode(), *lines, b""]))
    return path


def people(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Two rows for each person, and one person with this number of rows."""
    ids = np.concatenate([np.arange(N) // 2, np.full(rows, N)])
    return np.random.default_rng(0).normal(size=(len(ids), D)), ids


def sparse_rows(entries: int) -> sparse.csr_array:
    """Sparse rows of 20 entries, and one with this number of entries."""
    rng = np.random.default_rng(0)
    counts = np.full(2000, 20)
    counts[1000] = entries
    places = np.concatenate([np.sort(rng.choice(WIDE, count, replace=False)) for count in counts])
    parts = (rng.normal(size=len(places)), places, np.concatenate([[0], np.cumsum(counts)]))
    return sparse.csr_array(parts, (2000, WIDE))


NORMAL = b",".join(b"0.500000" for _ in range(D))
CASES = {
    "equal data (the method itself)": (lambda: array(0.5), lambda: array(0.5)),
    "a row of zeros": (lambda: array(0.5), lambda: array(0.0)),
    "a row of 1e300": (lambda: array(0.5), lambda: array(1e300)),
    "a row of nan": (lambda: array(0.5), lambda: array(np.nan)),
    "a row of subnormal numbers": (lambda: array(0.5), lambda: array(5e-320)),
    "CSV: a line of words": (lambda: text(NORMAL), lambda: text(b",".join([b"word"] * D))),
    "CSV: a line with quotes": (lambda: text(NORMAL), lambda: text(b'"1",' * (D - 1) + b'"2')),
    "CSV: a byte that is not UTF-8": (lambda: text(NORMAL), lambda: text(NORMAL.replace(b"0.5", b"\xff.5", 1))),
    f"CSV: a line of {LONG >> 20} MB": (lambda: text(NORMAL), lambda: text(b"1" * LONG)),
    f"a person with {RECORDS:,} rows, not 2": (lambda: people(2), lambda: people(RECORDS)),
    f"a sparse row of {WIDE // 2:,} entries, not 20": (lambda: sparse_rows(20), lambda: sparse_rows(WIDE // 2)),
}


# -- measuring -------------------------------------------------------------------------------------


def fit(data: object) -> None:
    """One fit; sparse rows are not centred."""
    rows, ids = data if isinstance(data, tuple) else (data, None)
    model = DPPCA(
        3, center=not sparse.issparse(rows), algorithm="dp-power" if sparse.issparse(rows) else "tracked"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, **({} if ids is None else {"units": ids}))


def used(data: object) -> float:
    """Processor time of a fit, of all threads."""
    gc.collect()
    start = time.process_time()
    fit(data)
    return time.process_time() - start


def times(name: str, pairs: int) -> tuple[float, float, float]:
    """The median ratio of processor times, and an interval for it."""
    plain, changed = (make() for make in CASES[name])
    fit(plain)
    fit(changed)
    ratios = []
    for turn in range(pairs):
        one, other = (used(plain), used(changed)) if turn % 2 else (used(changed), used(plain))[::-1]
        ratios.append(other / one)
    low = max(0, int(stats.binom.ppf(0.025, pairs, 0.5)) - 1)  # counted from 0
    ordered = sorted(ratios)
    return float(np.median(ratios)), ordered[low], ordered[pairs - 1 - low]


def memory(question: list[object]) -> float:
    """Peak memory of one fit in this process, in units of 2^20 bytes."""
    name, which = question
    fit(CASES[str(name)][int(str(which))]())
    return peak()


def main() -> None:
    """Measure all pairs and write the table."""
    if answered(memory):
        return
    options = parser(__doc__)
    options.add_argument("--pairs", type=int, default=PAIRS, help="with another number nothing is written")
    pairs = options.parse_args().pairs
    stamped = stamp.line("estimators")
    found = []
    for name in CASES:
        middle, low, high = times(name, pairs)
        before, after = (alone(__file__, [name, which]) for which in (0, 1))
        verdict = "yes" if low > 1.02 or high < 0.98 else "not seen"
        found.append((name, f"{middle:.3f}", f"{low:.3f} to {high:.3f}", verdict, f"{after - before:+.0f} MB"))
        say(found[-1])
    write(
        "side-channels",
        title="Time and memory against the values of one unit",
        about=f"Fits of {N:,} rows and {D} columns ({LINES:,} lines of CSV; 2,000 sparse rows of {WIDE:,} "
        "columns).\nRatios of processor time, with one unit changed over without; medians of "
        f"{pairs} pairs measured in turn, with 95 % intervals.\n"
        "Memory is the difference of the peaks of two processes; a few MB are chance.\n"
        'Time depends on the unit if the interval lies more than 2 % from 1; "not seen" is no proof.\n'
        "Data have seed 0; noise has none.",
        stamp=stamped,
        command="python benchmarks/side_channels.py",
        body=table(("one unit changed", "time", "95 % interval", "time depends", "peak memory"), found),
        keep=pairs == PAIRS,
    )


if __name__ == "__main__":
    sys.exit(main())
