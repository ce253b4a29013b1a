"""Numpy arrays, memory maps, masked arrays and lists of rows."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import refuse_named_unit
from eigenveil.sources.guard import is_missing
from eigenveil.sources.layout import Layout

_HEAD = 2000
"""Number of first rows that decide whether a column of objects holds numbers."""


def accepts(data: Any) -> bool:
    """Return whether the data are an array, or a list of rows given as lists."""
    if isinstance(data, (list, tuple)) and len(data) > 0:
        return isinstance(data[0], (list, tuple, int, float, np.generic)) or getattr(data[0], "ndim", None) == 1
    return isinstance(data, np.ndarray)


def hold(data: Any, *, layout: Layout, units: Any) -> ArrayRows:
    """Return the selected columns of a 2-D array."""
    array = numbers_of(data if isinstance(data, np.ndarray) else from_lists(data))
    check_matrix("array", array.dtype, array.shape)
    refuse_named_unit(units)
    return ArrayRows(array, layout.by_positions(array.shape[1]))


def check_matrix(what: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse data that are not a matrix of real numbers."""
    if dtype.kind not in "fiub":
        raise InvalidInputError(
            f"expected an {what} of real numbers, got dtype {dtype}.",
            hint="Convert to float64; text, dates and complex numbers are not supported.",
        )
    if len(shape) != 2:
        raise InvalidInputError(
            f"expected a 2-D {what} (rows, columns), got {len(shape)}-D of shape {shape}.",
            hint="One row per observation: reshape(-1, 1) for one column, reshape(1, -1) for one row.",
        )
    if not 0 <= shape[1] < 2**31:
        raise InvalidInputError(f"expected an {what} of fewer than 2^31 columns, got {shape[1]}.")


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of the rows of a block: float32 stays float32, other types become float64."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


@dataclass(frozen=True, repr=False, eq=False)
class ArrayRows:
    """Rows of a 2-D array, which are converted to C-contiguous floats block by block if necessary."""

    sparse: ClassVar[bool] = False

    array: npt.NDArray[Any]
    layout: Layout

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1]) if self.layout.columns is None else len(self.layout.columns)

    @property
    def columns(self) -> None:
        """None: arrays have no names of columns."""

    @property
    def row_bytes(self) -> float:
        """Size of a row as floats, in bytes."""
        return self.n_columns * float_type(self.array.dtype).itemsize

    def between(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return rows start to stop, as a view if the array allows it."""
        return self._floats(self.array[start:stop])

    def at(self, index: IntArray) -> npt.NDArray[Any]:
        """Return the rows at these positions."""
        return self._floats(self.array[index])

    def ids(self, units: Any) -> Any:
        """Return the ids that were passed in."""
        return units

    def _floats(self, part: npt.NDArray[Any]) -> npt.NDArray[Any]:
        dtype = float_type(part.dtype)
        chosen, fills = self.layout.positions, self.layout.fills(self.array.shape[1])
        taken = part if chosen is None else part[:, chosen]
        with np.errstate(over="ignore", invalid="ignore"):  # a warning would reveal something about the values
            plain = np.ascontiguousarray(filled(taken), dtype=dtype).view(np.ndarray)
            return plain if fills is None else np.where(np.isnan(plain), fills.astype(dtype), plain)


def from_lists(rows: Sequence[Any]) -> npt.NDArray[np.float64]:
    """Convert a list of rows to an array of float64, each entry by itself, whatever the types of others."""
    if not any(isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) for row in rows):
        return np.empty(len(rows))  # a list of numbers, which has the shape of an array with one axis
    ragged = InvalidInputError(
        f"expected rows of numbers of equal length, got a list of {len(rows)} rows that do not form a matrix.",
        hint="Fill missing numbers with nan so that all rows have the same length.",
    )
    alike = all(isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) == 1 for row in rows)
    widths = {len(row) for row in rows} if alike else set()
    if len(widths) != 1:
        raise ragged
    array = np.empty((len(rows), *widths))
    for start in range(0, len(rows), _HEAD):
        part = rows[start : start + _HEAD]
        entries = np.fromiter(chain.from_iterable(part), dtype=object, count=len(part) * array.shape[1])
        array[start : start + _HEAD] = _read(entries.reshape(-1, array.shape[1]), head=start == 0)
    return array


def numbers_of(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert a matrix of objects to numbers, entry by entry; entries that are not numbers become nan.

    The matrix is refused unless most of the first entries of every column, missing ones excluded, are numbers.
    """
    return _read(np.ma.filled(array, None), head=True) if array.dtype.kind == "O" and array.ndim == 2 else array


def entries_of(objects: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Convert objects to numbers, each by itself: as `float` does, or to nan.

    numpy converts numbers of common types as `float` does, but other objects, such as durations, differently.
    """
    flat = objects.ravel()
    plain = np.fromiter((type(one) in _PLAIN for one in flat), dtype=bool, count=flat.size)
    out = np.empty(flat.size)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning would reveal something about the values
        try:
            out[plain] = flat[plain].astype(np.float64)
        except OverflowError:  # a whole number beyond the range of floats
            plain[:] = False
        out[~plain] = [_number(one) for one in flat[~plain]]
    return out.reshape(objects.shape)


def numbers_in(values: Any) -> npt.NDArray[Any]:
    """Convert an array, or lists of any depth, to floats, each entry by itself; missing entries become nan.

    Lists become float64. Masked entries, and objects that are not numbers, are missing.
    """
    if isinstance(values, list | tuple):
        if not any(isinstance(one, list | tuple) or getattr(one, "ndim", 0) for one in values):
            return entries_of(np.fromiter(values, dtype=object, count=len(values)))
        parts = [numbers_in(one) for one in values]
        if len({part.shape for part in parts}) != 1:
            raise InvalidInputError(f"expected a list of arrays of one shape, got {len(parts)} of several shapes.")
        return np.stack(parts).astype(np.float64, copy=False)
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.dtype.kind == "O":
        return entries_of(np.ma.filled(array, None))
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"expected an array of real numbers, got dtype {array.dtype}.")
    with np.errstate(over="ignore", invalid="ignore"):  # a warning would reveal something about the values
        return filled(array).astype(float_type(array.dtype), copy=False)


def filled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of numbers with nan for masked entries."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    with np.errstate(over="ignore", invalid="ignore"):  # a warning would reveal something about the values
        return np.asarray(np.ma.filled(array.astype(float_type(array.dtype)), np.nan))


_PLAIN = frozenset({float, int, bool, type(None), np.float64, np.float32, np.int64, np.int32, np.bool_})
"""Types of which numpy converts an entry to float64 as `float` does; None becomes nan."""


def _read(objects: npt.NDArray[Any], *, head: bool) -> npt.NDArray[np.float64]:
    numbers = entries_of(objects)
    for place in range(objects.shape[1]) if head else ():
        there = sum(not is_missing(one) for one in objects[:_HEAD, place])
        if there and 2 * np.count_nonzero(~np.isnan(numbers[:_HEAD, place])) <= there:
            raise InvalidInputError(
                f"expected numbers, got text or other objects in most of column {place}.",
                hint="Encode text and categories as numbers, or select other columns.",
            )
    return numbers


def _number(entry: Any) -> float:
    """Convert an entry to a float, or to nan if it is not a real number; an object may raise anything."""
    if isinstance(entry, np.complexfloating):  # of which numpy would take the real part
        return float("nan")
    with contextlib.suppress(Exception):
        return float(entry)
    return float("nan")
