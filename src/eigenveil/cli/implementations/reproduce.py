"""Implementation of ``eigenveil reproduce``: reproduce the paper's figures and check its claims."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from eigenveil import experiments
from eigenveil.cli.console import say, stderr_console
from eigenveil.experiments import FIGURES, Figure, Run, reproduce, write_claims
from eigenveil.experiments.runner import ProgressCallback

ALL, CLAIMS = "all", "claims"
QUICK_TRIALS = 3
_QUIET = 15.0
"""Seconds between progress lines if stderr is not a terminal."""


def run(
    figures: list[str],
    *,
    trials: int | None,
    quick: bool,
    redraw: bool,
    out: Path,
    seed: int,
    workers: int | None,
    cache: Path,
) -> None:
    """Run ``eigenveil reproduce``."""
    chosen = _chosen(figures)
    if redraw:
        for figure in chosen:
            say("  ".join(map(str, experiments.redraw(figure, out))))
    elif chosen:
        settings = Run(trials=trials or (QUICK_TRIALS if quick else Run.trials), seed=seed, quick=quick)
        say(f"seed {seed}: not private, for experiments only")
        with _progress_callback() as on_progress:
            made = reproduce(
                chosen,
                settings,
                out=out,
                cache=cache,
                workers=workers or os.cpu_count() or 1,
                on_progress=on_progress,
            )
        for paths in made.values():
            say("  ".join(map(str, paths)))
    if CLAIMS in figures:
        say(str(write_claims(out, out.parent / "claims.md")))


def _chosen(names: list[str]) -> list[Figure]:
    """Return the figures of these names, or all figures for 'all'."""
    unknown = [name for name in names if name not in (ALL, CLAIMS, *FIGURES)]
    if unknown:
        raise typer.BadParameter(
            f"there is no figure {unknown[0]!r}. Choose from: {', '.join((*FIGURES, ALL, CLAIMS))}.",
            param_hint="FIGURE",
        )
    return list(FIGURES.values()) if ALL in names else [FIGURES[name] for name in FIGURES if name in names]


@contextmanager
def _progress_callback() -> Iterator[ProgressCallback]:
    """Yield a progress callback: a bar on a terminal, otherwise an occasional line."""
    if not stderr_console().is_terminal:
        yield _print_lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("fits"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr_console(), transient=True) as bars:
        task = bars.add_task("starting", total=None)
        yield lambda done, total, what: bars.update(task, completed=done, total=total, description=what)


def _print_lines() -> ProgressCallback:
    """Return a callback that prints a line every few seconds."""
    spoke = time.monotonic()

    def on_progress(done: int, total: int, what: str) -> None:
        nonlocal spoke
        if done and time.monotonic() - spoke > _QUIET:
            spoke = time.monotonic()
            say(f"{done} of {total} fits; {what}")

    return on_progress
