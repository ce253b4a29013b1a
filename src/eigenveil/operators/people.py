"""Operator of people: one unit per person, A = mean of x x^T over the person's valid rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels import (
    Clip,
    Columns,
    MeanMatrixSurveyor,
    MeanProductSurveyor,
    MeanRowSurveyor,
    MeanVarianceSurveyor,
    People,
    Rescaled,
    Surveyor,
    TensorSurveyor,
    outer_means,
    row_product,
    squared_row_norms,
    sums_by,
)
from eigenveil.operators.from_rows import FromRows
from eigenveil.operators.operator import formed_pieces
from eigenveil.operators.tensors import MeanRows, Products, Squares, Tensor, Variances
from eigenveil.sources import Block


@dataclass(frozen=True)
class PeopleOperator(FromRows):
    """People as units, from a source whose blocks have offsets. `by` is the name of their ids, if it has one.

    Tensors of dense rows are formed and measured one person at a time, tensors of sparse rows several at a time.
    Rows that are not finite, or whose norm overflows, are excluded from their person. A person with no valid row
    is an invalid unit.
    """

    by: str | None = None

    @property
    def single_rows(self) -> bool:
        """Always false: a person may have any number of rows."""
        return False

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Return the surveyor of people's rows, or of explicit tensors if they are formed."""
        if self._formed(tensor):
            return TensorSurveyor(centre, clips)
        same: dict[str, Any] = {"shift": self.shift, "removed": self.removed}
        if isinstance(tensor, Products):
            return MeanProductSurveyor(tensor.W, centre, clips, **same)
        if isinstance(tensor, MeanRows):
            return MeanRowSurveyor(centre, clips, **same)
        if isinstance(tensor, Variances):
            return MeanVarianceSurveyor(tensor.U, tensor.entries, centre, clips, **same)
        return MeanMatrixSurveyor(self.d, centre, clips, **same)

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """Yield people with their stored rows, or explicit tensors of a few people at a time."""
        if self._formed(tensor):
            return formed_pieces(self, tensor, block)
        assert isinstance(block.values, np.ndarray | Columns | Rescaled)
        return iter([(People(block.values, _offsets(block)), slice(None))])

    def _formed(self, tensor: Tensor) -> bool:
        """Return whether tensors are formed: for squares, sparse rows, and variances that are not consecutive."""
        return (
            self.sparse
            or isinstance(tensor, Squares)
            or (isinstance(tensor, Variances) and tensor.entries.step not in (None, 1))
        )

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Return the mean of x (W^T x)^T over each person's valid rows."""
        rows = self.dense(block.values)
        return self._means(block, rows, row_product(rows, W))

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Return means over each person's valid rows."""
        return self._valid_means(block, self.row_variances(block.values, U))

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """Return mean squares over each person's valid rows."""
        return self._valid_means(block, self.row_squares(block.values)[:, columns])

    def _valid_means(self, block: Block, of_rows: FloatArray) -> FloatArray:
        """Return the mean over each person's rows that have finite numbers only."""
        good = np.isfinite(of_rows).all(axis=1)
        units = block.units
        person = np.repeat(np.arange(units), np.diff(_offsets(block)))[good]
        with np.errstate(invalid="ignore"):
            counts = np.bincount(person, minlength=units)[:, None]
            means: FloatArray = sums_by(person, units, of_rows[good].T) / counts
        return means

    def vectors(self, block: Block) -> FloatArray:
        """Return each person's mean row."""
        rows = self.dense(block.values)
        return self._means(block, rows, np.ones((len(rows), 1)))[:, :, 0]

    def _means(self, block: Block, rows: FloatArray, y: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", over="ignore"):
            bad = ~np.isfinite(squared_row_norms(rows))
        return outer_means(rows, y, _offsets(block), bad)


def _offsets(block: Block) -> IntArray:
    assert block.offsets is not None, "people need a source opened with units"
    return block.offsets
