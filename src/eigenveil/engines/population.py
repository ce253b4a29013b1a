"""What mechanisms may ask of the data, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, symmetric_part


class Population(Protocol):
    """Units that each hold one tensor a_i; sums and counts over them leave, single units never do.

    Every implementation keeps these promises, on which all sensitivities rest:

    - What a unit adds to an answer is a function of that unit and of the arguments alone, to the bit.
    - It adds 0 or 1 to a count.
    - Clipped sums are whole multiples of 2^exponent. Sums over data sets that differ by one unit lie at most
      `radius` apart, in Euclidean norm over all entries (over the upper triangle, with entries off the diagonal
      counted twice, if the tensors are symmetric). They are the same for any order and any chunking.
    - A centre may be rounded to single precision first; give one that is, to have it used as it is.
    - There are at most 2^31 units, and a sum of them fits into int64 (`radius` is at most 2^32 steps).
    - A unit that is not finite, or whose norm overflows, adds 0 to everything but `slots`, silently.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""

    @property
    def symmetric(self) -> bool:
        """Whether every tensor is a symmetric matrix."""

    @property
    def fixed_places(self) -> bool:
        """Whether a unit's place and `slots` stay what they are when one unit becomes another."""

    def slots(self) -> int:
        """How many units there are, bad ones included: public only under replace and with `fixed_places`."""

    def count(self) -> int:
        """How many units are good."""

    def tally(self) -> tuple[int, int]:
        """`count` and `slots` in one pass."""

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> IntArray:
        """For each of the ascending `edges`, how many units have norm(a_i - centre) <= edge."""

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> IntArray:
        """Sum of a_i - centre, each clipped to norm `radius` at most, in units of 2^exponent."""

    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """In one pass, what `counts_within` tells at all edges and `clipped_sum` at all clips."""


class ExplicitPopulation(Population, Protocol):
    """A population that also hands out its tensors, for the paper's own primitives."""

    def tensors(self) -> Iterator[FloatArray]:
        """The tensors themselves, some units at a time, in the order of the data."""


class SurveyedPopulation(ABC):
    """Answers made of surveys: what populations share that are really there."""

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
        """In one pass, what `counts_within` tells at all edges and `clipped_sum` at all clips."""

    def count(self) -> int:
        """How many units are good."""
        return int(self.survey(np.zeros(self.shape), np.array([np.inf]), [])[0][0])

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> IntArray:
        """For each of the ascending `edges`, how many units have norm(a_i - centre) <= edge."""
        return self.survey(centre, edges, [])[0]

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> IntArray:
        """Sum of a_i - centre, each clipped to norm `radius` at most, in units of 2^exponent."""
        return self.survey(centre, np.zeros(0), [Clip(radius, exponent)])[1][0]

    def _checked(self, centre: FloatArray, edges: FloatArray) -> FloatArray:
        """The centre, if it and the edges are what they should be."""
        if not (edges.ndim == 1 and np.all(np.diff(edges) > 0)):
            raise InvalidInputError("edges must be a strictly ascending list of numbers.")
        if np.shape(centre) != self.shape or not np.all(np.isfinite(centre)):
            raise InvalidInputError(
                f"centre must be finite and of shape {self.shape}, got shape {np.shape(centre)}."
            )
        return symmetric_part(centre) if self.symmetric else centre
