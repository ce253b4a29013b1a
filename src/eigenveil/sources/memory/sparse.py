"""Scipy sparse matrices and arrays of any format."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import coo_array, csr_array

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import refuse_named_unit
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.arrays import check_matrix, entries_of, float_type

Csr = Any  # csr_array or csr_matrix: same attributes, different type stubs


def accepts(data: Any) -> bool:
    """Return whether the data are a scipy sparse matrix or array."""
    return bool(sparse.issparse(data))


def hold(data: Any, *, layout: Layout, units: Any) -> SparseRows:
    """Return the selected columns of a sparse matrix; formats other than CSR are converted once."""
    check_matrix("sparse array", np.dtype(np.float64) if data.dtype.kind == "O" else data.dtype, data.shape)
    refuse_named_unit(units)
    return SparseRows(to_csr(data), layout.by_positions(data.shape[1]))


def to_csr(data: Any) -> Csr:
    """Return a 2-D sparse matrix as CSR; refuse indices that scipy's loops in C, which check none, would follow.

    A CSR matrix may have column indices outside its shape: each makes its own row invalid when that row is read.
    In other formats no single row can be excluded. Objects become numbers, each by itself.
    """
    broken = InvalidInputError(
        f"expected a {data.format} matrix with indices inside its shape {data.shape} and one value per index.",
        hint="Rebuild it from rows, columns and values: scipy.sparse.coo_array((values, (rows, columns))).",
    )
    if data.format == "csr" and not _in_order(
        data, data.shape[0], len(data.data)
    ):  # no row has a place of its own
        raise InvalidInputError(
            "expected a csr matrix whose indptr starts at 0, never decreases and ends with its entries.",
            hint="Rebuild it from rows, columns and values: scipy.sparse.coo_array((values, (rows, columns))).",
        )
    if data.format == "csr" and data.dtype.kind != "O":
        return data
    with np.errstate(over="ignore", invalid="ignore"):  # a warning would reveal something about the values
        return attempt(lambda: _converted(data), broken, Exception)


def _converted(data: Any) -> Csr:
    """Return the matrix as CSR; raise any exception if it is damaged."""
    dtype = float_type(data.dtype)
    if data.format in ("lil", "dok"):
        data = _entries_as_coo(data)
    elif not _CHECKS[data.format](data):
        raise IndexError
    if data.dtype.kind == "O":
        data = copy(data)  # shallow
        data.data = entries_of(data.data)
    return data.astype(dtype).tocsr()


def _entries_as_coo(data: Any) -> Any:
    """Return a matrix of lists, or a mapping from places, as COO; its constructor checks the places."""
    if data.format == "lil":
        lengths = [len(columns) for columns in data.rows]
        if lengths != [len(values) for values in data.data]:
            raise IndexError
        rows, found = np.repeat(np.arange(len(lengths)), lengths), list(chain.from_iterable(data.data))
        columns = np.fromiter(chain.from_iterable(data.rows), dtype=np.int64, count=len(found))
    else:
        found = list(data.values())
        rows, columns = np.array(list(data.keys()), dtype=np.int64).reshape(-1, 2).T
    values = entries_of(np.fromiter(found, dtype=object, count=len(found)))
    return coo_array((values.astype(float_type(data.dtype)), (rows, columns)), shape=data.shape)


@dataclass(frozen=True, repr=False, eq=False)
class SparseRows:
    """Rows of a CSR matrix, converted to floats with sorted and unique indices block by block."""

    matrix: Csr
    layout: Layout

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1]) if self.layout.columns is None else len(self.layout.columns)

    @property
    def columns(self) -> None:
        """None: sparse matrices have no names of columns."""

    @property
    def row_bytes(self) -> float:
        """Average size of a row with its indices, in bytes."""
        entry = float_type(self.matrix.dtype).itemsize + self.matrix.indices.itemsize
        return float(8 + entry * self.matrix.nnz / max(1, self.n_rows))

    @property
    def sparse(self) -> bool:
        """True: rows stay sparse."""
        return True

    def between(self, start: int, stop: int) -> csr_array[Any, Any]:
        """Return rows start to stop; entries are not copied unless they must be converted."""
        pointer = self.matrix.indptr[start : stop + 1]
        entries = slice(int(pointer[0]), int(pointer[-1]))
        parts = (self.matrix.data[entries], self.matrix.indices[entries], pointer - pointer[0])
        return self._floats(csr_array(parts, shape=(stop - start, self.matrix.shape[1])))

    def at(self, index: IntArray) -> csr_array[Any, Any]:
        """Return the rows at these positions."""
        return self._floats(csr_array(self.matrix[index]))

    def ids(self, units: Any) -> Any:
        """Return the ids that were passed in."""
        return units

    def _floats(self, part: Csr) -> csr_array[Any, Any]:
        chosen, fills = self.layout.positions, self.layout.fills(self.matrix.shape[1])
        part = _outside_as_invalid(part, 0 if chosen is None else chosen[0])
        taken = part if chosen is None else part[:, chosen]
        with np.errstate(over="ignore", invalid="ignore"):  # a warning would reveal something about the values
            floats: Csr = taken.astype(float_type(taken.dtype), copy=False)
            if not floats.has_canonical_format:
                floats = floats.copy()  # never sort the caller's matrix
                floats.sum_duplicates()
            if fills is not None:
                data = np.where(np.isnan(floats.data), fills[floats.indices], floats.data).astype(floats.dtype)
                floats = csr_array((data, floats.indices, floats.indptr), shape=floats.shape)
        return floats  # type: ignore[no-any-return]


def _in_order(matrix: Any, lines: int, values: int) -> bool:
    """Return whether the pointers of a compressed format lead to entries only."""
    pointer, indices = matrix.indptr, matrix.indices
    if pointer.shape != (lines + 1,) or indices.ndim != 1 or pointer[0] != 0:
        return False
    return bool(pointer[-1] <= min(len(indices), values) and np.all(pointer[1:] >= pointer[:-1]))


def _inside(index: Any, stop: int) -> bool:
    return index.ndim == 1 and bool(np.all((index >= 0) & (index < stop)))


def _good_csc(matrix: Any) -> bool:
    return _in_order(matrix, matrix.shape[1], len(matrix.data)) and _inside(matrix.indices, matrix.shape[0])


def _good_bsr(matrix: Any) -> bool:
    high, wide = matrix.data.shape[1:]
    rows, columns = matrix.shape
    fits = rows % high == 0 and columns % wide == 0 and _in_order(matrix, rows // high, len(matrix.data))
    return fits and _inside(matrix.indices, columns // wide)


def _good_coo(matrix: Any) -> bool:
    fits = bool(matrix.row.shape == matrix.col.shape == matrix.data.shape)
    return fits and _inside(matrix.row, matrix.shape[0]) and _inside(matrix.col, matrix.shape[1])


def _good_dia(matrix: Any) -> bool:
    offsets = matrix.offsets
    return bool(matrix.data.ndim == 2 and np.unique(offsets).shape == offsets.shape == matrix.data.shape[:1])


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "csr": lambda _: True,
    "csc": _good_csc,
    "bsr": _good_bsr,
    "coo": _good_coo,
    "dia": _good_dia,
}
"""Checks of the indices of a matrix, by its format."""


def _outside_as_invalid(part: Csr, column: int) -> Csr:
    """Return the rows; make a row invalid if one of its indices is outside the matrix.

    An infinity is stored in `column` of such a row, since a nan could be filled. The check is needed because scipy
    accepts any index, and the loops in C do not check indices.
    """
    outside = (part.indices < 0) | (part.indices >= part.shape[1])
    if not outside.any():
        return part
    with np.errstate(over="ignore", invalid="ignore"):
        data = part.data.astype(float_type(part.dtype))
    data[outside] = np.inf
    return csr_array((data, np.where(outside, column, part.indices), part.indptr), shape=part.shape)
