"""Options of ``eigenveil example``: write an example table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    ["Examples:", "eigenveil example visits.parquet", "eigenveil example visits.csv --force"]
)


@runs_work_module
def command(
    path: Annotated[Path, typer.Argument(help="A .parquet or .csv file to write.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write an example table of made-up visits to a clinic: 4000 people, two rows each, mixed columns.

    The columns are person_id, a date, a site, a Boolean column, age, bmi (5 % are missing), and six laboratory
    values. The table comes from a formula, so it is the same every time, and nobody in it exists.
    """
