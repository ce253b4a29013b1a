"""Fixtures: the server of forked children, data files, and a small disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TESTS = Path(__file__).resolve().parents[1]
KILLED = -9


@dataclass(frozen=True)
class Outcome:
    """What became of a child: exit code (minus the signal that killed it), marks, and what it printed."""

    status: int
    marks: list[dict]
    seconds: float
    out: str
    err: str

    @property
    def granted(self) -> list[tuple]:
        """The grants of noise, as entries of a ledger should show them."""
        return [tuple(mark["granted"]) for mark in self.marks if "granted" in mark]

    def check_synced(self) -> None:
        """Before noise is granted, the folder's list of names is on the disk: a power cut hides no charge."""
        synced = True
        for mark in self.marks:
            synced = {"os.rename": False, "fsync": synced or mark.get("folder")}.get(mark.get("file"), synced)
            assert synced or "granted" not in mark

    @property
    def drawn(self) -> int:
        """Number of noisy values that the child made."""
        return sum(mark.get("drawn", 0) for mark in self.marks)


class Server:
    """The process of `faults.server`, which forks a child for every trial."""

    def __init__(self) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.server"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, work, folder, **trial) -> Outcome:
        arguments = {name: trial.pop(name) for name in list(trial) if name not in SETTINGS}
        asked = {"work": work, "folder": str(folder), "arguments": arguments, **trial}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the server has ended"
        return Outcome(**json.loads(line))

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)


SETTINGS = ("kill", "last_mark", "pause", "torn", "limits", "user", "marked")
"""Settings of a trial; the others are arguments of the work."""

if not hasattr(os, "fork"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _recompute_every_ledger():
    """Not here: the ledgers were charged by other processes, hundreds of times. `ledgers.check` looks at them."""


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A table of 3000 people with a row each, as Parquet and CSV."""
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o755)
    rows = np.random.default_rng(0).normal(size=(3000, 4)) * [5, 3, 1, 1]
    columns = {f"x{number}": column for number, column in enumerate(rows.T)}
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    return folder


@pytest.fixture
def tried(record_property):
    """Record what was tried, how often, and what was checked: a line of results.md."""

    def record(fault, trials, checked):
        for name, value in (("fault", fault), ("trials", trials), ("checked", checked)):
            record_property(name, value)

    return record
