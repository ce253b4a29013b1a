"""Base class of operators whose units consist of rows of a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray
from eigenveil.kernels import (
    SparseSpread,
    projected_out,
    row_product,
    spread,
    squared_row_norms,
    to_single,
    with_rest,
)
from eigenveil.operators.operator import also_removed, cut
from eigenveil.sources import Partition, Source
from eigenveil.sources.source import Schema, Values


class ColumnGroup(NamedTuple):
    """Columns that encode one categorical column of the user.

    Exactly one of them is not 0, unless the value is not in the public list of categories; then all are 0.
    """

    name: str
    columns: slice


@dataclass(frozen=True)
class FromRows:
    """Rows of a source, minus a public `shift` if given, with the span of `removed` projected out.

    `groups` are public groups of columns. The number of units with a row that is 0 in a whole group is released
    with noise.
    """

    source: Source
    shift: FloatArray | None = None
    removed: FloatArray | None = None
    groups: tuple[ColumnGroup, ...] = ()

    @classmethod
    def over(cls, source: Source, **own: Any) -> Self:
        """Return the operator of a source's units; its groups are the columns that encode a list of categories."""
        return cls(source, groups=tuple(ColumnGroup(*group) for group in source.layout.groups), **own)

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.source.n_columns

    @property
    def fixed_places(self) -> bool:
        """Whether positions in the source are fixed."""
        return self.source.fixed_places

    @property
    def sparse(self) -> bool:
        """Whether the source is sparse."""
        return self.source.sparse

    @property
    def has_rows(self) -> bool:
        """Always true."""
        return True

    @property
    def semidefinite(self) -> bool:
        """Always true: A_i is a mean of matrices x x^T."""
        return True

    def partitions(self) -> Sequence[Partition]:
        """Return the partitions of the source."""
        return self.source.partitions()

    def without_data(self) -> Self:
        """Return the same operator with only the schema of the source."""
        return replace(self, source=Schema.of(self.source))

    def dense(self, values: Values) -> FloatArray:
        """Return dense rows, shifted and projected."""
        plain = values.toarray() if sparse.issparse(values) else values
        with np.errstate(invalid="ignore", over="ignore"):
            rows = np.ascontiguousarray(plain, dtype=np.float64)
            rows = rows if self.shift is None else rows - self.shift
        return rows if self.removed is None else projected_out(rows, self.removed)

    def bad_rows(self, values: Values) -> BoolArray:
        """Return which rows are invalid and therefore excluded: not finite, or with a norm that overflows."""
        good = np.isfinite(self.row_variances(values, np.eye(self.d, 1)))
        return np.asarray(~good.all(axis=1), dtype=np.bool_)

    def row_variances(self, values: Values, U: FloatArray) -> FloatArray:
        """Return (u_j^T x)^2 for every row x, and last the rest of ||x||^2; nan for an invalid row.

        Sparse rows stay sparse unless directions are removed.
        """
        if self.removed is None:
            return self.spreading(U)(values)
        out = np.empty((values.shape[0], U.shape[1] + 1))
        for where in cut(len(out), 16 * self.d):  # pieces that fit in the cache
            rows = self.dense(values[where])
            out[where] = with_rest(row_product(rows, U), squared_row_norms(rows))
        return out

    def row_squares(self, values: Values) -> FloatArray:
        """Return the squared entries of every row, dense; a row with a square that is not finite is all nan."""
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            squares = self.dense(values) ** 2
        squares[~np.isfinite(squares).all(axis=1)] = np.nan
        return squares

    def spreading(self, U: FloatArray) -> Callable[[Any], FloatArray]:
        """Return `row_variances` as a function for many blocks with the same U; no directions may be removed."""
        assert self.removed is None
        if self.sparse:
            return SparseSpread(U, self.shift)
        return lambda values: spread(values, U, self.shift)

    def shifted(self, shift: FloatArray) -> Self:
        """Return the operator with `shift`, rounded to single precision, subtracted from every row."""
        rounded = to_single(shift)
        return replace(self, shift=rounded if self.shift is None else self.shift + rounded)

    def projected(self, removed: FloatArray) -> Self:
        """Return the operator of P A P."""
        return replace(self, removed=also_removed(self.removed, removed))
