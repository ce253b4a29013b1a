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
from eigenveil.cli.arguments import check_output_path
from eigenveil.cli.console import say
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

    Two factors of a person, and noise, determine the measurements. The first factor raises all of them. The second
    raises the pulse and both blood pressures, and lowers the others.
    """
    n = PEOPLE * VISITS
    person, row = np.arange(n) % PEOPLE, np.arange(n)
    first, second = _normal(person, 2), _normal(person, 3)
    bmi = 26 + 2.8 * first - 1.6 * second + 1.2 * _normal(row, 5)
    measured = {
        "age": np.clip(np.round(52 + 12 * _normal(person, 7) + 5 * first), 18, 95).astype(np.int64)
        + row // PEOPLE,
        "bmi": pa.array(np.round(bmi, 1), mask=_uniform(row, 11) < 0.05),
        "systolic": np.round(128 + 11 * first + 8 * second + 6 * _normal(row, 13)),
        "diastolic": np.round(80 + 6 * first + 6 * second + 4 * _normal(row, 17)),
        "pulse": np.round(72 + 4 * first + 7 * second + 5 * _normal(row, 19)),
        "glucose": np.round(98 + 13 * first - 5 * second + 8 * _normal(row, 23)),
    }
    return pa.table(
        {
            "person_id": person,
            "visit": np.datetime64("2024-01-01")
            + (_uniform(person, 29) * 300).astype(int)
            + 180 * (row // PEOPLE),
            "site": np.array(SITES)[(_uniform(person, 31) * len(SITES)).astype(int)],
            "smoker": _uniform(person, 37) < 0.25,
            **measured,
        }
    )


def _uniform(numbers: IntArray, prime: int) -> FloatArray:
    """Return evenly spread numbers in (0, 1). Those of different primes are nearly unrelated."""
    return np.modf((numbers + 1) * math.sqrt(prime))[0]


def _normal(numbers: IntArray, prime: int) -> FloatArray:
    return np.asarray(ndtri(_uniform(numbers, prime)))
