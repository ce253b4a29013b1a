"""``eigenveil plan``: what to expect, before any data are touched."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenveil.cli.speaking import at_work

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil plan -n 20000 -d 100 -k 5",
        "eigenveil plan -n 20000 -d 100 -k 5 --target .98                # which epsilon?",
        "eigenveil plan -d 100 -k 5 --epsilon 1 --target .98             # how many people?",
        "eigenveil plan -n 5000 -d 100 -k 2 --spread 10 --spectrum flat  # 10 rows a person",
    ]
)


@at_work
def command(
    *,
    d: Annotated[int, typer.Option("-d", help="Columns.")],
    k: Annotated[int, typer.Option("-k", help="Components wanted.")],
    n: Annotated[
        int | None, typer.Option("-n", help="About how many units; left out: how many a target needs.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="May be given several times; by default .1 to 10.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Well below 1 over the number of units.")] = 1e-6,
    target: Annotated[
        float | None, typer.Option(help="Share of plain PCA's energy to keep; finds what it takes.")
    ] = None,
    spectrum: Annotated[
        str, typer.Option(help="'fast decay', 'slow decay', 'flat', or shares of variance with commas between.")
    ] = "slow decay",
    spread: Annotated[
        str, typer.Option(help="'rows', a whole number of rows per person, or a distance with a decimal point.")
    ] = "rows",
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """What energy to expect at each epsilon, or which epsilon or how many people reach a target.

    Reads no data and spends nothing: the method's own code runs on imagined units with the spectrum you guess.
    """
