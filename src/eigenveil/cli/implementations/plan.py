"""Implementation of ``eigenveil plan``: the expected accuracy, without reading data."""

from __future__ import annotations

import sys

from eigenveil.cli.console import print_json, usage_errors
from eigenveil.planner import plan


def run(
    *,
    d: int,
    k: int,
    n: int | None,
    epsilon: list[float] | None,
    delta: float,
    target: float | None,
    spectrum: str,
    spread: str,
    center: bool,
    scale: str,
    as_json: bool,
) -> None:
    """Run ``eigenveil plan``."""
    with usage_errors():
        found = plan(
            n,
            d,
            k,
            epsilon=_one_or_all(epsilon),
            delta=delta,
            target=target,
            spectrum=_spectrum(spectrum),
            spread=_spread(spread),
            center=center,
            scale=None if scale == "none" else scale,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(f"{found}\n")


def _one_or_all(epsilon: list[float] | None) -> float | list[float] | None:
    return epsilon[0] if epsilon and len(epsilon) == 1 else epsilon or None


def _spectrum(text: str) -> str | list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text  # the name of a preset; `plan` checks it


def _spread(text: str) -> str | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
