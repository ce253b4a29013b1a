"""The operator protocol: one matrix A_i per unit, which is multiplied and summed but never stored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels import Clip, Surveyor
from eigenveil.operators.tensors import Tensor
from eigenveil.sources import Block, Partition


class Operator(Protocol):
    """Units with one d x d matrix A_i each. Units come in partitions, and partitions in blocks.

    Every implementation must guarantee two things. The result for a unit is a function of that unit and the public
    arguments, to the bit. An invalid unit (not finite, or with a norm that overflows) gets nan or an infinite
    norm, and contributes to no sum.
    """

    @property
    def d(self) -> int:
        """Number of columns."""

    @property
    def fixed_places(self) -> bool:
        """Whether replacing one unit leaves the positions of all units and their number unchanged."""

    @property
    def has_rows(self) -> bool:
        """Whether units are rows, or people with rows, so that a mean can be subtracted and columns scaled."""

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row x, so that A = x x^T."""

    @property
    def semidefinite(self) -> bool:
        """Whether every A_i is positive semidefinite for any data."""

    def partitions(self) -> Sequence[Partition]:
        """Return the partitions of all units, in the same order in every pass."""

    def without_data(self) -> Self:
        """Return the public part of the operator. It can process any block, and its pickle is small."""

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """Return A_i W of every unit: shape (units, d, m)."""

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """Return u_j^T A_i u_j for the orthonormal columns u_j of U, and last the rest of the trace.

        The shape is (units, k + 1). A block is never made dense as a whole. An invalid unit gets nan only.
        """

    def vectors(self, block: Block) -> FloatArray:
        """Return the mean row of every unit: shape (units, d). Raises an error if units have no rows."""

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """Return the mean of every unit's squares in the given columns: shape (units, columns).

        All numbers of an invalid unit are nan. Raises an error if units have no rows.
        """

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Return the object that measures and sums each unit's tensor minus `centre`; its input is `pieces`."""

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """Yield a block in the form that the surveyor of this tensor accepts, with the units of each piece."""

    def shifted(self, shift: FloatArray) -> Operator:
        """Return the operator with `shift` subtracted from every row. Raises an error if units have no rows."""

    def projected(self, removed: FloatArray) -> Operator:
        """Return the operator of P A_i P, P = I - removed removed^T; `removed` has orthogonal columns.

        A direction of length 1 is projected out. Along a shorter one, the data are damped.
        """


def formed_pieces(operator: Operator, tensor: Tensor, block: Block) -> Iterator[tuple[FloatArray, slice]]:
    """Yield explicit tensors of a few units at a time."""
    for where in cut(block.units, math.prod(tensor.shape(operator.d))):
        yield tensor.of(operator, block.between(where.start, where.stop)), where


def cut(units: int, entries: int) -> Iterator[slice]:
    """Yield slices of units with about a million entries (8 MB) each, for units of `entries` entries."""
    step = max(1, (1 << 20) // entries)
    return (slice(start, min(start + step, units)) for start in range(0, units, step))


def also_removed(before: FloatArray | None, removed: FloatArray) -> FloatArray:
    """Return the columns of both matrices, side by side."""
    return removed if before is None else np.concatenate([before, removed], axis=1)
