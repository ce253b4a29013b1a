"""Base class of surveyors that clip and round computed residuals: public numbers, and one sum per clip."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels.clips import Clip
from eigenveil.kernels.fixed_point import inner_radius


class ClippedSums:
    """A centre, a shift, inner radii and grids, and integer sums.

    Work space is allocated on first use, and never shared, copied or pickled.
    """

    _not_pickled: ClassVar[tuple[str, ...]] = ("_work",)
    """Attributes excluded from pickles."""

    def __init__(self, centre: FloatArray, clips: Sequence[Clip], *, shift: FloatArray | None = None) -> None:
        self._centre = np.ascontiguousarray(centre, dtype=np.float64)
        self._shift = None if shift is None else np.ascontiguousarray(shift, dtype=np.float64)
        size = self._centre.size
        inner = [inner_radius(size=size, radius=clip.radius, exponent=clip.exponent) for clip in clips]
        self._inner = np.array(inner, dtype=np.float64)
        self._per_grid = np.ldexp(1.0, -np.array([clip.exponent for clip in clips], dtype=np.int64))
        self._sums = np.zeros((len(clips), size), dtype=np.int64)

    def fresh(self) -> Self:
        """Return a copy with empty sums."""
        twin = copy.copy(self)
        vars(twin).pop("_work", None)
        vars(twin)["_sums"] = np.zeros_like(self._sums)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes except the work space and those recomputed from public numbers."""
        return {name: value for name, value in vars(self).items() if name not in self._not_pickled}

    def merge(self, other: Self) -> None:
        """Add the sums of another surveyor."""
        self._sums += other._sums

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, of the centre's shape."""
        return [total.reshape(self._centre.shape) for total in self._sums]
