"""Implementation of ``eigenveil report``: write a saved model as one HTML file."""

from __future__ import annotations

from pathlib import Path

from eigenveil._checks import check_grid
from eigenveil._printable import printable
from eigenveil.cli.arguments import as_grid
from eigenveil.cli.console import say, usage_errors
from eigenveil.persistence import load
from eigenveil.persistence.outputs import check_output_path, check_report_path, load_command
from eigenveil.persistence.score_maps import load_map
from eigenveil.report import write_report


def run(
    model: Path,
    *,
    out: Path,
    grid: str | None,
    force: bool,
) -> None:
    """Run ``eigenveil report``."""
    with usage_errors():
        shape = as_grid(grid)
    loaded = load(model)
    if shape is not None:
        with usage_errors():
            check_grid(shape, loaded.n_features_in_)
    scores = load_map(loaded, model)
    check_output_path(out, force=force, folder=False)
    check_report_path(out)
    write_report(loaded, out, command=load_command(model), scores=scores, grid=shape)
    say(f"report: {printable(str(out))}")
