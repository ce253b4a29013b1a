"""Checks of public numbers, for arguments of several packages."""

from __future__ import annotations

import math

from eigenveil.errors import InvalidInputError


def positive(**values: float) -> None:
    """Raise an error for a number that is not finite or not above 0.

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
    """Raise an error for a value that is not an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def not_negative(**values: float) -> None:
    """Raise an error for a number that is not finite or is below 0."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise InvalidInputError(f"{name} must be a finite number of at least 0, got {value!r}.")
