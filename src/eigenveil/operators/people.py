"""All rows of one person are one unit: A = mean of x x^T over the person's good rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class PeopleOperator(FromRows):
    """People of a source whose blocks have offsets.

    Tensors of dense rows are formed and measured one person at a time, those of sparse rows some at a time. Rows
    that are not finite, or whose norm overflows, are left out of their person; a person with no row left is a bad
    unit.
    """

    @property
    def single_rows(self) -> bool:
        """A person may have any number of rows."""
        return False

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Of people's rows; of explicit tensors where they are formed."""
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
        """People with their rows as they are; or explicit tensors, a few at a time."""
        if self._formed(tensor):
            return formed_pieces(self, tensor, block)
        assert isinstance(block.values, np.ndarray | Columns)
        return iter([(People(block.values, _offsets(block)), slice(None))])

    def _formed(self, tensor: Tensor) -> bool:
        """Whether tensors are formed: squares, of sparse rows, and of numbers that do not follow each other."""
        return (
            self.sparse
            or isinstance(tensor, Squares)
            or (isinstance(tensor, Variances) and tensor.entries.step not in (None, 1))
        )

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Mean of x (W^T x)^T over each person's rows."""
        rows = self.dense(block.values)
        return self._means(block, rows, row_product(rows, W))

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Means over each person's good rows."""
        return self._good_means(block, self.row_variances(block.values, U))

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """Means over each person's good rows."""
        return self._good_means(block, self.row_squares(block.values)[:, columns])

    def _good_means(self, block: Block, of_rows: FloatArray) -> FloatArray:
        """The mean over each person's rows whose numbers are all finite."""
        good = np.isfinite(of_rows).all(axis=1)
        units = block.units
        person = np.repeat(np.arange(units), np.diff(_offsets(block)))[good]
        with np.errstate(invalid="ignore"):
            counts = np.bincount(person, minlength=units)[:, None]
            means: FloatArray = sums_by(person, units, of_rows[good].T) / counts
        return means

    def vectors(self, block: Block) -> FloatArray:
        """Each person's mean row."""
        rows = self.dense(block.values)
        return self._means(block, rows, np.ones((len(rows), 1)))[:, :, 0]

    def _means(self, block: Block, rows: FloatArray, y: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", over="ignore"):
            bad = ~np.isfinite(squared_row_norms(rows))
        return outer_means(rows, y, _offsets(block), bad)


def _offsets(block: Block) -> IntArray:
    assert block.offsets is not None, "people need a source that was opened with units"
    return block.offsets
