"""Options of ``eigenveil audit``: attack the algorithms with a canary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eigenveil.cli.console import runs_work_module
from eigenveil.cli.options import AlgorithmName, Neighbours

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil audit                                                # all algorithms, epsilon 1",
        "eigenveil audit --algorithm tracked --epsilon 4 --trials 3000",
        "eigenveil audit --epsilon .5 --epsilon 1 --epsilon 2 --epsilon 4 --out audit/",
        "eigenveil audit --confidence .99999 --trials 20000 --json      # a gate: no false alarms",
    ]
)


@runs_work_module
def command(
    *,
    algorithm: Annotated[
        list[AlgorithmName] | None, typer.Option(help="Algorithm to attack. May be repeated; by default all.")
    ] = None,
    relation: Annotated[
        list[Neighbours] | None, typer.Option(help="Neighbouring relation. May be repeated; by default both.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Claimed epsilon. May be repeated; by default 1.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Claimed delta.")] = 1e-6,
    trials: Annotated[
        int, typer.Option(min=40, help="Fits with the canary, and as many without, for each bound.")
    ] = 600,
    confidence: Annotated[
        float, typer.Option(help="Probability with which each bound holds. Use .99999 for a gate.")
    ] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.json, and the figure as SVG and PNG.")] = None,
    cache: Annotated[
        Path, typer.Option(help="Folder for what fits released; an interrupted audit resumes from it.")
    ] = Path(".audit_cache"),
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Attack the algorithms with a canary, and compare lower bounds on epsilon with the claims.

    Fits synthetic data many times with and without one unit, and measures how well all released numbers tell the
    two apart. Exit code 1 if a bound exceeds its claim. A bound below the claim proves nothing.
    """
