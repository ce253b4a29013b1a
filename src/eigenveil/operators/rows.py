"""One row x per unit, A = x x^T; rows may be dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.kernels import (
    Clip,
    GramSurveyor,
    RowSurveyor,
    SparseRowSurveyor,
    Surveyor,
    TensorSurveyor,
    row_product,
)
from eigenveil.operators.from_rows import FromRows
from eigenveil.operators.operator import cut, formed_pieces
from eigenveil.operators.tensors import Matrices, MeanRows, Products, Tensor, Variances
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

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """For products and matrices from X W, X C and row norms, with no tensor per row."""
        if self._formed(tensor):
            return TensorSurveyor(centre, clips)
        shift = self.shift if self.removed is None else None  # dense pieces are shifted already
        W = _columns(tensor, self.d)
        if self.sparse and self.removed is None:
            return SparseRowSurveyor(W, centre, clips, shift=shift)
        assert W is not None, "dense rows are formed"
        if isinstance(tensor, Matrices) and not centre.any():
            return GramSurveyor(self.d, clips, shift=shift)
        return RowSurveyor(W, centre, clips, shift=shift)

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """Rows as they are; or a few at a time, explicit tensors or dense rows."""
        if self._formed(tensor):
            return formed_pieces(self, tensor, block)
        if self.removed is None:
            return iter([(block.values, slice(None))])
        return ((self.dense(block.values[where]), where) for where in cut(block.units, self.d))

    def _formed(self, tensor: Tensor) -> bool:
        """Whether tensors are formed: variances, and rows unless they stay sparse."""
        sparse = self.sparse and self.removed is None
        return isinstance(tensor, Variances) or (isinstance(tensor, MeanRows) and not sparse)


def _columns(tensor: Tensor, d: int) -> FloatArray | None:
    """The W of products A W; None for rows themselves."""
    if isinstance(tensor, MeanRows):
        return None
    return tensor.W if isinstance(tensor, Products) else np.eye(d)
