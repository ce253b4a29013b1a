"""``eigenveil transform``: scores of rows along the components of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli import options as o
from eigenveil.cli.speaking import at_work

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil transform people.parquet --model model/ --out scores.parquet",
        "eigenveil transform people.csv --model model/ --keep person_id | head",
    ]
)


@at_work
def command(
    data: Annotated[list[str], typer.Argument(help="Files, globs or folders, with the columns of the fit.")],
    *,
    model: Annotated[Path, typer.Option(help="Folder of a model.")],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="For arrays, whose columns have no names: where those of the fit are, if not where they were."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns to write beside the scores as they are, such as ids: names or globs, with commas."
        ),
    ] = None,
    header: o.Header = None,
    out: Annotated[Path | None, typer.Option(help="A .parquet or .csv file; CSV to stdout by default.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Scores of rows: their coordinates along the components, one line per row.

    Columns are found by the names they had in the fit, and read as they were there (--encode, --fill); others are
    left out, unless --keep names them. A row with a missing value has empty scores, and so has a line of a CSV
    file with too many or too few entries (what is kept of it is empty too): line i of the scores is row i of the
    data. How many have none is said at the end.

    Scores are functions of single rows, so they are not private. Keep them where the data are; publish the model.
    """
