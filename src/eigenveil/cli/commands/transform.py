"""Options of ``eigenveil transform``: scores of rows along the components of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli import options as o
from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil transform people.parquet --model model/ --out scores.parquet",
        "eigenveil transform people.csv --model model/ --keep person_id | head",
    ]
)


@runs_work_module
def command(
    data: Annotated[list[str], typer.Argument(help="Files, globs or folders, with the columns of the fit.")],
    *,
    model: Annotated[Path, typer.Option(help="Folder of a saved model.")],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="For arrays, whose columns have no names: positions of the fitted columns, if they have changed."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns to copy next to the scores, such as ids: comma-separated names or globs."),
    ] = None,
    header: o.Header = None,
    out: Annotated[Path | None, typer.Option(help="A .parquet or .csv file. Default: CSV to stdout.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Compute scores: the coordinates of each row along the components, one output line per row.

    Columns are matched by their names in the fit, and read as in the fit (--encode, --fill). Other columns are
    ignored, unless --keep names them. A row with a missing value gets empty scores. So does a line of a CSV file
    with too many or too few entries; its kept columns are empty too. Line i of the scores is always row i of the
    data. The number of rows without scores is reported at the end.

    Scores are functions of single rows, so they are not private. Store them as securely as the data; publish the
    model instead.
    """
