"""What operators share that form A_i W for a few units at a time and then measure it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, Surveyor, TensorSurveyor, symmetric_part
from eigenveil.operators.operator import Prepared, cut

ChunkT = TypeVar("ChunkT")


class ExplicitOperator(ABC, Generic[ChunkT]):
    """Surveyors from `products` and `vectors`, over pieces of a chunk small enough to be formed."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Number of columns."""

    @abstractmethod
    def units(self, chunk: ChunkT) -> int:
        """How many units a chunk holds."""

    @abstractmethod
    def piece(self, chunk: ChunkT, where: slice) -> ChunkT:
        """Some units of a chunk."""

    @abstractmethod
    def products(self, chunk: ChunkT, W: FloatArray) -> FloatArray:
        """A_i W of every unit."""

    def vectors(self, chunk: ChunkT) -> FloatArray:  # noqa: ARG002
        """The mean row of every unit."""
        raise no_rows()

    def surveyor(self, W: FloatArray, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Norms of A_i W - centre and its clipped sums."""
        return self._formed(centre, clips, lambda chunk: self.products(chunk, W))

    def matrix_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Norms of (A_i + A_i^T)/2 - centre and its clipped sums."""
        identity = np.eye(self.d)
        return self._formed(centre, clips, lambda chunk: symmetric_part(self.products(chunk, identity)))

    def vector_surveyor(self, centre: FloatArray, clips: Sequence[Clip]) -> Surveyor:
        """Norms and clipped sums of the units' mean rows less `centre`."""
        return self._formed(centre, clips, self.vectors)

    def _formed(self, centre: FloatArray, clips: Sequence[Clip], form: Callable[[ChunkT], FloatArray]) -> Surveyor:
        def pieces(chunk: ChunkT) -> Iterator[tuple[FloatArray, slice]]:
            return ((form(self.piece(chunk, where)), where) for where in cut(self.units(chunk), centre.size))

        return Prepared(TensorSurveyor(centre, clips), pieces)


def no_rows() -> InvalidInputError:
    """The error of units that have no rows."""
    return InvalidInputError(
        "units given as matrices have no rows, so they have no mean to take off.",
        hint="Use center=False, or give rows or people.",
    )
