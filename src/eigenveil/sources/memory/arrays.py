"""Numpy arrays, memory maps, masked arrays and lists of rows."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import refuse_named_unit
from eigenveil.sources.guard import attempt, is_missing
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
            if isinstance(taken, np.ma.MaskedArray):
                taken = np.ma.filled(taken.astype(dtype), np.nan)
            plain = np.ascontiguousarray(taken, dtype=dtype).view(np.ndarray)
            return plain if fills is None else np.where(np.isnan(plain), fills.astype(dtype), plain)


def from_lists(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Convert a list of rows to an array; numbers become float64, whatever the type of any one of them."""
    ragged = InvalidInputError(
        f"expected rows of numbers of equal length, got a list of {len(rows)} rows that do not form a matrix.",
        hint="Fill missing numbers with nan so that all rows have the same length.",
    )
    with contextlib.suppress(TypeError):  # dates among numbers
        array = attempt(lambda: np.asarray(rows), ragged, ValueError)
        if array.dtype.kind in "fiub":
            return array.astype(np.float64)
    return attempt(lambda: np.asarray(rows, dtype=object), ragged, ValueError)


def numbers_of(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert an array of objects to numbers, entry by entry; entries that are not numbers become nan.

    The matrix is refused unless most of the first entries of every column, missing ones excluded, are numbers.
    """
    if array.dtype.kind != "O" or array.ndim != 2:
        return array
    plain = np.ma.filled(array, None)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning would reveal something about the values
        _refuse_text(plain[:_HEAD])
        with contextlib.suppress(Exception):
            return plain.astype(np.float64)
        return np.array([[_number(entry) for entry in row] for row in plain], np.float64).reshape(plain.shape)


def _refuse_text(head: npt.NDArray[Any]) -> None:
    for place, column in enumerate(head.T):
        there = [entry for entry in column if not is_missing(entry)]
        numbers = sum(not np.isnan(_number(entry)) for entry in there)
        if there and 2 * numbers <= len(there):
            raise InvalidInputError(
                f"expected numbers, got text or other objects in most of column {place}.",
                hint="Encode text and categories as numbers, or select other columns.",
            )


def _number(entry: Any) -> float:
    """Convert an entry to a float, or to nan if it is not a number; converting an object may raise anything."""
    with contextlib.suppress(Exception):
        return float(entry)
    return float("nan")
