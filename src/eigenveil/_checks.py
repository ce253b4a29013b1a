"""Checks of public numbers that several packages take."""

from __future__ import annotations

import math

from eigenveil.errors import InvalidInputError


def positive(**values: float) -> None:
    """Refuse numbers that are not finite and above 0, by name.

    Examples
    --------
    >>> positive(n=10, epsilon=0.5)
    >>> positive(n=0)
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: n must be a finite number above 0, got 0.
    """
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise InvalidInputError(f"{name} must be a finite number above 0, got {value!r}.")


def whole(name: str, value: int, *, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def not_negative(**values: float) -> None:
    """Refuse numbers that are not finite and at least 0, by name."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise InvalidInputError(f"{name} must be a finite number of at least 0, got {value!r}.")
