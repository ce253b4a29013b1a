"""What operators share whose units are made of the rows of a source."""

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
    """Columns that stand for one of the user's: one of them is not 0, unless a value is in no public list."""

    name: str
    columns: slice


@dataclass(frozen=True)
class FromRows:
    """Rows of a source, less a public `shift` if given, and with the span of `removed` taken off.

    `groups` are public groups of columns: how many units have a row that is 0 in all of one is counted with noise.
    """

    source: Source
    shift: FloatArray | None = None
    removed: FloatArray | None = None
    groups: tuple[ColumnGroup, ...] = ()

    @classmethod
    def over(cls, source: Source) -> Self:
        """The operator of a source's units; the groups are the columns that were encoded by a list."""
        return cls(source, groups=tuple(ColumnGroup(*group) for group in source.layout.groups))

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.source.n_columns

    @property
    def fixed_places(self) -> bool:
        """As the source has."""
        return self.source.fixed_places

    @property
    def sparse(self) -> bool:
        """As the source is."""
        return self.source.sparse

    @property
    def has_rows(self) -> bool:
        """They are made of rows."""
        return True

    @property
    def semidefinite(self) -> bool:
        """Means of x x^T."""
        return True

    def partitions(self) -> Sequence[Partition]:
        """As the source has."""
        return self.source.partitions()

    def without_data(self) -> Self:
        """The same over the schema of the source alone."""
        return replace(self, source=Schema.of(self.source))

    def dense(self, values: Values) -> FloatArray:
        """Rows as they are meant: shifted and projected."""
        plain = values.toarray() if sparse.issparse(values) else values
        with np.errstate(invalid="ignore", over="ignore"):
            rows = np.ascontiguousarray(plain, dtype=np.float64)
            rows = rows if self.shift is None else rows - self.shift
        return rows if self.removed is None else projected_out(rows, self.removed)

    def bad_rows(self, values: Values) -> BoolArray:
        """For every row, whether it is left out: it is not finite, or its norm overflows."""
        good = np.isfinite(self.row_variances(values, np.eye(self.d, 1)))
        return np.asarray(~good.all(axis=1), dtype=np.bool_)

    def row_variances(self, values: Values, U: FloatArray) -> FloatArray:
        """(u_j^T x)^2 of every row x, and last what of its squared norm they leave; nan for a bad row.

        Sparse rows stay sparse unless something is removed.
        """
        if self.removed is None:
            return self.spreading(U)(values)
        out = np.empty((values.shape[0], U.shape[1] + 1))
        for where in cut(len(out), 16 * self.d):  # pieces that stay in the cache
            rows = self.dense(values[where])
            out[where] = with_rest(row_product(rows, U), squared_row_norms(rows))
        return out

    def row_squares(self, values: Values) -> FloatArray:
        """The squares of every row, dense; all of a row is nan if one of them is not finite."""
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            squares = self.dense(values) ** 2
        squares[~np.isfinite(squares).all(axis=1)] = np.nan
        return squares

    def spreading(self, U: FloatArray) -> Callable[[Any], FloatArray]:
        """`row_variances` along the same U for many blocks, where nothing is removed."""
        assert self.removed is None
        if self.sparse:
            return SparseSpread(U, self.shift)
        return lambda values: spread(values, U, self.shift)

    def shifted(self, shift: FloatArray) -> Self:
        """The operator with `shift`, rounded to single precision, taken off every row."""
        rounded = to_single(shift)
        return replace(self, shift=rounded if self.shift is None else self.shift + rounded)

    def projected(self, removed: FloatArray) -> Self:
        """The operator of P A P."""
        return replace(self, removed=also_removed(self.removed, removed))
