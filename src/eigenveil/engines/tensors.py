"""Explicit tensors in memory, one per unit: the plainest population, and the measure of all others."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from eigenveil.engines.fixed_point import clip_to_grid, padded_width, squared_norms
from eigenveil.errors import InvalidInputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BLOCK_ENTRIES = 1 << 16


class TensorPopulation:
    """One tensor per unit, given as an array whose first axis counts the units.

    Parameters
    ----------
    values : array of shape (n, ...)
        Numbers of any real type; rows that are not finite add nothing, in silence.
    symmetric : bool
        Units are square matrices and only their symmetric part (A + A^T)/2 counts.

    Notes
    -----
    *Edge cases.* No units: every answer is 0. Entries whose squares overflow make a unit bad (left out);
    entries whose squares underflow count as norm 0, which is below every edge of the public grid.

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
                hint="The first axis counts the units, the others are the unit's own.",
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

    def slots(self) -> int:
        """How many units there are, bad ones included."""
        return len(self._values)

    def count(self) -> int:
        """How many units are good."""
        return sum(int(np.isfinite(squares).sum()) for _, squares in self._residuals(np.zeros(self.shape)))

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> IntArray:
        """For each of the ascending `edges`, how many units have norm(a_i - centre) <= edge."""
        if not (edges.ndim == 1 and np.all(np.diff(edges) > 0)):
            raise InvalidInputError("edges must be a strictly ascending list of numbers.")
        bins = np.zeros(edges.size + 1, dtype=np.int64)
        for _, squares in self._residuals(centre):
            norms = np.sqrt(squares[np.isfinite(squares)])
            bins += np.bincount(np.searchsorted(edges, norms), minlength=edges.size + 1)
        return np.cumsum(bins[:-1])

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> IntArray:
        """Sum of a_i - centre, each shortened to norm `radius` at most, in units of 2^exponent."""
        size = math.prod(self.shape)
        total = np.zeros(size, dtype=np.int64)
        for block, squares in self._residuals(centre):
            whole = clip_to_grid(block, squares, size=size, radius=radius, exponent=exponent)
            total += whole[:, :size].astype(np.int64).sum(axis=0)
        return total.reshape(self.shape)

    def _residuals(self, centre: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Blocks of a_i - centre, flat and padded to a fixed shape, with their squared norms.

        A computed residual may differ from the real one in its last bit; all that follows is exact
        for the computed one, and that depends on the unit and the centre alone. Units whose norm about
        the origin overflows are bad wherever the centre is.
        """
        if np.shape(centre) != self.shape or not np.all(np.isfinite(centre)):
            raise InvalidInputError(
                f"centre must be finite and of shape {self.shape}, got shape {np.shape(centre)}."
            )
        centre = _symmetric_part(centre) if self._symmetric else centre
        size = math.prod(self.shape)
        width = padded_width(size)
        rows = max(1, _BLOCK_ENTRIES // width)
        for start in range(0, len(self._values), rows):
            taken = self._values[start : start + rows].astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                tensors = _symmetric_part(taken) if self._symmetric else taken
                plain = _padded(tensors.reshape(len(taken), size), rows, width)
                residuals = _padded((tensors - centre).reshape(len(taken), size), rows, width)
            bad = ~np.isfinite(squared_norms(plain))
            squares = squared_norms(residuals)
            squares[bad] = np.inf
            yield residuals[: len(taken)], squares[: len(taken)]


def _symmetric_part(matrices: FloatArray) -> FloatArray:
    """(A + A^T)/2 over the last two axes; exactly symmetric, since IEEE addition commutes."""
    return matrices / 2 + np.swapaxes(matrices, -1, -2) / 2


def _padded(rows: FloatArray, height: int, width: int) -> FloatArray:
    out = np.zeros((height, width))
    out[: rows.shape[0], : rows.shape[1]] = rows
    return out
