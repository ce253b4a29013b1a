"""``eigenveil inspect``: what is in a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.speaking import at_work

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil inspect model/",
        "eigenveil inspect model/ --ledger",
        "eigenveil inspect model/ --json | jq .explained_variance",
    ]
)


@at_work
def command(
    model: Annotated[Path, typer.Argument(help="Folder of a model.")],
    *,
    ledger: Annotated[bool, typer.Option("--ledger", help="Also print every entry of the ledger.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show a saved model: components, variances, what it cost and whether it is private."""
