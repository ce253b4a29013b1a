"""What mechanisms may ask of the data, and nothing else."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Population(Protocol):
    """Units that each hold one tensor a_i; sums and counts over them leave, single units never do.

    Every implementation keeps these promises, on which all sensitivities rest:

    - What a unit adds to an answer is a function of that unit and of the arguments alone, to the bit.
    - It adds 0 or 1 to a count.
    - It adds whole multiples of 2^exponent to a clipped sum, of Euclidean norm at most `radius` over
      all entries of its tensor, and the integers are added without error: the answer is the same for
      any order and any chunking.
    - There are at most 2^31 units, and a sum of them fits into int64 (`radius` is at most 2^32 steps).
    - A unit that is not finite, or whose norm overflows, adds 0 to everything but `slots`, in silence.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""

    @property
    def symmetric(self) -> bool:
        """Whether every tensor is a symmetric matrix."""

    def slots(self) -> int:
        """How many units there are, bad ones included: public only where neighbours share it."""

    def count(self) -> int:
        """How many units are good."""

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> IntArray:
        """For each of the ascending `edges`, how many units have norm(a_i - centre) <= edge."""

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> IntArray:
        """Sum of a_i - centre, each shortened to norm `radius` at most, in units of 2^exponent."""
