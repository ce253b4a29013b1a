"""One pass over dense rows for a vector per row: the row itself, or its variances along directions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, Rows
from eigenveil.kernels import loops
from eigenveil.kernels.clipped_sums import ClippedSums
from eigenveil.kernels.clips import Clip
from eigenveil.kernels.columns import Columns, as_taken, placed
from eigenveil.kernels.loops import GROUP
from eigenveil.kernels.row_loop import FLOOR, norm_error, rounded, upper

_FAST_STEPS = 2.0**50
"""Below so many grid steps numbers are rounded by adding 1.5 2^52."""


class RowVectorSurveyor(ClippedSums):
    """Rows v less a centre: norms, and for every clip the sum of the integers nearest to c (v - C)/g.

    Formal guarantees
    -----------------
    What is computed for v - C, C the centre, is a function of the row and of public numbers, to the bit; all that
    follows is exact for it. With u the norm that is returned, c = min(1, r'/u) and g = 2^exponent: u is not below
    the true norm of the computed vector (`norm_error` bounds the sum of squares, `FLOOR` is far above what
    underflow takes), so the argument of `clip_to_grid` holds as it stands, and what a row adds has norm at most R.
    Rounding by adding 1.5 2^52 needs numbers below 2^51; from 2^50 steps on, numbers are rounded one by one.
    Integers add exactly, in any order.

    A row is bad if its squared norm, that of v, or that of v - centre is not finite; it adds nothing.
    """

    def add(self, chunk: Rows | Columns, skip: BoolArray | None = None) -> FloatArray:
        """Take in rows of shape (units, d)."""
        chunk = as_taken(chunk)
        n, d = chunk.shape
        assert d == self._centre.size, "loops go over memory by this number"
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
        """The numpy twin: the same operations in the same order."""
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
    """The same of y_j^2, y = U^T x, and last what they leave of ||x||^2; `entries` says which of these k + 1."""

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

    def add(self, chunk: Rows | Columns, skip: BoolArray | None = None) -> FloatArray:
        """Take in rows of shape (units, d)."""
        return super().add(np.ascontiguousarray(spread(chunk, self._U, self._of_rows)[:, self._entries]), skip)


def spread(chunk: Rows | Columns, U: FloatArray, shift: FloatArray | None) -> FloatArray:
    """y_j^2, y = U^T x, of every row x, and last what they leave of ||x||^2, not below 0; nan for a bad row.

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
