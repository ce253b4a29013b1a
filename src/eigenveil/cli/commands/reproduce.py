"""Options of ``eigenveil reproduce``: reproduce the paper's figures and check its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil reproduce all --quick --out /tmp/figures   # check that everything runs",
        "eigenveil reproduce spiked-d                         # one figure, 50 trials",
        "eigenveil reproduce all                              # all figures; resumes if interrupted",
        "eigenveil reproduce all --redraw                     # the plots again, from the tables",
        "eigenveil reproduce claims                           # docs/claims.md, from the tables",
    ]
)


@runs_work_module
def command(
    figures: Annotated[list[str], typer.Argument(metavar="FIGURE", help="Names of figures, 'all', or 'claims'.")],
    *,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Datasets per point. Default: 50, as in the paper; 3 with --quick.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few small points, to check that it runs.")] = False,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Run nothing: draw the plots again from the tables in --out.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("docs/figures"),
    seed: Annotated[int, typer.Option(help="Seed of all data and all noise.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
    cache: Annotated[
        Path, typer.Option(help="Folder for results of single fits; an interrupted run resumes from it.")
    ] = Path(".reproduce_cache"),
) -> None:
    """Reproduce the paper's figures: tables as CSV, figures as SVG and PNG.

    The data are synthetic and every fit is seeded, so that tables can be reproduced to the last digit. Seeded fits
    are not private: use them for experiments only. 'claims' writes claims.md next to the folder of tables, from
    these tables alone.
    """
