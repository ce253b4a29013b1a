"""What stands in README.md and docs: blocks of shell and of Python, and data files for the commands to work on."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from eigenveil.cli.implementations.example import visits
from support.clinic import clinic

HOUSE = Path(__file__).parents[2]
PAGES = [HOUSE / "README.md", *sorted((HOUSE / "docs").glob("*.md"))]
LONG = ("demo", "reproduce", "audit", "app")
"""Commands that take long or run until they are stopped: only whether they are written right is checked here."""
_FUNCTION = 'eigenveil() { "$PYTHON" -m eigenveil.cli "$@"; }\n'


def blocks(text, language):
    """The code blocks of a page in some language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE)


def commands(text):
    """Every line of shell that calls eigenveil, with the exit code that its comment announces (0 if none)."""
    found = []
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            command, _, comment = line.partition("  #")
            if command.strip().startswith("eigenveil "):
                code = re.search(r"exit code (\d)", comment)
                found.append((command.strip(), int(code.group(1)) if code else 0))
    return found


def is_long(command):
    return shlex.split(command)[1] in LONG


def run(command, folder):
    """The command in a shell of its own; its exit code and what it said."""
    done = subprocess.run(  # noqa: S603
        ["bash", "-o", "pipefail", "-c", _FUNCTION + command],  # noqa: S607
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable, "NO_COLOR": "1", "COLUMNS": "120", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def wrong_commands(text, folder):
    """Commands of a page, run one after the other, that end in another way than the page says."""
    wrong = []
    for command, expected in commands(text):
        if not is_long(command):
            code, said = run(command, folder)
            if code != expected:
                wrong.append(f"{command}\n  exit code {code}, expected {expected}:\n{said}")
    return wrong


def write_data(folder):
    """Small files by the names that pages use; `visits` is the table that `eigenveil example` writes."""
    values = np.random.default_rng(0).normal(size=(4000, 6)) * [9, 5, 3, 1, 1, 1] + 20
    names = ["age", "income", "x1", "x2", "x3", "x4"]
    table = pa.table({"person_id": np.arange(4000) % 2000, **dict(zip(names, values.T, strict=True))})
    for name, one in {"data": table, "people": table, "visits": visits()}.items():
        pq.write_table(one, folder / f"{name}.parquet")
        pc.write_csv(one, folder / f"{name}.csv")
    np.save(folder / "rows.npy", values)
    pq.write_table(clinic(), folder / "clinic.parquet")
