"""Implementation of ``eigenveil audit``: attack the algorithms with a canary."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import typer

from eigenveil import audit
from eigenveil._atomic_files import written_whole
from eigenveil.cli.console import FAILED, print_json, say, usage_errors
from eigenveil.cli.fits_progress import fits_progress
from eigenveil.cli.options import AlgorithmName, Neighbours


def run(
    *,
    algorithm: list[AlgorithmName] | None,
    relation: list[Neighbours] | None,
    epsilon: list[float] | None,
    delta: float,
    trials: int,
    confidence: float,
    out: Path | None,
    cache: Path,
    workers: int | None,
    as_json: bool,
) -> None:
    """Run ``eigenveil audit``."""
    with usage_errors(), fits_progress() as on_progress:
        result = audit.run(
            [one.value for one in algorithm or AlgorithmName],
            relations=[one.value for one in relation or Neighbours],
            epsilons=epsilon or [1.0],
            delta=delta,
            trials=trials,
            confidence=confidence,
            workers=workers or os.cpu_count() or 1,
            cache=cache,
            on_progress=on_progress,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        sys.stdout.write(f"{result}\n")
    if out is not None:
        _write(result, out)
    say(_verdict(result, confidence))
    if result.violations:
        raise typer.Exit(FAILED)


def _write(result: audit.AuditResult, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with written_whole(out / "audit.json") as part:
        part.write_text(json.dumps(result.to_dict(), indent=2), encoding="utf-8")
    paths = [out / "audit.json", *(result.plot(out / f"audit.{kind}") for kind in ("svg", "png"))]
    say("  ".join(map(str, paths)))


def _verdict(result: audit.AuditResult, confidence: float) -> str:
    """Return what the bounds say, and what they do not."""
    if result.violations:
        names = ", ".join(f"{one.algorithm} ({one.relation}, {one.epsilon:g})" for one in result.violations)
        chance = min(len(result.findings) * (1 - confidence), 1.0)
        return (
            f"a violation of the claim at confidence {confidence:g}: {names}. If all claims are true, one of "
            f"{len(result.findings)} bounds exceeds its claim with probability at most {chance:.2g}."
        )
    blind = max(one.visible for one in result.findings)
    return (
        f"no bound exceeds its claim at confidence {confidence:g}. This proves nothing about better attacks. "
        f"Noise too small by a factor of {blind:.2f} would have been found in every line with probability 1/2."
    )
