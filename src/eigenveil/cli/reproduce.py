"""``eigenveil reproduce``: the paper's figures again, and what became of its claims."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from eigenveil.cli.speaking import ending_well, say, words
from eigenveil.experiments import FIGURES, Figure, Run, reproduce, write_claims
from eigenveil.experiments.runner import Heard

EXAMPLES = "\n\n".join(  # noqa: FLY002
    [
        "Examples:",
        "eigenveil reproduce all --quick --out /tmp/figures   # does it all work?",
        "eigenveil reproduce spiked-d                         # one figure, 50 trials",
        "eigenveil reproduce all                              # all of them; goes on where it was interrupted",
        "eigenveil reproduce claims                           # docs/claims.md, from the tables",
    ]
)
ALL, CLAIMS = "all", "claims"
QUICK_TRIALS = 3
_QUIET = 15.0
"""Seconds between lines where there is no terminal to draw on."""


@ending_well
def command(
    figures: Annotated[list[str], typer.Argument(metavar="FIGURE", help="Names of figures, 'all', or 'claims'.")],
    *,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Data sets per point: 50, as in the paper; 3 with --quick.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few small points, to see that all works.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for tables and pictures.")] = Path("docs/figures"),
    seed: Annotated[int, typer.Option(help="All data and all noise follow from it.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
    cache: Annotated[
        Path, typer.Option(help="Folder for results of single fits; a run that was interrupted goes on from it.")
    ] = Path(".reproduce_cache"),
) -> None:
    """Make the paper's figures again: tables as CSV, pictures as SVG and PNG.

    Data are synthetic and every fit is seeded, so that a table can be made again to the last digit: for
    experiments only, nothing here is private. 'claims' writes claims.md beside the folder of tables, from these
    alone.
    """
    chosen = _chosen(figures)
    if chosen:
        run = Run(trials=trials or (QUICK_TRIALS if quick else Run.trials), seed=seed, quick=quick)
        say(f"seed {seed}: not private, for experiments only")
        with _shown() as heard:
            made = reproduce(
                chosen, run, out=out, cache=cache, workers=workers or os.cpu_count() or 1, heard=heard
            )
        for paths in made.values():
            say("  ".join(map(str, paths)))
    if CLAIMS in figures:
        say(str(write_claims(out, out.parent / "claims.md")))


def _chosen(names: list[str]) -> list[Figure]:
    """The figures of these names; all of them for 'all'."""
    unknown = [name for name in names if name not in (ALL, CLAIMS, *FIGURES)]
    if unknown:
        raise typer.BadParameter(
            f"there is no figure {unknown[0]!r}. Known are: {', '.join((*FIGURES, ALL, CLAIMS))}.",
            param_hint="FIGURE",
        )
    return list(FIGURES.values()) if ALL in names else [FIGURES[name] for name in FIGURES if name in names]


@contextmanager
def _shown() -> Iterator[Heard]:
    """What hears of progress: a bar where there is a terminal, a line now and then where there is none."""
    if not words().is_terminal:
        yield _lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("fits"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=words(), transient=True) as bars:
        task = bars.add_task("looking", total=None)
        yield lambda done, total, what: bars.update(task, completed=done, total=total, description=what)


def _lines() -> Heard:
    spoke = time.monotonic()

    def heard(done: int, total: int, what: str) -> None:
        nonlocal spoke
        if done and time.monotonic() - spoke > _QUIET:
            spoke = time.monotonic()
            say(f"{done} of {total} fits; {what}")

    return heard
