"""All rows of one person are one unit: A = mean of x x^T over the person's good rows."""

from __future__ import annotations

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels import outer_means, row_product, squared_row_norms
from eigenveil.operators.explicit import ExplicitOperator
from eigenveil.operators.from_rows import FromRows, sums_by
from eigenveil.sources import Block


class PeopleOperator(FromRows, ExplicitOperator):
    """People of a source whose blocks have offsets.

    Rows that are not finite, or whose norm overflows, are left out of their person; a person with no row left
    is a bad unit.
    """

    @property
    def single_rows(self) -> bool:
        """A person may have any number of rows."""
        return False

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Mean of x (W^T x)^T over each person's rows."""
        rows = self.dense(block.values)
        return self._means(block, rows, row_product(rows, W))

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Means over each person's good rows."""
        of_rows = self.row_variances(block.values, U)
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
