"""One d x d matrix per unit, given as it is; it need not be symmetric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from eigenveil._typing import FloatArray, IntArray, Rows
from eigenveil.kernels import projected_out, row_product, squared_row_norms
from eigenveil.operators.explicit import ExplicitOperator, no_rows
from eigenveil.operators.operator import also_removed, cut
from eigenveil.sources import Block


@dataclass(frozen=True)
class MatricesOperator(ExplicitOperator):
    """Matrices in an array of shape (n, d, d)."""

    fixed_places: ClassVar[bool] = True
    has_rows: ClassVar[bool] = False
    single_rows: ClassVar[bool] = False
    semidefinite: ClassVar[bool] = False

    values: Rows
    removed: FloatArray | None = None

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def partitions(self) -> Sequence[MatricesPartition]:
        """All matrices are one partition, with which they travel."""
        return (MatricesPartition(self.values),)

    def without_data(self) -> MatricesOperator:
        """The same with no matrices."""
        return replace(self, values=self.values[:0].copy())

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """A W, or P A P W: every row of A by itself, then every column of the product by itself."""
        n = block.units
        if self.removed is not None:
            W = projected_out(np.ascontiguousarray(W.T), self.removed).T
        rows = _doubles(block).reshape(-1, self.d)
        out = row_product(rows, np.ascontiguousarray(W)).reshape(n, self.d, W.shape[1])
        if self.removed is None:
            return out
        columns = np.ascontiguousarray(np.swapaxes(out, 1, 2)).reshape(-1, self.d)
        return np.swapaxes(projected_out(columns, self.removed).reshape(n, W.shape[1], self.d), 1, 2)

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Inner products with u_j u_j^T, and with what they leave of the identity (or of P P)."""
        P = np.eye(self.d)
        if self.removed is not None:
            P, U = projected_out(P, self.removed), projected_out(np.ascontiguousarray(U.T), self.removed).T
        outer = np.ascontiguousarray((U[:, None, :] * U[None, :, :]).reshape(self.d**2, U.shape[1]))
        rest = row_product(P, P).reshape(-1, 1) - row_product(outer, np.ones((U.shape[1], 1)))
        entries = _doubles(block).reshape(block.units, self.d**2)
        out = row_product(entries, np.concatenate([outer, rest], axis=1))
        out[~np.isfinite(squared_row_norms(entries))] = np.nan
        return out

    def vectors(self, block: Block) -> FloatArray:  # noqa: ARG002
        """Refused: matrices have no rows."""
        raise no_rows()

    def squares(self, block: Block, columns: IntArray) -> FloatArray:  # noqa: ARG002
        """Refused: matrices have no rows."""
        raise no_rows()

    def shifted(self, shift: FloatArray) -> MatricesOperator:  # noqa: ARG002
        """Refused: matrices have no rows."""
        raise no_rows()

    def projected(self, removed: FloatArray) -> MatricesOperator:
        """The operator of P A P."""
        return MatricesOperator(self.values, also_removed(self.removed, removed))


@dataclass(frozen=True, repr=False, eq=False)
class MatricesPartition:
    """Matrices in an array of shape (n, d, d), some at a time."""

    values: Rows

    def blocks(self) -> Iterator[Block]:
        """A few matrices at a time."""
        return (Block(self.values[where]) for where in cut(len(self.values), int(self.values.shape[1]) ** 2))


def _doubles(block: Block) -> FloatArray:
    """The matrices in double precision; no entry makes numpy warn."""
    with np.errstate(invalid="ignore"):
        return np.asarray(block.values).astype(np.float64)
