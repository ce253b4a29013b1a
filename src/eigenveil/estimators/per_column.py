"""Scales and bounds declared per column, by name, glob or position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.algorithms.frame import ColumnBounds
from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import by_column

_NONE: IntArray = np.zeros(0, dtype=np.int64)


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
    flags : array of int
        Columns of 0 and 1 that keep scale 1 although scales are bought, because they are not named.
    named : sequence of str
        Labels of the columns in `which`.
    """

    declared: FloatArray | None
    private: IntArray
    which: IntArray | None = None
    flags: IntArray = field(default_factory=lambda: _NONE)
    named: Sequence[str] = ()


def read_scales(scale: Any, d: int, names: Sequence[str] | None, flags: Sequence[int] = ()) -> Scales:
    """Read the `scale` parameter for d columns, of which `flags` hold only 0 and 1 by type or encoding.

    Examples
    --------
    >>> found = read_scales({"lab_*": "private", "age": 10.0}, 3, ["age", "lab_a", "flag"])
    >>> found.declared.tolist(), found.private.tolist(), found.which.tolist()
    ([10.0, 1.0, 1.0], [1], [0])
    """
    if scale is None:
        return Scales(declared=None, private=_NONE)
    if isinstance(scale, str):
        unscaled = np.array(flags, dtype=np.int64)
        return Scales(declared=None, private=np.setdiff1d(np.arange(d), unscaled), flags=unscaled)
    if not isinstance(scale, Mapping):
        return Scales(declared=check_scale(scale, d), private=_NONE)
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
        named=[str(j) if names is None else repr(names[j]) for j, yes in enumerate(given) if yes],
    )


def read_bounds(bounds: Any, d: int, names: Sequence[str] | None) -> tuple[ColumnBounds | None, IntArray | None]:
    """Read the `bounds` parameter for d columns. Also return the columns that have bounds, if not all of them do.

    Examples
    --------
    >>> found, which = read_bounds({"age": (0, 110)}, 2, ["age", "income"])
    >>> found.low.tolist(), found.high.tolist(), which.tolist()
    ([0.0, -inf], [110.0, inf], [0])
    """
    if bounds is None:
        return None, None
    if not isinstance(bounds, Mapping):
        return check_bounds(bounds, d), None
    pairs = by_column(names, d, bounds, what="bounds")
    which = [j for j, pair in enumerate(pairs) if pair is not None]
    found = ColumnBounds.none(d)
    for j in which:
        if np.shape(pairs[j]) != (2,):
            raise InvalidInputError(
                "bounds must map each column to a pair (low, high).",
                hint="For example bounds={'age': (0, 110), 'flag': (0, 1)}.",
            )
        own = check_bounds(tuple(pairs[j]), 1)
        found.low[j], found.high[j] = own.low[0], own.high[0]
    return found, np.array(which, dtype=np.int64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


# -- checks of declared numbers ------------------------------------------------------------------------


def check_scale(scale: Any, d: int) -> FloatArray:
    """Return the scales as an array of d finite positive numbers, or raise."""
    return _numbers("scale", scale, d, positive=True)


def check_mean(mean: Any, d: int) -> FloatArray:
    """Return a public mean as an array of d finite numbers, or raise."""
    return _numbers("center", mean, d, positive=False)


def check_bounds(bounds: Any, d: int) -> ColumnBounds:
    """Return the bounds of d columns, or raise unless low is below high everywhere.

    Examples
    --------
    >>> check_bounds((0, [10, 4]), 2).high
    array([10.,  4.])
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
    return ColumnBounds(low=low, high=high)


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
