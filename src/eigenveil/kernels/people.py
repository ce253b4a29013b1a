"""Surveyors of units with several dense rows: a mean over each unit's valid rows, one unit at a time."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray, Rows
from eigenveil.kernels import loops
from eigenveil.kernels.clipped_sums import ClippedSums
from eigenveil.kernels.clips import Clip, TensorSurveyor
from eigenveil.kernels.columns import AnyRows
from eigenveil.kernels.fixed_point import padded_width, stretch, symmetric_part
from eigenveil.kernels.loops import GROUP

_FORMED_ENTRIES = 1 << 20


class People(NamedTuple):
    """Rows of shape (n, d). The rows of unit u are ``offsets[u]:offsets[u + 1]``; offsets start at 0."""

    rows: AnyRows
    offsets: IntArray


class MeanSurveyor(ClippedSums, ABC):
    """Surveyor of a mean over each unit's valid rows, minus a centre: norms, and one clipped integer sum per clip.

    A row (after the shift, and P P^T x for removed directions P, are subtracted) is valid if its squared norm is
    finite. A unit without a valid row is invalid.

    Formal guarantees
    -----------------
    *Mean.* Every entry of a mean is summed over the unit's valid rows in order, starting from 0, and divided by
    their number. So the computed mean is a function of the unit and of public numbers, to the bit, whatever the
    positions of its rows and the number of rows that a loop processes at a time: zeros that pad a row add 0 to a
    sum that is not -0, which changes no bit of the sum.

    *Clipping.* The mean, minus the centre, then goes through exactly the operations of `TensorSurveyor`: the same
    tree of additions for its squared norm, the same factor c = min(1, r'/u), the same rounding. So the proof of
    `clip_to_grid` applies unchanged to the computed residual, and the contribution of a unit has norm at most R.

    *Rounding.* Adding 1.5 2^52 gives the nearest integer, ties to even, of a number below 2^51. If r' is 2^50
    steps or more, numbers are rounded one by one. Integers add exactly, in any order.

    Without compiled loops, tensors are formed and passed to a `TensorSurveyor`, which gives the same bits.

    Parameters
    ----------
    d : int
        Number of columns.
    matrix : array of shape (d, m), optional
        Matrix by which rows are multiplied.
    centre, clips, shift, removed
        As for `RowSurveyor`.
    """

    _not_pickled = ("_work", "_public")
    _kind: ClassVar[int]
    _spare: ClassVar[int] = 0
    _first = 0

    def __init__(
        self,
        d: int,
        matrix: FloatArray | None,
        centre: FloatArray,
        clips: Sequence[Clip],
        *,
        shift: FloatArray | None = None,
        removed: FloatArray | None = None,
    ) -> None:
        super().__init__(centre, clips, shift=shift)
        self._d, self._matrix, self._removed, self._clips = d, matrix, removed, clips

    def add(self, chunk: People, skip: BoolArray | None = None) -> FloatArray:
        """Add people; return their norms."""
        rows, offsets = np.asarray(chunk.rows), np.ascontiguousarray(chunk.offsets, dtype=np.int64)
        rows = rows if rows.dtype == np.float32 else np.asarray(rows, dtype=np.float64)
        ordered = offsets[0] == 0 and offsets[-1] <= len(rows) and bool(np.all(np.diff(offsets) >= 0))
        assert ordered, "the compiled loops rely on these numbers"
        assert rows.shape[1] == self._d, "the compiled loops rely on this number"
        norms = np.empty(offsets.size - 1)
        survey = self._add_compiled if loops.compiled() else self._add_in_numpy
        survey(rows, offsets, skip, norms)
        return norms

    def _add_compiled(self, rows: Rows, offsets: IntArray, skip: BoolArray | None, norms: FloatArray) -> None:
        P, Pt, B = self._public
        size = self._centre.size
        head = (*loops.contiguous(rows), offsets, norms.size, self._d, loops.padded(self._d), self._shift)
        projection = (P, 0 if Pt is None else len(Pt), _width(P), Pt)
        flags = None if skip is None else skip.astype(np.uint8)
        which = (ctypes.c_int(self._kind), B, _width(self._matrix), _width(B), self._first)
        measure = (size, self._centre if self._centre.any() else None, stretch(padded_width(size)))
        radii = (self._inner.size, self._inner, self._per_grid, self._sums)
        loops.call("people_survey", *head, *projection, flags, *which, *measure, *radii, norms, *self._work)

    @cached_property
    def _public(self) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """P, its transpose and the matrix, padded with zeros for the loops."""
        wide, P, Pt, B = loops.padded(self._d), None, None, None
        if self._matrix is not None:
            B = _padded(self._matrix, wide, loops.padded(_width(self._matrix) + self._spare))
        if self._removed is not None:
            P = _padded(self._removed, wide, loops.padded(_width(self._removed)))
            Pt = loops.padded_columns(self._removed.T)
        return P, Pt, B

    @cached_property
    def _work(self) -> tuple[FloatArray, FloatArray]:
        """Work space for the sum over a unit's rows, and for everything else."""
        P, _, B = self._public
        wide, size = loops.padded(self._d), self._centre.size
        columns = wide + _width(B) + _width(P)
        return np.empty(self._sum_entries), np.empty(GROUP * columns + size + padded_width(size))

    @property
    @abstractmethod
    def _sum_entries(self) -> int:
        """How many numbers the sum over a unit's rows has, with padding."""

    @abstractmethod
    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        """Return the tensors of units, as the compiled loop computes them, from shifted and projected rows."""

    def _add_in_numpy(self, rows: Rows, offsets: IntArray, skip: BoolArray | None, norms: FloatArray) -> None:
        """Numpy version of the compiled loop: explicit tensors of a few units at a time."""
        explicit = TensorSurveyor(self._centre, self._clips)
        step = max(1, _FORMED_ENTRIES // self._centre.size)
        for start in range(0, norms.size, step):
            ends = offsets[start : start + step + 1]
            x = loops.shifted(rows[ends[0] : ends[-1]], self._shift)
            x = x if self._removed is None else loops.projected_out(x, self._removed)
            where = slice(start, start + step)
            norms[where] = explicit.add(self._tensors(x, ends - ends[0]), None if skip is None else skip[where])
        for q, more in enumerate(explicit.sums()):
            self._sums[q] += more.ravel()


class MeanProductSurveyor(MeanSurveyor):
    """Surveyor of means of x (W^T x)^T: shape (d, m)."""

    _kind = 0

    def __init__(self, W: FloatArray, centre: FloatArray, clips: Sequence[Clip], **same: Any) -> None:
        super().__init__(len(W), W, centre, clips, **same)

    @property
    def _sum_entries(self) -> int:
        return _width(self._matrix) * loops.padded(self._d)

    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        assert self._matrix is not None
        return loops.outer_means(x, loops.row_product(x, self._matrix), offsets, _bad(x))


class MeanMatrixSurveyor(MeanSurveyor):
    """Surveyor of means of x x^T: shape (d, d).

    Only the diagonal and the entries right of it are summed, because the products commute.
    """

    _kind = 1

    def __init__(self, d: int, centre: FloatArray, clips: Sequence[Clip], **same: Any) -> None:
        super().__init__(d, None, centre, clips, **same)

    @property
    def _sum_entries(self) -> int:
        return self._d * loops.padded(self._d)

    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        return symmetric_part(loops.outer_means(x, x, offsets, _bad(x)))


class MeanRowSurveyor(MeanSurveyor):
    """Surveyor of mean rows: shape (d,)."""

    _kind = 2

    def __init__(self, centre: FloatArray, clips: Sequence[Clip], **same: Any) -> None:
        super().__init__(centre.size, None, centre, clips, **same)

    @property
    def _sum_entries(self) -> int:
        return loops.padded(self._d)

    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        return loops.outer_means(x, np.ones((len(x), 1)), offsets, _bad(x))[:, :, 0]


class MeanVarianceSurveyor(MeanSurveyor):
    """Surveyor of means of the numbers of `VarianceSurveyor`; a row with an infinite or nan number is invalid."""

    _kind = 3
    _spare = 1  # a column for the rest of ||x||^2

    def __init__(
        self, U: FloatArray, entries: slice, centre: FloatArray, clips: Sequence[Clip], **same: Any
    ) -> None:
        super().__init__(len(U), U, centre, clips, **same)
        self._first = range(_width(self._matrix) + 1)[entries].start

    @property
    def _sum_entries(self) -> int:
        return _width(self._matrix) + 1

    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        assert self._matrix is not None
        whole = loops.with_rest(loops.row_product(x, self._matrix), loops.squared_row_norms(x))
        bad: BoolArray = np.logical_not(np.isfinite(whole).all(axis=1))
        means = loops.outer_means(whole, np.ones((len(x), 1)), offsets, bad)[:, :, 0]
        return means[:, self._first : self._first + self._centre.size]


def _bad(x: FloatArray) -> BoolArray:
    """Return which rows have a squared norm that is not finite."""
    return ~np.isfinite(loops.squared_row_norms(x))


def _width(matrix: FloatArray | None) -> int:
    return 0 if matrix is None else matrix.shape[1]


def _padded(matrix: FloatArray, rows: int, columns: int) -> FloatArray:
    out = np.zeros((rows, columns))
    out[: matrix.shape[0], : matrix.shape[1]] = matrix
    return out
