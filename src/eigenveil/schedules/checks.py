"""Validation of the public numbers of schedules."""

from __future__ import annotations

import math

from eigenveil.errors import InvalidInputError


def step_number(t: int) -> None:
    """Raise if t is below 1."""
    if not t >= 1:
        raise InvalidInputError(f"steps are counted from 1, got t = {t!r}.")


def sample_count(n: int, *, at_least: int = 1) -> None:
    """Raise unless n is a whole number of at least `at_least`."""
    if not (math.isfinite(n) and n >= at_least and n == int(n)):
        raise InvalidInputError(f"n must be a whole number of at least {at_least}, got {n!r}.")
