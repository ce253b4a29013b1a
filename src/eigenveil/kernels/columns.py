"""Columns that are read as rows: what files come in, and what loops over rows take as it is."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from eigenveil._typing import Rows
from eigenveil.kernels import loops


class Columns:
    """Columns of one length and one type, as rows of shape (n, d) that are formed only where they are asked for.

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
        """How large the rows are."""
        return len(self._where) * len(self._columns) * self.dtype.itemsize

    @property
    def addresses(self) -> npt.NDArray[np.uintp]:
        """Where the first row's entry of every column lies in memory.

        Asked of the columns every time, as a copy or what comes out of a pickle has columns of its own.
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
        """Rows that follow each other stay columns; any others are formed."""
        if not (isinstance(where, slice) and where.step in (None, 1)):
            chosen: npt.NDArray[Any] = np.asarray(self)[where]
            return chosen
        part = object.__new__(Columns)
        part.__dict__.update(self.__dict__, _where=self._where[where])
        return part

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:  # noqa: FBT001
        """The rows side by side, C-contiguous."""
        del copy  # there is no other way
        out = np.empty(self.shape, dtype=self.dtype)
        if loops.compiled():
            loops.interleave(self.addresses, out)
        else:
            for j, column in enumerate(self._columns):
                out[:, j] = column[self._where.start : self._where.stop]
        return out if dtype is None else out.astype(dtype, copy=False)


def as_taken(chunk: Rows | Columns) -> Rows | Columns:
    """Rows as the loops take them: columns of float32, and all where loops are not compiled, are formed."""
    formed = isinstance(chunk, Columns) and (chunk.dtype == np.float32 or not loops.compiled())
    return np.asarray(chunk) if formed else chunk


def places(chunk: Rows | Columns) -> tuple[Rows | None, npt.NDArray[np.uintp] | None]:
    """Where the rows of a chunk start, or each of its columns: as loops are told."""
    return (None, chunk.addresses) if isinstance(chunk, Columns) else (loops.contiguous(chunk)[0], None)


def placed(chunk: Rows | Columns) -> tuple[object, ...]:
    """The same, and whether they are float32."""
    return (*places(chunk), ctypes.c_int(chunk.dtype == np.float32))
