"""Implementation of ``eigenveil reproduce``: reproduce the paper's figures and check its claims."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from eigenveil import experiments
from eigenveil.cli.console import say
from eigenveil.cli.fits_progress import fits_progress
from eigenveil.experiments import FIGURES, Figure, Run, reproduce, write_claims

ALL, CLAIMS = "all", "claims"
QUICK_TRIALS = 3


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
        with fits_progress() as on_progress:
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
