"""Operator of low rank plus rank one, A = V diag(l) V^T + z z^T: the paper's spiked model with several spikes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels import (
    Clip,
    Surveyor,
    TensorSurveyor,
    projected_out,
    row_product,
    squared_row_norms,
    symmetric_part,
)
from eigenveil.operators.operator import formed_pieces
from eigenveil.operators.rows import RowsOperator
from eigenveil.operators.tensors import Matrices, Products, Tensor, Variances
from eigenveil.sources import Block, Partition


@dataclass(frozen=True)
class SpikedOperator:
    """Rows z plus a low-rank part that all units share. The shared part only moves the centre."""

    has_rows: ClassVar[bool] = False
    single_rows: ClassVar[bool] = False

    rows: RowsOperator
    directions: FloatArray
    eigenvalues: FloatArray

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.rows.d

    @property
    def fixed_places(self) -> bool:
        """Whether positions of the rows are fixed."""
        return self.rows.fixed_places

    @property
    def semidefinite(self) -> bool:
        """Whether the shared part is positive semidefinite."""
        return bool(np.all(self.eigenvalues >= 0))

    def partitions(self) -> Sequence[Partition]:
        """Return the partitions of the rows z."""
        return self.rows.partitions()

    def without_data(self) -> SpikedOperator:
        """Return the same operator with no rows; the shared part is public."""
        return replace(self, rows=self.rows.without_data())

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Return the products A W."""
        return self.rows.products(block, W) + self._common(W)

    def vectors(self, block: Block) -> FloatArray:
        """Return the rows z."""
        return self.rows.vectors(block)

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Return the variances of z z^T plus those of the shared part."""
        along = row_product(np.ascontiguousarray(self.directions.T), np.ascontiguousarray(U))
        common = [math.fsum(self.eigenvalues * along[:, j] ** 2) for j in range(U.shape[1])]
        trace = math.fsum(self.eigenvalues * squared_row_norms(np.ascontiguousarray(self.directions.T)))
        both: FloatArray = self.rows.variances(block, U) + np.array([*common, trace - math.fsum(common)])
        return both

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """Return the squared entries of the rows z."""
        return self.rows.squares(block, columns)

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Return the surveyor of z z^T around the centre minus the shared part.

        The moved centre is symmetric to the bit if the tensor is.
        """
        if isinstance(tensor, Variances):
            return TensorSurveyor(centre, clips)
        if isinstance(tensor, Products):
            return self.rows.surveyor(tensor, centre - self._common(tensor.W), clips)
        if isinstance(tensor, Matrices):
            identity = np.eye(self.d)
            around = centre - symmetric_part(self._common(identity))
            return self.rows.surveyor(Products(identity), around, clips)
        return self.rows.surveyor(tensor, centre, clips)

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """Yield rows z in the form their surveyor accepts; variances are formed for the whole unit."""
        if isinstance(tensor, Variances):
            return formed_pieces(self, tensor, block)
        return self.rows.pieces(tensor, block)

    def shifted(self, shift: FloatArray) -> SpikedOperator:
        """Return the operator with `shift` subtracted from every z."""
        return SpikedOperator(self.rows.shifted(shift), self.directions, self.eigenvalues)

    def projected(self, removed: FloatArray) -> SpikedOperator:
        """Return the operator of P A P."""
        directions = projected_out(np.ascontiguousarray(self.directions.T), removed).T
        return SpikedOperator(self.rows.projected(removed), directions, self.eigenvalues)

    def _common(self, W: FloatArray) -> FloatArray:
        """Return V diag(l) V^T W, which is the same for every unit."""
        inner = row_product(np.ascontiguousarray(self.directions.T), np.ascontiguousarray(W))
        return row_product(np.ascontiguousarray(self.directions), inner * self.eigenvalues[:, None])
