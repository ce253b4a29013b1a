"""Scipy sparse matrices and arrays of any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import refuse_named_unit
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.arrays import check_matrix, float_type

Csr = Any  # csr_array or csr_matrix: same attributes, different type stubs


def accepts(data: Any) -> bool:
    """Return whether the data are a scipy sparse matrix or array."""
    return bool(sparse.issparse(data))


def hold(data: Any, *, layout: Layout, units: Any) -> SparseRows:
    """Return the selected columns of a sparse matrix; formats other than CSR are converted once."""
    check_matrix("sparse array", data.dtype, data.shape)
    refuse_named_unit(units)
    exact = layout.by_positions(data.shape[1])
    if data.format in ("csc", "bsr"):  # indices are of rows or blocks of rows: no single row can be excluded
        broken = InvalidInputError(
            f"expected a {data.format} matrix with indices inside its shape {data.shape}, got indices outside it.",
            hint="Rebuild it from rows, columns and values: scipy.sparse.coo_array((values, (rows, columns))).",
        )
        attempt(lambda: data.check_format(full_check=True), broken, ValueError, IndexError)
    if data.format == "csr" and not _rows_in_order(data):  # no row has a place of its own
        raise InvalidInputError(
            "expected a csr matrix whose indptr starts at 0, never decreases and ends with its entries.",
            hint="Rebuild it from rows, columns and values: scipy.sparse.coo_array((values, (rows, columns))).",
        )
    return SparseRows(data if data.format == "csr" else data.astype(float_type(data.dtype)).tocsr(), exact)


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


def _rows_in_order(matrix: Csr) -> bool:
    pointer = matrix.indptr
    entries = min(len(matrix.indices), len(matrix.data))
    fits = len(pointer) == matrix.shape[0] + 1 and pointer[0] == 0 and pointer[-1] <= entries
    return bool(fits and np.all(pointer[1:] >= pointer[:-1]))


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
