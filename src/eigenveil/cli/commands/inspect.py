"""Options of ``eigenveil inspect``: show a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil inspect model/",
        "eigenveil inspect model/ --ledger",
        "eigenveil inspect model/ --json | jq .explained_variance",
    ]
)


@runs_work_module
def command(
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    *,
    ledger: Annotated[bool, typer.Option("--ledger", help="Also print every entry of the ledger.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show a saved model: components, variances, privacy budget spent, and whether it is private."""
