"""What an operator is: one matrix A_i per unit, which is multiplied and summed but never kept."""

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
    """Units with a d x d matrix A_i each, which come in partitions, and these in blocks.

    Promises: what comes out for a unit is a function of that unit and the public arguments, to the bit; a bad unit
    (not finite, or its norm overflows) comes out as nan or with an infinite norm, and adds to no sum.
    """

    @property
    def d(self) -> int:
        """Number of columns."""

    @property
    def fixed_places(self) -> bool:
        """Whether a unit's place and the number of units stay what they are when one unit becomes another."""

    @property
    def has_rows(self) -> bool:
        """Whether units are rows, or people with rows: a mean can be subtracted and columns can be scaled."""

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row x, so that A = x x^T."""

    @property
    def semidefinite(self) -> bool:
        """Whether every A_i is positive semidefinite whatever the data."""

    def partitions(self) -> Sequence[Partition]:
        """All units, in the same order in every pass."""

    def without_data(self) -> Self:
        """What is public of the operator: it does the same with blocks from elsewhere, and its pickle is small."""

    def products(self, block: Block, W: FloatArray) -> FloatArray:
        """A_i W of every unit: shape (units, d, m)."""

    def variances(self, block: Block, U: FloatArray) -> FloatArray:
        """For orthonormal columns u_j of U: u_j^T A_i u_j, and last the rest of the trace: shape (units, k + 1).

        A block is never made dense as a whole. All of a bad unit is nan.
        """

    def vectors(self, block: Block) -> FloatArray:
        """The mean row of every unit: shape (units, d); refused where units have no rows."""

    def squares(self, block: Block, columns: IntArray) -> FloatArray:
        """The mean of every unit's squares in some columns: shape (units, columns).

        All of a bad unit is nan. Refused where units have no rows.
        """

    def surveyor(self, tensor: Tensor, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """What measures and sums a unit's tensor less `centre`; it takes what `pieces` hands out."""

    def pieces(self, tensor: Tensor, block: Block) -> Iterator[tuple[Any, slice]]:
        """A block in the form that the surveyor of this tensor takes, and which units each piece holds."""

    def shifted(self, shift: FloatArray) -> Operator:
        """The operator with `shift` subtracted from every row; refused where units have no rows."""

    def projected(self, removed: FloatArray) -> Operator:
        """The operator of P A_i P, P = I - removed removed^T; `removed` has orthogonal columns.

        Of length 1, they are projected away; if shorter, what lies along them is damped.
        """


def formed_pieces(operator: Operator, tensor: Tensor, block: Block) -> Iterator[tuple[FloatArray, slice]]:
    """Explicit tensors of a few units at a time."""
    for where in cut(block.units, math.prod(tensor.shape(operator.d))):
        yield tensor.of(operator, block.between(where.start, where.stop)), where


def cut(units: int, entries: int) -> Iterator[slice]:
    """Slices of units, each with about a million entries (8 MB) when a unit has `entries` of them."""
    step = max(1, (1 << 20) // entries)
    return (slice(start, min(start + step, units)) for start in range(0, units, step))


def also_removed(before: FloatArray | None, removed: FloatArray) -> FloatArray:
    """The columns of both."""
    return removed if before is None else np.concatenate([before, removed], axis=1)
