"""What an operator is: one matrix A_i per unit, which is multiplied and summed but never kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import Clip, Surveyor, row_product


class Operator(Protocol):
    """Units with a d x d matrix A_i each, reached chunk by chunk.

    Promises: what comes out for a unit is a function of that unit and the public arguments, to the bit; a bad unit
    (not finite, or its norm overflows) comes out as nan or with an infinite norm, and adds to no sum.
    A chunk is whatever the operator likes; only `units` looks into it from outside.
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

    def chunks(self) -> Iterator[Any]:
        """All units, in the same order in every pass."""

    def units(self, chunk: Any) -> int:
        """How many units a chunk holds."""

    def products(self, chunk: Any, W: FloatArray) -> FloatArray:
        """A_i W of every unit: shape (units, d, m)."""

    def variances(self, chunk: Any, U: FloatArray) -> FloatArray:
        """For orthonormal columns u_j of U: u_j^T A_i u_j, and last the rest of the trace: shape (units, k + 1).

        A chunk is never made dense as a whole. All of a bad unit is nan.
        """

    def surveyor(self, W: FloatArray, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Goes over chunks for norms and clipped sums of A_i W - centre."""

    def matrix_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """The same for (A_i + A_i^T)/2 - centre."""

    def vector_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """The same for the units' mean rows less `centre`; refused where units have no rows."""

    def shifted(self, shift: FloatArray) -> Operator:
        """The operator with `shift` taken off every row; refused where units have no rows."""

    def projected(self, removed: FloatArray) -> Operator:
        """The operator of P A_i P, P = I - removed removed^T; `removed` has orthogonal columns.

        Of length 1, they are projected away; if shorter, what lies along them is damped.
        """


class Prepared:
    """A surveyor whose chunks are first cut and turned into what an inner surveyor takes."""

    def __init__(self, inner: Surveyor, pieces: Callable[[Any], Iterator[tuple[Any, slice]]]) -> None:
        self._inner, self._pieces = inner, pieces

    def fork(self) -> Self:
        """The same with empty sums."""
        return type(self)(self._inner.fork(), self._pieces)

    def add(self, chunk: Any, skip: BoolArray | None) -> FloatArray:
        """Take in a chunk, piece by piece."""
        norms = [
            self._inner.add(piece, None if skip is None else skip[where]) for piece, where in self._pieces(chunk)
        ]
        return np.concatenate(norms) if norms else np.zeros(0)

    def merge(self, other: Self) -> None:
        """Take over what a fork has summed."""
        self._inner.merge(other._inner)

    def sums(self) -> list[IntArray]:
        """One sum per clip."""
        return self._inner.sums()


def cut(units: int, entries: int) -> Iterator[slice]:
    """Slices of units, each with about a million entries (8 MB) when a unit has `entries` of them."""
    step = max(1, (1 << 20) // entries)
    return (slice(start, min(start + step, units)) for start in range(0, units, step))


def take_off(rows: FloatArray, removed: FloatArray) -> FloatArray:
    """P x for every row x, each row by itself.

    Examples
    --------
    >>> take_off(np.array([[1.0, 2.0]]), np.array([[1.0], [0.0]]))
    array([[0., 2.]])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return rows - row_product(row_product(rows, removed), np.ascontiguousarray(removed.T))


def also_removed(before: FloatArray | None, removed: FloatArray) -> FloatArray:
    """The columns of both."""
    return removed if before is None else np.concatenate([before, removed], axis=1)
