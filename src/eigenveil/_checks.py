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


def check_grid(grid: tuple[int, int], d: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of an image. Raise an error if its pixels are not `d` columns.

    Examples
    --------
    >>> check_grid((8, 8), 64)
    (8, 8)
    >>> check_grid((8, 8), 63)
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: a grid of 8 x 8 has 64 pixels, but the model has 63 columns.
    Hint: Give the numbers of rows and columns of the image; each pixel is one column of the model.
    """
    rows, columns = grid
    for name, value in (("rows of the grid", rows), ("columns of the grid", columns)):
        whole(name, value, least=1)
    if rows * columns != d:
        raise InvalidInputError(
            f"a grid of {rows} x {columns} has {rows * columns} pixels, but the model has {d} columns.",
            hint="Give the numbers of rows and columns of the image; each pixel is one column of the model.",
        )
    return rows, columns
