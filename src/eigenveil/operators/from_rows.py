"""What operators share whose units are made of the rows of a source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import (
    exact_sum,
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
        if self.sparse and self.removed is None:
            return with_rest(*self._sparse_products(values, U))
        if self.removed is None:
            assert not sparse.issparse(values)
            return spread(values, U, self.shift)
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

    def _sparse_products(self, values: Any, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """U^T x and the squared norm of every row, from the entries present."""
        n, column = values.shape[0], values.indices
        of_row = np.repeat(np.arange(n), np.diff(values.indptr))
        with np.errstate(invalid="ignore", over="ignore"):
            x = values.data.astype(np.float64)
            y = sums_by(of_row, n, (x * u[column] for u in U.T))
            if self.shift is None:
                return y, sums_by(of_row, n, [x * x])[:, 0]
            y -= [exact_sum(u * self.shift) for u in U.T]
            there = self.shift[column]
            squares = sums_by(of_row, n, [(x - there) ** 2, there**2])
            elsewhere = np.maximum(exact_sum(self.shift**2) - squares[:, 1], 0.0)
            return y, squares[:, 0] + elsewhere

    def shifted(self, shift: FloatArray) -> Self:
        """The operator with `shift`, rounded to single precision, taken off every row."""
        rounded = to_single(shift)
        return replace(self, shift=rounded if self.shift is None else self.shift + rounded)

    def projected(self, removed: FloatArray) -> Self:
        """The operator of P A P."""
        return replace(self, removed=also_removed(self.removed, removed))


def sums_by(group: IntArray, groups: int, columns: Iterable[FloatArray]) -> FloatArray:
    """The sum of each column's values over every group, added one by one in their order: no group sees another.

    Examples
    --------
    >>> sums_by(np.array([0, 2, 2]), 3, [np.array([1.0, 2.0, 3.0])]).tolist()
    [[1.0], [0.0], [5.0]]
    """
    sums = [np.bincount(group, weights=values, minlength=groups) for values in columns]
    return np.stack(sums, axis=1).astype(np.float64, copy=False)  # without values, bincount returns integers
