"""The memory of a fit to files does not grow with the files: twice the rows need hardly any more."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="peaks of memory are not known here")

D = 20
SMALL, LARGE = 400_000, 800_000
"""Numbers of rows: 64 and 128 MB of numbers, of which 1 MB may be kept. Below 64 MB, not all buffers are full."""

PEAKS = """
import json, pathlib, sys, warnings
from eigenveil import DPPCA
from eigenveil.engines import LocalEngine
from eigenveil.sources import source
from eigenveil.sources.files import csv_lines
from eigenveil.sources.people import on_disk
warnings.simplefilter("ignore")
source.BLOCK_BYTES = csv_lines.PIECE = 1 << 18  # so that a small file has many blocks
on_disk._LEAST_MEGABYTES, on_disk._VECTORS = 64, 0
units, memory, *paths = json.loads(sys.argv[1])
peaks = []
for path in paths:
    DPPCA(1, epsilon=1.0, engine=LocalEngine(1, memory=memory)).fit(path, units=units)
    status = pathlib.Path("/proc/self/status").read_text()  # ru_maxrss would begin with what pytest has
    peaks.append(int(status.split("VmHWM:")[1].split()[0]) / 1024)
print(json.dumps(peaks))
"""


def write(path, n, *, people):
    """Write rows, a part at a time, with the ids in random order."""
    names = [f"x{j}" for j in range(D)]
    ids = {"who": pa.int64()} if people else {}
    schema = pa.schema({**dict.fromkeys(names, pa.float32() if path.suffix == ".csv" else pa.float64()), **ids})
    makers = {
        ".parquet": lambda: pq.ParquetWriter(path, schema),
        ".feather": lambda: pa.ipc.new_file(str(path), schema),
        ".csv": lambda: pc.CSVWriter(path, schema),
    }
    rng = np.random.default_rng(0)
    with makers[path.suffix]() as writer:
        for _ in range(0, n, 20_000):
            columns = {name: rng.integers(-9, 9, 20_000).astype(float) for name in names}
            columns |= {"who": rng.integers(0, n // 8, 20_000)} if people else {}
            writer.write_table(pa.table(columns).cast(schema))
    return str(path)


def peaks(units, memory, *paths):
    """Return the peak memory of one process in megabytes, after a fit to each file."""
    given = json.dumps([units, memory, *paths])
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PEAKS, given], capture_output=True, text=True, timeout=300, check=True
    )
    return json.loads(done.stdout)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "people"),
    [
        ("feather", False),
        ("csv", False),
        pytest.param("parquet", False, marks=SLOW),
        pytest.param("parquet", True, marks=SLOW),
    ],
)
def test_peak_memory_does_not_grow_with_the_file(tmp_path, kind, people):
    paths = [write(tmp_path / f"{n}.{kind}", n, people=people) for n in (SMALL, LARGE)]
    small, large = peaks("who" if people else None, 1 << 20, *paths)
    assert large - small < 0.25 * 64, "megabytes; there are 64 more of numbers"


def test_the_test_can_fail(tmp_path):
    paths = [write(tmp_path / f"{n}.feather", n, people=False) for n in (SMALL, LARGE)]
    small, large = peaks(None, 1 << 30, *paths)
    assert large - small > 0.75 * 64, "where all of it may be kept"
