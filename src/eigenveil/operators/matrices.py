"""Operator of explicit d x d matrices, one per unit; they need not be symmetric."""

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
    """One unit per matrix of an array of shape (n, d, d)."""

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
        """Return one partition, which contains all matrices and is pickled with them."""
        return (MatricesPartition(self.values),)

    def without_data(self) -> MatricesOperator:
        """Return the same operator with no matrices."""
        return replace(self, values=self.values[:0].copy())

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Return A W, or P A P W: each row of A separately, then each column of the product separately."""
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
        """Return the inner products of A with u_j u_j^T, and last with I (or P P) minus the sum of u_j u_j^T."""
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
        """Raise an error: matrices have no rows."""
        raise no_rows()

    def squares(self, block: Block, columns: IntArray) -> FloatArray:  # noqa: ARG002
        """Raise an error: matrices have no rows."""
        raise no_rows()

    def shifted(self, shift: FloatArray) -> MatricesOperator:  # noqa: ARG002
        """Raise an error: matrices have no rows."""
        raise no_rows()

    def projected(self, removed: FloatArray) -> MatricesOperator:
        """Return the operator of P A P."""
        return MatricesOperator(self.values, also_removed(self.removed, removed))


@dataclass(frozen=True, repr=False, eq=False)
class MatricesPartition:
    """Matrices in an array of shape (n, d, d), as blocks."""

    values: Rows

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of a few matrices."""
        return (Block(self.values[where]) for where in cut(len(self.values), int(self.values.shape[1]) ** 2))


def _doubles(block: Block) -> FloatArray:
    """Return the matrices in double precision; no entry makes numpy warn."""
    with np.errstate(invalid="ignore"):
        return np.asarray(block.values).astype(np.float64)
