"""Options of ``eigenveil report``: write a saved model as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli import options as o
from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil report model/ --out report.html",
        "eigenveil report digits/ --grid 8x8 --out report.html",
    ]
)


@runs_work_module
def command(
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    *,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    grid: o.Grid = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a saved model as one HTML file with figures, ledger and guarantee. It opens offline."""
