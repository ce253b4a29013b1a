"""Columns that are read as rows: the layout of files, which loops over rows accept without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from eigenveil._typing import Rows
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
            chosen: npt.NDArray[Any] = np.asarray(self)[where]
            return chosen
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


def as_taken(chunk: Rows | Columns) -> Rows | Columns:
    """Return rows in the form that loops accept.

    Columns of float32 are formed into rows, and so are all columns if loops are not compiled.
    """
    formed = isinstance(chunk, Columns) and (chunk.dtype == np.float32 or not loops.compiled())
    return np.asarray(chunk) if formed else chunk


def places(chunk: Rows | Columns) -> tuple[Rows | None, npt.NDArray[np.uintp] | None]:
    """Return the rows of a chunk, or the addresses of its columns, as arguments for the loops."""
    return (None, chunk.addresses) if isinstance(chunk, Columns) else (loops.contiguous(chunk)[0], None)


def placed(chunk: Rows | Columns) -> tuple[object, ...]:
    """Return `places`, and whether the numbers are float32."""
    return (*places(chunk), ctypes.c_int(chunk.dtype == np.float32))
