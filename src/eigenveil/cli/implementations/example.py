"""Implementation of ``eigenveil example``: write an example table."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import typer
from scipy.special import ndtri

from eigenveil._atomic_files import written_whole
from eigenveil._typing import FloatArray, IntArray
from eigenveil.cli.console import say
from eigenveil.persistence.outputs import check_output_path
from eigenveil.sources.files.paths import FORMATS

PEOPLE, VISITS = 4000, 2
SITES = ("north", "south", "west")


def run(path: Path, *, force: bool) -> None:
    """Run ``eigenveil example``."""
    kind = FORMATS.get(path.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise typer.BadParameter("expected a file name that ends in .parquet or .csv.", param_hint="PATH")
    check_output_path(path, force=force, folder=False)
    table = visits()
    with written_whole(path) as part:
        if kind == "parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415  # one of the two is not needed

            pq.write_table(table, part)
        else:
            import pyarrow.csv as pc  # noqa: PLC0415

            pc.write_csv(table, part)
    say(f"{path}: {table.num_rows} visits of {PEOPLE} people. Columns: {', '.join(table.column_names)}")


def visits() -> pa.Table:
    """Return the example table, the same in every call.

    Two factors of a person, and noise, determine the laboratory values. The first raises glucose, hba1c and
    triglycerides and lowers hdl. The second raises crp and leukocytes.
    """
    row = np.arange(PEOPLE * VISITS)
    person, second_visit = row % PEOPLE, row // PEOPLE
    first, second = _normal(person, 2), _normal(person, 3)
    age = np.clip(np.round(52 + 13 * _normal(person, 5)), 18, 95).astype(int)
    day = (300 * _uniform(person, 7)).astype(int) + 180 * second_visit
    bmi = np.round(26 + 2.5 * first + 1.5 * _normal(row, 11), 1)
    return pa.table(
        {
            "person_id": person,
            "visit": np.datetime64("2024-01-01") + day,
            "site": np.array(SITES)[(len(SITES) * _uniform(person, 13)).astype(int)],
            "smoker": _uniform(person, 17) < 0.25,
            "age": age,
            "bmi": pa.array(bmi, mask=_uniform(row, 19) < 0.05),
            "lab_glucose": np.round(98 + 13 * first + 6 * _normal(row, 23)),
            "lab_hba1c": np.round(5.6 + 0.45 * first + 0.25 * _normal(row, 29), 1),
            "lab_triglycerides": np.maximum(np.round(145 + 35 * first + 20 * _normal(row, 31)), 30),
            "lab_hdl": np.round(54 - 9 * first + 5 * _normal(row, 37)),
            "lab_crp": np.maximum(np.round(4.5 + 1.2 * second + 0.6 * _normal(row, 41), 1), 0.1),
            "lab_leukocytes": np.maximum(np.round(6.8 + 1.3 * second + 0.8 * _normal(row, 43), 1), 1.0),
        }
    )


def _uniform(numbers: IntArray, prime: int) -> FloatArray:
    """Return evenly spread numbers in (0, 1). Those of different primes are nearly unrelated."""
    return np.asarray((numbers + 1) * math.sqrt(prime) % 1.0)


def _normal(numbers: IntArray, prime: int) -> FloatArray:
    return np.asarray(ndtri(_uniform(numbers, prime)))
