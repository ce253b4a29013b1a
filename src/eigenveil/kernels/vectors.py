"""One pass over dense rows for a vector per row: the row itself, or its variances along directions."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, Rows
from eigenveil.kernels import loops
from eigenveil.kernels.clipped_sums import ClippedSums
from eigenveil.kernels.clips import Clip
from eigenveil.kernels.columns import Columns, places
from eigenveil.kernels.loops import GROUP
from eigenveil.kernels.row_loop import FLOOR, norm_error, rounded, upper

_FAST_STEPS = 2.0**50
"""Below so many grid steps numbers are rounded by adding 1.5 2^52."""


class VectorSurveyor(ClippedSums, ABC):
    """A vector v per row, less a centre: norms, and for every clip the sum of the integers nearest to c (v - C)/g.

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
        single = chunk.dtype == np.float32
        if isinstance(chunk, Columns) and (single or not loops.compiled()):
            chunk = np.asarray(chunk)
        n, d = chunk.shape
        assert d == self._d, "loops go over memory by this number"
        norms = np.empty(n)
        error = norm_error(self._centre.size, 1)
        if not loops.compiled():
            x = loops.shifted(np.asarray(chunk), self._shift)
            vectors, bad = self._vectors(x)
            self._add_in_numpy(vectors, bad if skip is None else bad | skip, error, norms)
            return norms
        flags = None if skip is None else skip.astype(np.uint8)
        head = (*places(chunk), ctypes.c_int(single), n, d, self._shift, flags)
        radii = (self._inner.size, self._inner, self._per_grid, self._sums)
        self._call(head, (self._centre, error, *radii, norms))
        return norms

    @property
    @abstractmethod
    def _d(self) -> int:
        """Number of columns."""

    @abstractmethod
    def _call(self, head: tuple[object, ...], tail: tuple[object, ...]) -> None:
        """Run the compiled loop."""

    @abstractmethod
    def _vectors(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The vectors of rows, as the compiled loop computes them, and which rows are bad by themselves."""

    def _add_in_numpy(self, vectors: FloatArray, bad: BoolArray, error: float, norms: FloatArray) -> None:
        """The numpy twin: the same operations in the same order."""
        with np.errstate(all="ignore"):
            plain = loops.squared_row_norms(vectors)
            away = vectors - self._centre
            s = loops.squared_row_norms(away)
            norms[:] = upper(s, error * s + FLOOR)
            norms[bad | ~(np.isfinite(plain) & np.isfinite(s) & np.isfinite(norms))] = np.inf
            good = np.isfinite(norms)
            for q, (inner, per_grid) in enumerate(zip(self._inner, self._per_grid, strict=True)):
                c = np.where(norms <= inner, 1.0, inner / norms)
                scaled = (away * c[:, None] * per_grid)[good]
                whole = rounded(scaled) if inner * per_grid < _FAST_STEPS else np.rint(scaled).astype(np.int64)
                self._sums[q] += whole.sum(axis=0)


class RowVectorSurveyor(VectorSurveyor):
    """Rows themselves."""

    @property
    def _d(self) -> int:
        return self._centre.size

    @cached_property
    def _work(self) -> FloatArray:
        return np.empty(GROUP * self._centre.size)

    def _call(self, head: tuple[object, ...], tail: tuple[object, ...]) -> None:
        loops.call("rows_vectors", *head, *tail, self._work)

    def _vectors(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        return x, np.zeros(len(x), dtype=bool)


class VarianceSurveyor(VectorSurveyor):
    """y_j^2, y = U^T x, and last what they leave of ||x||^2, not below 0; `entries` says which of these k + 1."""

    def __init__(
        self,
        U: FloatArray,
        entries: slice,
        centre: FloatArray,
        clips: Sequence[Clip],
        *,
        shift: FloatArray | None = None,
    ) -> None:
        super().__init__(centre, clips, shift=shift)
        self._U, self._k = loops.padded_columns(U), U.shape[1]
        self._first = range(self._k + 1)[entries].start

    @property
    def _d(self) -> int:
        return len(self._U)

    @cached_property
    def _work(self) -> FloatArray:
        d, cols = self._U.shape
        return np.empty(GROUP * (d + cols) + self._k + 1)

    def _call(self, head: tuple[object, ...], tail: tuple[object, ...]) -> None:
        middle = (self._U, self._k, self._U.shape[1], self._first, self._centre.size)
        loops.call("rows_variances", *head, *middle, *tail, self._work)

    def _vectors(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        with np.errstate(all="ignore"):
            y = loops.row_product(x, self._U)[:, : self._k]
            s = loops.squared_row_norms(x)
            rest = s - loops.squared_row_norms(y)
            whole = np.concatenate([y * y, np.where(rest > 0, rest, 0.0)[:, None]], axis=1)
        return whole[:, self._first : self._first + self._centre.size], ~np.isfinite(s)
