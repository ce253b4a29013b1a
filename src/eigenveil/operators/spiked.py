"""Low rank plus rank one, A = V diag(l) V^T + z z^T: the paper's spiked model with more than one spike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.kernels import Clip, Surveyor, row_product, squared_row_norms, symmetric_part
from eigenveil.operators.operator import take_off
from eigenveil.operators.rows import RowsOperator
from eigenveil.sources.source import Values


@dataclass(frozen=True)
class SpikedOperator:
    """Rows z that each carry the same low-rank part, which therefore only moves the centre."""

    rows: RowsOperator
    directions: FloatArray
    eigenvalues: FloatArray

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.rows.d

    @property
    def fixed_places(self) -> bool:
        """As the rows have."""
        return self.rows.fixed_places

    @property
    def has_rows(self) -> bool:
        """The rows z are not all there is of a unit."""
        return False

    @property
    def single_rows(self) -> bool:
        """The rows z are not all there is of a unit."""
        return False

    @property
    def semidefinite(self) -> bool:
        """If the common part is."""
        return bool(np.all(self.eigenvalues >= 0))

    def chunks(self) -> Iterator[Values]:
        """Blocks of rows z."""
        return self.rows.chunks()

    def units(self, chunk: Values) -> int:
        """One unit per row."""
        return self.rows.units(chunk)

    def products(self, chunk: Values, W: FloatArray) -> FloatArray:
        """The products A W."""
        return self.rows.products(chunk, W) + self._common(W)

    def variances(self, chunk: Values, U: FloatArray) -> FloatArray:
        """Those of z z^T, and of the common part."""
        along = row_product(np.ascontiguousarray(self.directions.T), np.ascontiguousarray(U))
        common = [math.fsum(self.eigenvalues * along[:, j] ** 2) for j in range(U.shape[1])]
        trace = math.fsum(self.eigenvalues * squared_row_norms(np.ascontiguousarray(self.directions.T)))
        both: FloatArray = self.rows.variances(chunk, U) + np.array([*common, trace - math.fsum(common)])
        return both

    def surveyor(self, W: FloatArray, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """The survey of z (W^T z)^T around the centre less the common part."""
        return self.rows.surveyor(W, centre - self._common(W), clips)

    def matrix_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """The same with W = I, around a centre that is symmetric to the bit, as populations promise."""
        identity = np.eye(self.d)
        return self.rows.surveyor(identity, centre - symmetric_part(self._common(identity)), clips)

    def vector_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Norms and clipped sums of z - centre."""
        return self.rows.vector_surveyor(centre, clips)

    def shifted(self, shift: FloatArray) -> SpikedOperator:
        """The operator with `shift` taken off every z."""
        return SpikedOperator(self.rows.shifted(shift), self.directions, self.eigenvalues)

    def projected(self, removed: FloatArray) -> SpikedOperator:
        """The operator of P A P."""
        directions = take_off(np.ascontiguousarray(self.directions.T), removed).T
        return SpikedOperator(self.rows.projected(removed), directions, self.eigenvalues)

    def _common(self, W: FloatArray) -> FloatArray:
        """V diag(l) V^T W, the same for every unit."""
        inner = row_product(np.ascontiguousarray(self.directions.T), np.ascontiguousarray(W))
        return row_product(np.ascontiguousarray(self.directions), inner * self.eigenvalues[:, None])
