"""One row x per unit, A = x x^T; rows may be dense or sparse."""

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

    Sparse rows stay sparse, the shift and the centre implicit; only `removed` makes them dense, a few at a time.
    """

    @property
    def single_rows(self) -> bool:
        """One row each."""
        return True

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """The products x (W^T x)^T: shape (units, d, m)."""
        x = self.dense(block.values)
        with np.errstate(invalid="ignore", over="ignore"):
            return x[:, :, None] * row_product(x, W)[:, None, :]

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """(u_j^T x)^2, and what of ||x||^2 they leave."""
        return self.row_variances(block.values, U)

    def vectors(self, block: Block) -> FloatArray:
        """The rows themselves."""
        return self.dense(block.values)

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """The squares of the rows."""
        return self.row_squares(block.values)[:, columns]

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """From X W, X C and row norms, with no tensor per row."""
        whole = self._whole(tensor)
        shift = self.shift if whole else None  # dense pieces are shifted already
        if isinstance(tensor, Squares):
            return TensorSurveyor(centre, clips)
        if self._thin:
            return self._sparse_surveyor(tensor, centre, clips)
        if isinstance(tensor, MeanRows):
            return RowVectorSurveyor(centre, clips, shift=shift)
        if isinstance(tensor, Variances):
            return VarianceSurveyor(tensor.U, tensor.entries, centre, clips, shift=shift)
        if isinstance(tensor, Matrices) and not centre.any():
            return GramSurveyor(self.d, clips, shift=shift)
        W = _columns(tensor, self.d)
        assert W is not None, "rows themselves have a surveyor of their own"
        removed = self.removed if whole else None
        damped = None if removed is None or clips else DampedNormSurveyor.of(W, centre, removed, shift)
        return damped or RowSurveyor(W, centre, clips, shift=shift, removed=removed)

    def _sparse_surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """The same for rows that stay sparse."""
        if isinstance(tensor, Variances):
            return SparseVarianceSurveyor(SparseSpread(tensor.U, self.shift), tensor.entries, centre, clips)
        return SparseRowSurveyor(_columns(tensor, self.d), centre, clips, shift=self.shift)

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """Rows as they are; or a few at a time, explicit tensors or dense rows."""
        if isinstance(tensor, Squares):
            return formed_pieces(self, tensor, block)
        if self._whole(tensor):
            return iter([(block.values, slice(None))])
        return ((self.dense(block.values[where]), where) for where in cut(block.units, self.d))

    def _whole(self, tensor: Tensor) -> bool:
        """Whether a surveyor takes rows as they are in the data, and does all that is done to them."""
        return self.removed is None or (isinstance(tensor, Products) and not self.sparse)

    @property
    def _thin(self) -> bool:
        """Whether rows stay sparse."""
        return self.sparse and self.removed is None


def _columns(tensor: Tensor, d: int) -> FloatArray | None:
    """The W of products A W; None for rows themselves."""
    if isinstance(tensor, MeanRows):
        return None
    return tensor.W if isinstance(tensor, Products) else np.eye(d)
