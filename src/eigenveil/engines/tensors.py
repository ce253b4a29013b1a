"""Population of explicit tensors in memory, one per unit: the reference for tests of other populations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.population import SurveyedPopulation
from eigenveil.engines.query import counts_at
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip, TensorSurveyor, symmetric_part


class TensorPopulation(SurveyedPopulation):
    """One tensor per unit, in an array whose first axis is the unit.

    Parameters
    ----------
    values : array of shape (n, ...)
        Numbers of any real type. Units that are not finite silently add nothing.
    symmetric : bool
        Whether units are square matrices of which only the symmetric part (A + A^T)/2 is used.

    Notes
    -----
    *Edge cases.* No units: every answer is 0. Entries whose squares overflow make a unit invalid (excluded).
    Entries whose squares underflow count as norm 0, which is below every edge of the public grid.

    Examples
    --------
    >>> rows = TensorPopulation([[3.0, 4.0], [0.0, 1.0], [float("nan"), 0.0]])
    >>> rows.slots(), rows.count()
    (3, 2)
    >>> rows.counts_within(np.zeros(2), np.array([1.0, 5.0]))
    array([1, 2])
    >>> rows.clipped_sum(np.zeros(2), 100.0, -1) / 2
    array([3., 5.])
    """

    def __init__(self, values: npt.ArrayLike, *, symmetric: bool = False) -> None:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise InvalidInputError(
                f"expected an array of real numbers, got dtype {array.dtype}.",
                hint="Convert to float64; text, dates, objects and complex numbers have no norm here.",
            )
        if array.ndim < 2 or 0 in array.shape[1:]:
            raise InvalidInputError(
                f"expected one vector or matrix per unit, got an array of shape {array.shape}.",
                hint="The first axis must be the unit; the other axes are those of its vector or matrix.",
            )
        if symmetric and (array.ndim != 3 or array.shape[1] != array.shape[2]):
            raise InvalidInputError(f"symmetric units are square matrices, got an array of shape {array.shape}.")
        self._values = array
        self._symmetric = symmetric

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one tensor."""
        return self._values.shape[1:]

    @property
    def symmetric(self) -> bool:
        """Whether every tensor is a symmetric matrix."""
        return self._symmetric

    @property
    def fixed_places(self) -> bool:
        """Always true: every tensor keeps its position."""
        return True

    def slots(self) -> int:
        """Return the number of units, valid or not."""
        return len(self._values)

    def tally(self) -> tuple[int, int]:
        """Return `count` and `slots`."""
        return self.count(), self.slots()

    def survey(
        self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]
    ) -> tuple[IntArray, list[IntArray]]:
        """Return counts at all edges and sums at all clips, in one pass."""
        surveyor = TensorSurveyor(self._checked(centre, edges), clips)
        counts = np.zeros(edges.size, dtype=np.int64)
        for tensors in self.tensors():
            counts += counts_at(surveyor.add(tensors), edges)
        return counts, surveyor.sums()

    def tensors(self) -> Iterator[FloatArray]:
        """Yield all tensors, about a quarter of a million entries at a time."""
        step = max(1, (1 << 18) // max(1, self._values[:1].size))
        for start in range(0, len(self._values), step):
            with np.errstate(invalid="ignore"):  # a warning would reveal something about the values
                taken = self._values[start : start + step].astype(np.float64)
            yield symmetric_part(taken) if self._symmetric else taken
