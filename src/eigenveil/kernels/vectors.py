"""Surveyors of one vector per dense row: the row itself, or its variances along directions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from eigenveil._typing import BoolArray, FloatArray
from eigenveil.kernels import loops
from eigenveil.kernels.clipped_sums import ClippedSums
from eigenveil.kernels.clips import Clip
from eigenveil.kernels.columns import AnyRows, as_taken, placed
from eigenveil.kernels.loops import GROUP
from eigenveil.kernels.row_loop import FLOOR, norm_error, rounded, upper

_FAST_STEPS = 2.0**50
"""Numbers below this many grid steps are rounded by adding 1.5 2^52."""


class RowVectorSurveyor(ClippedSums):
    """Surveyor of rows v minus a centre C: norms, and per clip the sum of the integers nearest to c (v - C)/g.

    Formal guarantees
    -----------------
    The computed vector v - C is a function of the row and of public numbers, to the bit. All later steps are exact
    for the computed vector. Let u be the returned norm, c = min(1, r'/u) and g = 2^exponent. u is not below the
    true norm of the computed vector: `norm_error` bounds the error of the sum of squares, and `FLOOR` is far above
    the error of underflow. So the proof of `clip_to_grid` applies unchanged, and the contribution of a row has
    norm at most R. Rounding by adding 1.5 2^52 needs numbers below 2^51; from 2^50 steps on, numbers are rounded
    one by one. Integers add exactly, in any order.

    A row is invalid, and adds nothing, if the squared norm of v or of v - C, or the bound u, is not finite.
    """

    def add(self, chunk: AnyRows, skip: BoolArray | None = None) -> FloatArray:
        """Add rows of shape (units, d); return their norms."""
        chunk = as_taken(chunk)
        n, d = chunk.shape
        assert d == self._centre.size, "the compiled loops rely on this number"
        norms = np.empty(n)
        error = norm_error(d, 1)
        if not loops.compiled():
            self._add_in_numpy(loops.shifted(np.asarray(chunk), self._shift), skip, error, norms)
            return norms
        flags = None if skip is None else skip.astype(np.uint8)
        radii = (self._inner.size, self._inner, self._per_grid, self._sums)
        head = (*placed(chunk), n, d, self._shift, flags, self._centre, error)
        loops.call("rows_vectors", *head, *radii, norms, self._work)
        return norms

    @cached_property
    def _work(self) -> FloatArray:
        return np.empty(GROUP * self._centre.size)

    def _add_in_numpy(self, vectors: FloatArray, skip: BoolArray | None, error: float, norms: FloatArray) -> None:
        """Numpy version of the compiled loop: the same operations in the same order."""
        with np.errstate(all="ignore"):
            plain = loops.squared_row_norms(vectors)
            away = vectors - self._centre
            s = loops.squared_row_norms(away)
            norms[:] = upper(s, error * s + FLOOR)
            norms[~(np.isfinite(plain) & np.isfinite(s) & np.isfinite(norms))] = np.inf
            if skip is not None:
                norms[skip] = np.inf
            good = np.isfinite(norms)
            for q, (inner, per_grid) in enumerate(zip(self._inner, self._per_grid, strict=True)):
                c = np.where(norms <= inner, 1.0, inner / norms)
                scaled = (away * c[:, None] * per_grid)[good]
                whole = rounded(scaled) if inner * per_grid < _FAST_STEPS else np.rint(scaled).astype(np.int64)
                self._sums[q] += whole.sum(axis=0)


class VarianceSurveyor(RowVectorSurveyor):
    """Surveyor of y_j^2, y = U^T x, and last the rest of ||x||^2; `entries` selects from these k + 1 numbers."""

    def __init__(
        self,
        U: FloatArray,
        entries: slice,
        centre: FloatArray,
        clips: Sequence[Clip],
        *,
        shift: FloatArray | None = None,
    ) -> None:
        super().__init__(centre, clips)
        self._U, self._entries, self._of_rows = U, entries, shift

    def add(self, chunk: AnyRows, skip: BoolArray | None = None) -> FloatArray:
        """Add rows of shape (units, d); return their norms."""
        return super().add(np.ascontiguousarray(spread(chunk, self._U, self._of_rows)[:, self._entries]), skip)


def spread(chunk: AnyRows, U: FloatArray, shift: FloatArray | None) -> FloatArray:
    """Return y_j^2, y = U^T x, of every row x, and last the rest of ||x||^2 (at least 0); nan for an invalid row.

    Examples
    --------
    >>> spread(np.array([[3.0, 4.0]]), np.eye(2)[:, :1], None)
    array([[ 9., 16.]])
    """
    chunk = as_taken(chunk)
    k = U.shape[1]
    if not loops.compiled():
        x = loops.shifted(np.asarray(chunk), shift)
        return loops.with_rest(loops.row_product(x, U), loops.squared_row_norms(x))
    wide = loops.padded_columns(U)
    out = np.empty((len(chunk), k + 1))
    work = np.empty(GROUP * sum(wide.shape))
    loops.call("rows_spread", *placed(chunk), *chunk.shape, shift, wide, k, wide.shape[1], out, work)
    return out
