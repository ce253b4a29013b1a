"""``eigenveil reproduce``: the paper's figures again, and what became of its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.speaking import at_work

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil reproduce all --quick --out /tmp/figures   # does it all work?",
        "eigenveil reproduce spiked-d                         # one figure, 50 trials",
        "eigenveil reproduce all                              # all of them; goes on where it was interrupted",
        "eigenveil reproduce claims                           # docs/claims.md, from the tables",
    ]
)


@at_work
def command(
    figures: Annotated[list[str], typer.Argument(metavar="FIGURE", help="Names of figures, 'all', or 'claims'.")],
    *,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Data sets per point: 50, as in the paper; 3 with --quick.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few small points, to see that all works.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables and pictures.")] = Path("docs/figures"),
    seed: Annotated[int, typer.Option(help="All data and all noise follow from it.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
    cache: Annotated[
        Path, typer.Option(help="Folder for results of single fits; a run that was interrupted goes on from it.")
    ] = Path(".reproduce_cache"),
) -> None:
    """Make the paper's figures again: tables as CSV, pictures as SVG and PNG.

    Data are synthetic and every fit is seeded, so that a table can be made again to the last digit: for
    experiments only, nothing here is private. 'claims' writes claims.md beside the folder of tables, from these
    alone.
    """
