"""Columns that are read as rows, and rows that are to be rescaled, which loops accept without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray, Rows
from eigenveil.kernels import loops


class Columns:
    """Columns of one length and one type, used as rows of shape (n, d) that are formed only when needed.

    Examples
    --------
    >>> block = Columns([np.array([1.0, 2.0, 5.0]), np.array([3.0, 4.0, 6.0])])
    >>> block.shape, np.asarray(block[1:]).tolist()
    ((3, 2), [[2.0, 4.0], [5.0, 6.0]])
    """

    ndim = 2

    def __init__(self, columns: Sequence[npt.NDArray[Any]]) -> None:
        self._columns = tuple(np.ascontiguousarray(column) for column in columns)
        self._where = range(self._columns[0].size)
        self.dtype: np.dtype[Any] = self._columns[0].dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self._where), len(self._columns)

    @property
    def nbytes(self) -> int:
        """Size of the rows in bytes."""
        return len(self._where) * len(self._columns) * self.dtype.itemsize

    @property
    def addresses(self) -> npt.NDArray[np.uintp]:
        """Memory address of the first row's entry in every column.

        It is computed on every access, because a copy or an unpickled object has columns at other addresses.
        """
        starts = np.array([column.ctypes.data for column in self._columns], dtype=np.uintp)
        return starts + np.uintp(self._where.start * self.dtype.itemsize)

    def __len__(self) -> int:
        return len(self._where)

    @overload
    def __getitem__(self, where: slice) -> Columns: ...

    @overload
    def __getitem__(self, where: npt.NDArray[Any]) -> npt.NDArray[Any]: ...

    def __getitem__(self, where: slice | npt.NDArray[Any]) -> Columns | npt.NDArray[Any]:
        """Return some rows. Consecutive rows stay columns; other selections are formed."""
        if not (isinstance(where, slice) and where.step in (None, 1)):
            if not (isinstance(where, np.ndarray) and where.dtype == np.bool_ and where.shape == (len(self),)):
                chosen: npt.NDArray[Any] = np.asarray(self)[where]
                return chosen
            rows = self._where.start + np.flatnonzero(where)  # a small sample reads only its own rows
            return np.asarray(Columns([column[rows] for column in self._columns]))
        part = object.__new__(Columns)
        part.__dict__.update(self.__dict__, _where=self._where[where])
        return part

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:  # noqa: FBT001
        """Return the rows as a C-contiguous array."""
        del copy  # the rows are always copied
        out = np.empty(self.shape, dtype=self.dtype)
        if loops.compiled():
            loops.interleave(self.addresses, out)
        else:
            for j, column in enumerate(self._columns):
                out[:, j] = column[self._where.start : self._where.stop]
        return out if dtype is None else out.astype(dtype, copy=False)


class Rescaled:
    """Rows with every column multiplied by a factor. The products are formed when they are needed.

    Products of float32 are computed in float64 and rounded to float32. A product is a function of the number and
    the factor, to the bit.

    Examples
    --------
    >>> block = Rescaled(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.5]))
    >>> block.shape, np.asarray(block[1:]).tolist()
    ((2, 2), [[3.0, 2.0]])
    """

    ndim = 2

    def __init__(self, rows: Rows | Columns, factors: FloatArray) -> None:
        self.rows, self.factors = rows, np.ascontiguousarray(factors, dtype=np.float64)
        self.shape, self.dtype = rows.shape, rows.dtype

    @property
    def nbytes(self) -> int:
        """Size of the rows in bytes."""
        return self.rows.nbytes

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, where: slice | npt.NDArray[Any]) -> Rescaled: ...

    @overload
    def __getitem__(self, where: Any) -> Any: ...

    def __getitem__(self, where: Any) -> Any:
        """Return some rows. Other selections are formed."""
        some = isinstance(where, slice | np.ndarray)
        return Rescaled(self.rows[where], self.factors) if some else np.asarray(self)[where]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:  # noqa: FBT001
        """Return the products as a C-contiguous array."""
        del copy  # the rows are always copied
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # a warning would depend on the values
            out = np.ascontiguousarray(np.asarray(self.rows) * self.factors)
            return out.astype(self.dtype, copy=False).astype(dtype or self.dtype, copy=False)


AnyRows: TypeAlias = "Rows | Columns | Rescaled"
"""Rows in a form that loops accept."""


def as_taken(chunk: AnyRows) -> AnyRows:
    """Return rows in the form that loops accept.

    Columns of float32 are formed into rows. If loops are not compiled, all rows are formed.
    """
    formed = isinstance(_apart(chunk)[0], Columns) and chunk.dtype == np.float32
    return np.asarray(chunk) if formed or not loops.compiled() else chunk


def _apart(chunk: AnyRows) -> tuple[Rows | Columns, FloatArray | None]:
    """Return rows, and the factors by which they are to be multiplied."""
    return (chunk.rows, chunk.factors) if isinstance(chunk, Rescaled) else (chunk, None)


def places(chunk: AnyRows) -> tuple[Rows | None, npt.NDArray[np.uintp] | None, FloatArray | None]:
    """Return the rows of a chunk, or the addresses of its columns, and the factors, as arguments for the loops."""
    rows, factors = _apart(chunk)
    if isinstance(rows, Columns):
        return None, rows.addresses, factors
    return loops.contiguous(rows)[0], None, factors


def placed(chunk: AnyRows) -> tuple[object, ...]:
    """Return `places`, with whether the numbers are float32."""
    rows, addresses, factors = places(chunk)
    return rows, addresses, ctypes.c_int(chunk.dtype == np.float32), factors
