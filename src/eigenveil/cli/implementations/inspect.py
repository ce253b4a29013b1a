"""Implementation of ``eigenveil inspect``: show a saved model."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from eigenveil.cli.console import print_json
from eigenveil.cli.summary import as_plain, as_table
from eigenveil.persistence import load
from eigenveil.persistence.score_maps import load_map


def run(
    model: Path,
    *,
    ledger: bool,
    as_json: bool,
) -> None:
    """Run ``eigenveil inspect``."""
    loaded = load(model)
    if as_json:
        print_json(as_plain(loaded, load_map(loaded, model)))
        return
    console = Console(highlight=False)
    console.print(as_table(loaded))
    if ledger:
        console.print()
        console.print(str(loaded.ledger_), markup=False, soft_wrap=True)
