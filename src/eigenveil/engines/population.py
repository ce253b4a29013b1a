"""The population protocol: the only queries that mechanisms may make of the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, symmetric_part


class Population(Protocol):
    """Units with one tensor a_i each. Methods return sums and counts over units, never single units.

    Every implementation must guarantee the following. All sensitivities depend on it:

    - The contribution of a unit to an answer is a function of that unit and of the arguments alone, to the bit.
    - A unit adds 0 or 1 to a count.
    - Clipped sums are integer multiples of 2^exponent. Sums over datasets that differ by one unit differ by at
      most `radius`, in Euclidean norm over all entries (over the upper triangle, with entries off the diagonal
      counted twice, if the tensors are symmetric). They are the same for any order and any chunking.
    - A centre may be rounded to single precision first. A centre that is already in single precision is used
      unchanged.
    - There are at most 2^31 units, and a sum over them fits into int64 (`radius` is at most 2^32 steps).
    - A unit that is not finite, or whose norm overflows, silently adds 0 to everything except `slots`.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""

    @property
    def symmetric(self) -> bool:
        """Whether every tensor is a symmetric matrix."""

    @property
    def fixed_places(self) -> bool:
        """Whether replacing one unit leaves the positions of all units and `slots` unchanged."""

    def slots(self) -> int:
        """Return the number of units, valid or not; public only under replace and with `fixed_places`."""

    def count(self) -> int:
        """Return the number of valid units."""

    def tally(self) -> tuple[int, int]:
        """Return `count` and `slots`, in one pass."""

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> IntArray:
        """Return, for each of the ascending `edges`, how many units have norm(a_i - centre) <= edge."""

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> IntArray:
        """Return the sum of a_i - centre, each clipped to norm at most `radius`, in units of 2^exponent."""

    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """Return the results of `counts_within` at all edges and `clipped_sum` at all clips, in one pass."""


class ExplicitPopulation(Population, Protocol):
    """A population that also yields its tensors, which the paper's own primitives need."""

    def tensors(self) -> Iterator[FloatArray]:
        """Yield the tensors, some units at a time, in the order of the data."""


class SurveyedPopulation(ABC):
    """Base class of populations of real data: all answers come from `survey`."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether every tensor is a symmetric matrix."""

    @abstractmethod
    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """Return the results of `counts_within` at all edges and `clipped_sum` at all clips, in one pass."""

    def count(self) -> int:
        """Return the number of valid units."""
        return int(self.survey(np.zeros(self.shape), np.array([np.inf]), [])[0][0])

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> IntArray:
        """Return, for each of the ascending `edges`, how many units have norm(a_i - centre) <= edge."""
        return self.survey(centre, edges, [])[0]

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> IntArray:
        """Return the sum of a_i - centre, each clipped to norm at most `radius`, in units of 2^exponent."""
        return self.survey(centre, np.zeros(0), [Clip(radius, exponent)])[1][0]

    def _checked(self, centre: FloatArray, edges: FloatArray) -> FloatArray:
        """Return the centre; raise an error if the centre or the edges are invalid."""
        if not (edges.ndim == 1 and np.all(np.diff(edges) > 0)):
            raise InvalidInputError("edges must be a strictly ascending list of numbers.")
        if np.shape(centre) != self.shape or not np.all(np.isfinite(centre)):
            raise InvalidInputError(
                f"centre must be finite and of shape {self.shape}, got shape {np.shape(centre)}."
            )
        return symmetric_part(centre) if self.symmetric else centre
