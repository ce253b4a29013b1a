"""Fixtures: data files, and the command run as a separate process."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from support.people_table import people_table
from support.warm import WarmCommand

COMMAND = [sys.executable, "-m", "eigenveil.cli"]
NAMES = ["age", "income", "x1", "x2", "x3"]


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def environment():
    return {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def eigenveil():
    """Function that runs the command; stdin, stdout and stderr are not terminals."""
    command = WarmCommand(environment())

    def run(*arguments, cwd=None):
        return Answer(*command(arguments, Path.cwd() if cwd is None else cwd))

    yield run
    command.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One table as Parquet and CSV: 5000 people with 2 rows each."""
    folder = tmp_path_factory.mktemp("data")
    table = people_table(5000, NAMES)
    pq.write_table(table, folder / "people.parquet")
    pc.write_csv(table, folder / "people.csv")
    pq.write_table(table.drop_columns(["person_id"]), folder / "rows.parquet")
    return folder


@pytest.fixture(scope="session")
def model(eigenveil, folder, tmp_path_factory):
    """A model of people, with a report."""
    out = tmp_path_factory.mktemp("out")
    answer = eigenveil(
        "fit", folder / "people.parquet", "-k", 2, "--units", "person_id", "--columns", "age,income,x*",
        "--out", out / "model", "--report", out / "report.html", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    return out, answer
