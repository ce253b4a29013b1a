"""Scales and bounds that are given for some columns, by name, glob or position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.rescaling import check_bounds, check_scale
from eigenveil.sources.columns import by_column


@dataclass(frozen=True, kw_only=True, eq=False)
class Scales:
    """What columns are divided by.

    Parameters
    ----------
    declared : array of shape (d,), optional
        Public scales; 1 for columns that have none.
    private : array of int
        Columns whose scales are bought.
    which : array of int, optional
        The columns whose scales are declared, where those are not all.
    """

    declared: FloatArray | None
    private: IntArray
    which: IntArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Bounds:
    """Public bounds of columns.

    Parameters
    ----------
    middle, half : array of shape (d,)
        Their middle, and half their width: 0 and infinite for columns without bounds.
    which : array of int, optional
        The columns whose bounds were declared, where those are not all.
    """

    middle: FloatArray
    half: FloatArray
    which: IntArray | None = None

    def with_flags(self, flags: IntArray) -> Bounds:
        """The same with bounds 0 and 1 for some columns."""
        middle, half = self.middle.copy(), self.half.copy()
        middle[flags] = half[flags] = 0.5
        return replace(self, middle=middle, half=half)


def no_bounds(d: int) -> Bounds:
    """Those of d columns that have none."""
    return Bounds(middle=np.zeros(d), half=np.full(d, np.inf), which=np.zeros(0, dtype=np.int64))


def read_scales(scale: Any, d: int, names: Sequence[str] | None) -> Scales:
    """The scales of d columns, from what a user gave.

    Examples
    --------
    >>> found = read_scales({"lab_*": "private", "age": 10.0}, 3, ["age", "lab_a", "flag"])
    >>> found.declared.tolist(), found.private.tolist(), found.which.tolist()
    ([10.0, 1.0, 1.0], [1], [0])
    """
    none, everything = np.zeros(0, dtype=np.int64), np.arange(d)
    if scale is None:
        return Scales(declared=None, private=none)
    if isinstance(scale, str):
        return Scales(declared=None, private=everything)
    if not isinstance(scale, Mapping):
        return Scales(declared=check_scale(scale, d), private=none)
    values = by_column(names, d, scale, what="scale")
    private = [isinstance(value, str) and value == "private" for value in values]
    given = [value is not None and not bought for value, bought in zip(values, private, strict=True)]
    numbers = [value if yes else 1.0 for value, yes in zip(values, given, strict=True)]
    if not all(_is_number(value) for value in numbers):
        raise InvalidInputError(
            "scale must give 'private' or a number above 0 for every column that it names.",
            hint="For example scale={'lab_*': 'private', 'age': 10.0}.",
        )
    return Scales(
        declared=check_scale(np.array(numbers, dtype=np.float64), d) if any(given) else None,
        private=np.flatnonzero(private),
        which=np.flatnonzero(given),
    )


def read_bounds(bounds: Any, d: int, names: Sequence[str] | None) -> Bounds | None:
    """The bounds of d columns, from what a user gave.

    Examples
    --------
    >>> found = read_bounds({"age": (0, 110)}, 2, ["age", "income"])
    >>> found.middle.tolist(), found.half.tolist()
    ([55.0, 0.0], [55.0, inf])
    """
    if bounds is None:
        return None
    if not isinstance(bounds, Mapping):
        middle, half = check_bounds(bounds, d)
        return Bounds(middle=middle, half=half)
    pairs = by_column(names, d, bounds, what="bounds")
    which = [j for j, pair in enumerate(pairs) if pair is not None]
    none = no_bounds(d)
    middle, half = none.middle, none.half
    for j in which:
        if np.shape(pairs[j]) != (2,):
            raise InvalidInputError(
                "bounds must give a pair (low, high) for every column that it names.",
                hint="For example bounds={'age': (0, 110), 'flag': (0, 1)}.",
            )
        middle[j : j + 1], half[j : j + 1] = check_bounds(tuple(pairs[j]), 1)
    return Bounds(middle=middle, half=half, which=np.array(which, dtype=np.int64))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
