"""``eigenveil inspect``: what is in a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eigenveil.cli.speaking import ending_well, put_json
from eigenveil.cli.summary import as_plain, as_table
from eigenveil.persistence import load
from eigenveil.persistence.score_maps import load_map

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil inspect model/",
        "eigenveil inspect model/ --ledger",
        "eigenveil inspect model/ --json | jq .explained_variance",
    ]
)


@ending_well
def command(
    model: Annotated[Path, typer.Argument(help="Folder of a model.")],
    *,
    ledger: Annotated[bool, typer.Option("--ledger", help="Also print every entry of the ledger.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show a saved model: components, variances, what it cost and whether it is private."""
    loaded = load(model)
    if as_json:
        put_json(as_plain(loaded, load_map(loaded, model)))
        return
    console = Console(highlight=False)
    console.print(as_table(loaded))
    if ledger:
        console.print()
        console.print(str(loaded.ledger_), markup=False, soft_wrap=True)
