"""Options of ``eigenveil plan``: the expected accuracy, without reading data."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil plan -n 20000 -d 100 -k 5",
        "eigenveil plan -n 20000 -d 100 -k 5 --target .98                # which epsilon?",
        "eigenveil plan -d 100 -k 5 --epsilon 1 --target .98             # how many people?",
        "eigenveil plan -n 20000 -d 100 -k 5 --scale private            # pays for scales, too",
        "eigenveil plan -n 5000 -d 100 -k 2 --spread 10 --spectrum flat  # 10 rows a person",
    ]
)


@runs_work_module
def command(
    *,
    d: Annotated[int, typer.Option("-d", help="Number of columns.")],
    k: Annotated[int, typer.Option("-k", help="Number of components.")],
    n: Annotated[
        int | None, typer.Option("-n", help="Approximate number of units. Omit it to find n for a --target.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Privacy budget. May be repeated; by default .1 to 10.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Privacy parameter, well below 1 / (number of units).")] = 1e-6,
    target: Annotated[
        float | None,
        typer.Option(
            help="Fraction of plain PCA's energy to reach; finds the epsilon, or the number of units, it needs."
        ),
    ] = None,
    spectrum: Annotated[
        str,
        typer.Option(
            help="Guessed spectrum: 'fast decay', 'slow decay', 'flat', or comma-separated shares of variance."
        ),
    ] = "slow decay",
    spread: Annotated[
        str,
        typer.Option(
            help="How much units differ: 'rows' (one row per unit), a whole number of rows per person, or a "
            "distance with a decimal point."
        ),
    ] = "rows",
    center: Annotated[bool, typer.Option(help="Whether the fit buys a private mean.")] = True,
    scale: Annotated[
        str,
        typer.Option(help="Whether the fit buys private scales: none or private. Public scales are free: none."),
    ] = "none",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the expected energy for each epsilon, or the epsilon or number of people that reach a target.

    Reads no data and spends no budget. The method runs on simulated units with the spectrum you guess.
    """
