"""Implementation of ``eigenveil report``: write a saved model as one HTML file."""

from __future__ import annotations

from pathlib import Path

from eigenveil.cli.console import say
from eigenveil.persistence import load
from eigenveil.persistence.outputs import check_output_path, load_command
from eigenveil.persistence.score_maps import load_map
from eigenveil.report import write_report


def run(
    model: Path,
    *,
    out: Path,
    force: bool,
) -> None:
    """Run ``eigenveil report``."""
    loaded = load(model)
    scores = load_map(loaded, model)
    check_output_path(out, force=force, folder=False)
    write_report(loaded, out, command=load_command(model), scores=scores)
    say(f"report: {out}")
