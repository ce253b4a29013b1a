"""Operator of rows: one unit per row x, A = x x^T, for dense or sparse rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels import (
    Clip,
    DampedNormSurveyor,
    GramSurveyor,
    RowSurveyor,
    RowVectorSurveyor,
    SparseRowSurveyor,
    SparseSpread,
    SparseVarianceSurveyor,
    Surveyor,
    TensorSurveyor,
    VarianceSurveyor,
    row_product,
)
from eigenveil.operators.from_rows import FromRows
from eigenveil.operators.operator import cut, formed_pieces
from eigenveil.operators.tensors import Matrices, MeanRows, Products, Squares, Tensor, Variances
from eigenveil.sources import Block


class RowsOperator(FromRows):
    """Rows x as units.

    Sparse rows stay sparse, because the shift and the centre stay implicit. Only `removed` makes them dense, a few
    at a time.
    """

    @property
    def single_rows(self) -> bool:
        """Always true."""
        return True

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Return the products x (W^T x)^T: shape (units, d, m)."""
        x = self.dense(block.values)
        with np.errstate(invalid="ignore", over="ignore"):
            return x[:, :, None] * row_product(x, W)[:, None, :]

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Return (u_j^T x)^2, and last the rest of ||x||^2."""
        return self.row_variances(block.values, U)

    def vectors(self, block: Block) -> FloatArray:
        """Return the rows."""
        return self.dense(block.values)

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """Return the squared entries of the rows."""
        return self.row_squares(block.values)[:, columns]

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Return a surveyor that uses X W, X C and row norms, and forms no tensor per row."""
        stored = self._takes_stored_rows(tensor)
        shift = self.shift if stored else None  # dense pieces are already shifted
        if isinstance(tensor, Squares):
            return TensorSurveyor(centre, clips)
        if self._stays_sparse:
            return self._sparse_surveyor(tensor, centre, clips)
        if isinstance(tensor, MeanRows):
            return RowVectorSurveyor(centre, clips, shift=shift)
        if isinstance(tensor, Variances):
            return VarianceSurveyor(tensor.U, tensor.entries, centre, clips, shift=shift)
        if isinstance(tensor, Matrices) and not centre.any():
            return GramSurveyor(self.d, clips, shift=shift)
        W = _columns(tensor, self.d)
        assert W is not None, "mean rows have a surveyor of their own"
        removed = self.removed if stored else None
        damped = None if removed is None or clips else DampedNormSurveyor.of(W, centre, removed, shift)
        return damped or RowSurveyor(W, centre, clips, shift=shift, removed=removed)

    def _sparse_surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Return the surveyor of rows that stay sparse."""
        if isinstance(tensor, Variances):
            return SparseVarianceSurveyor(SparseSpread(tensor.U, self.shift), tensor.entries, centre, clips)
        return SparseRowSurveyor(_columns(tensor, self.d), centre, clips, shift=self.shift)

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """Yield the stored rows, or, a few at a time, explicit tensors or dense rows."""
        if isinstance(tensor, Squares):
            return formed_pieces(self, tensor, block)
        if self._takes_stored_rows(tensor):
            return iter([(block.values, slice(None))])
        return ((self.dense(block.values[where]), where) for where in cut(block.units, self.d))

    def _takes_stored_rows(self, tensor: Tensor) -> bool:
        """Return whether the surveyor takes the stored rows, and shifts and projects them itself."""
        return self.removed is None or (isinstance(tensor, Products) and not self.sparse)

    @property
    def _stays_sparse(self) -> bool:
        """Return whether rows stay sparse."""
        return self.sparse and self.removed is None


def _columns(tensor: Tensor, d: int) -> FloatArray | None:
    """Return the W of products A W, or None for mean rows."""
    if isinstance(tensor, MeanRows):
        return None
    return tensor.W if isinstance(tensor, Products) else np.eye(d)
