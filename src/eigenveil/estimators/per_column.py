"""Scales and bounds declared per column, by name, glob or position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import to_single
from eigenveil.sources.columns import by_column


@dataclass(frozen=True, kw_only=True, eq=False)
class Scales:
    """Scales of the columns: declared, bought, or none.

    Parameters
    ----------
    declared : array of shape (d,), optional
        Public scales; 1 for columns without one.
    private : array of int
        Columns whose scales are bought.
    which : array of int, optional
        The columns with declared scales, if not all columns have one.
    """

    declared: FloatArray | None
    private: IntArray
    which: IntArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnBounds:
    """Public bounds of columns.

    Parameters
    ----------
    middle, half : array of shape (d,)
        Midpoints and half widths of the bounds: 0 and infinity for columns without bounds.
    which : array of int, optional
        The columns with declared bounds, if not all columns have them.
    """

    middle: FloatArray
    half: FloatArray
    which: IntArray | None = None

    def with_flags(self, flags: IntArray) -> ColumnBounds:
        """Return a copy with bounds 0 and 1 for the given columns."""
        middle, half = self.middle.copy(), self.half.copy()
        middle[flags] = half[flags] = 0.5
        return replace(self, middle=middle, half=half)


def no_bounds(d: int) -> ColumnBounds:
    """Return the bounds of d columns without any."""
    return ColumnBounds(middle=np.zeros(d), half=np.full(d, np.inf), which=np.zeros(0, dtype=np.int64))


def read_scales(scale: Any, d: int, names: Sequence[str] | None) -> Scales:
    """Read the `scale` parameter for d columns.

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
            "scale must map each column to 'private' or to a number above 0.",
            hint="For example scale={'lab_*': 'private', 'age': 10.0}.",
        )
    return Scales(
        declared=check_scale(np.array(numbers, dtype=np.float64), d) if any(given) else None,
        private=np.flatnonzero(private),
        which=np.flatnonzero(given),
    )


def read_bounds(bounds: Any, d: int, names: Sequence[str] | None) -> ColumnBounds | None:
    """Read the `bounds` parameter for d columns.

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
        return ColumnBounds(middle=middle, half=half)
    pairs = by_column(names, d, bounds, what="bounds")
    which = [j for j, pair in enumerate(pairs) if pair is not None]
    none = no_bounds(d)
    middle, half = none.middle, none.half
    for j in which:
        if np.shape(pairs[j]) != (2,):
            raise InvalidInputError(
                "bounds must map each column to a pair (low, high).",
                hint="For example bounds={'age': (0, 110), 'flag': (0, 1)}.",
            )
        middle[j : j + 1], half[j : j + 1] = check_bounds(tuple(pairs[j]), 1)
    return ColumnBounds(middle=middle, half=half, which=np.array(which, dtype=np.int64))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


# -- checks of declared numbers ------------------------------------------------------------------------


def check_scale(scale: Any, d: int) -> FloatArray:
    """Return the scales as an array of d finite positive numbers, or raise."""
    return _numbers("scale", scale, d, positive=True)


def check_mean(mean: Any, d: int) -> FloatArray:
    """Return a public mean as an array of d finite numbers, or raise."""
    return _numbers("center", mean, d, positive=False)


def check_bounds(bounds: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """Return midpoints and half widths of public bounds (low, high), each a number or one per column.

    Examples
    --------
    >>> check_bounds((0, [10, 4]), 2)
    (array([5., 2.]), array([5., 2.]))
    """
    if not (isinstance(bounds, tuple | list | np.ndarray) and len(bounds) == 2):
        raise InvalidInputError(
            f"bounds must be a pair (low, high), got {type(bounds).__name__}.",
            hint="bounds=(0, 255), or a pair of arrays with one number per column.",
        )
    low, high = (
        _numbers("bounds", np.broadcast_to(one, d) if np.ndim(one) == 0 else one, d, positive=False)
        for one in bounds
    )
    if not np.all(low < high):
        raise InvalidInputError("bounds must have low below high in every column.")
    middle = np.asarray(to_single((low + high) / 2), dtype=np.float64)
    return middle, np.maximum(high - middle, middle - low)


def _numbers(name: str, values: Any, d: int, *, positive: bool) -> FloatArray:
    wanted = f"{d} finite numbers{' above 0' if positive else ''}, one per column"
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.shape != (d,):
        raise InvalidInputError(
            f"{name} must hold {wanted}, got an array of dtype {array.dtype} and shape {array.shape}."
        )
    out: FloatArray = array.astype(np.float64)
    with np.errstate(over="ignore"):
        single = out.astype(np.float32)
    if not np.all(np.isfinite(single)) or (positive and not np.all(single > 0)):
        raise InvalidInputError(f"{name} must hold {wanted}, but some are not (in single precision).")
    return out
