"""One pass over units of several dense rows: a mean over each unit's good rows, one unit at a time."""

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
from eigenveil.kernels.columns import Columns
from eigenveil.kernels.fixed_point import padded_width, stretch, symmetric_part
from eigenveil.kernels.loops import GROUP

_FORMED_ENTRIES = 1 << 20


class People(NamedTuple):
    """Rows of shape (n, d), of which ``offsets[u]:offsets[u + 1]`` are those of unit u; offsets start at 0."""

    rows: Rows | Columns
    offsets: IntArray


class MeanSurveyor(ClippedSums, ABC):
    """A mean over each unit's good rows, less a centre: norms, and for every clip the sum of the clipped integers.

    Rows, less a shift and less P P^T x where directions P are removed, are good if their squared norm is finite; a
    unit without a good row is bad.

    Formal guarantees
    -----------------
    Every entry of a mean is summed over the unit's good rows in their order, starting from 0, and divided by their
    number. So what is computed is a function of the unit and of public numbers, to the bit, wherever its rows
    stand and however many rows a loop takes at a time: zeros that pad a row add 0 to a sum that is not -0, which
    changes no bit of it. The mean, less the centre, then goes through the very operations of `TensorSurveyor`: the
    same tree of additions for its squared norm, the same factor c = min(1, r'/u), the same rounding. So the
    argument of `clip_to_grid` holds as it stands for the computed residual, and what a unit adds has norm at most
    R. Rounding by adding 1.5 2^52 gives the nearest integer, ties to even, of a number below 2^51; where r' is
    2^50 steps or more, numbers are rounded one by one. Integers add exactly, in any order.

    Without compiled loops tensors are formed and handed to a `TensorSurveyor`, which gives the same bits.

    Parameters
    ----------
    d : int
        Number of columns.
    matrix : array of shape (d, m), optional
        What rows are multiplied by.
    centre, clips, shift, removed
        As for `RowSurveyor`.
    """

    _made_again = ("_work", "_public")
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
        """Take in people."""
        rows, offsets = np.asarray(chunk.rows), np.ascontiguousarray(chunk.offsets, dtype=np.int64)
        rows = rows if rows.dtype == np.float32 else np.asarray(rows, dtype=np.float64)
        ordered = offsets[0] == 0 and offsets[-1] <= len(rows) and bool(np.all(np.diff(offsets) >= 0))
        assert ordered, "loops go over memory by these numbers"
        assert rows.shape[1] == self._d, "and by this one"
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
        """P, its transpose and the matrix, padded with zeros as loops need them."""
        wide, P, Pt, B = loops.padded(self._d), None, None, None
        if self._matrix is not None:
            B = _padded(self._matrix, wide, loops.padded(_width(self._matrix) + self._spare))
        if self._removed is not None:
            P = _padded(self._removed, wide, loops.padded(_width(self._removed)))
            Pt = loops.padded_columns(self._removed.T)
        return P, Pt, B

    @cached_property
    def _work(self) -> tuple[FloatArray, FloatArray]:
        """The sum over a unit's rows, and all else."""
        P, _, B = self._public
        wide, size = loops.padded(self._d), self._centre.size
        columns = wide + _width(B) + _width(P)
        return np.empty(self._sum_entries), np.empty(GROUP * columns + size + padded_width(size))

    @property
    @abstractmethod
    def _sum_entries(self) -> int:
        """How many numbers the sum over a unit's rows takes, padded."""

    @abstractmethod
    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        """The tensors of units, as the compiled loop computes them, from rows shifted and projected."""

    def _add_in_numpy(self, rows: Rows, offsets: IntArray, skip: BoolArray | None, norms: FloatArray) -> None:
        """The numpy twin: explicit tensors of a few units at a time."""
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
    """Means of x (W^T x)^T: shape (d, m)."""

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
    """Means of x x^T: shape (d, d). Only what is right of the diagonal is summed, as the products commute."""

    _kind = 1

    def __init__(self, d: int, centre: FloatArray, clips: Sequence[Clip], **same: Any) -> None:
        super().__init__(d, None, centre, clips, **same)

    @property
    def _sum_entries(self) -> int:
        return self._d * loops.padded(self._d)

    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        return symmetric_part(loops.outer_means(x, x, offsets, _bad(x)))


class MeanRowSurveyor(MeanSurveyor):
    """Mean rows: shape (d,)."""

    _kind = 2

    def __init__(self, centre: FloatArray, clips: Sequence[Clip], **same: Any) -> None:
        super().__init__(centre.size, None, centre, clips, **same)

    @property
    def _sum_entries(self) -> int:
        return loops.padded(self._d)

    def _tensors(self, x: FloatArray, offsets: IntArray) -> FloatArray:
        return loops.outer_means(x, np.ones((len(x), 1)), offsets, _bad(x))[:, :, 0]


class MeanVarianceSurveyor(MeanSurveyor):
    """Means of the numbers of `VarianceSurveyor`; a row one of whose numbers is not finite is bad."""

    _kind = 3
    _spare = 1  # for the rest

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
    """Rows whose squared norm is not finite."""
    return ~np.isfinite(loops.squared_row_norms(x))


def _width(matrix: FloatArray | None) -> int:
    return 0 if matrix is None else matrix.shape[1]


def _padded(matrix: FloatArray, rows: int, columns: int) -> FloatArray:
    out = np.zeros((rows, columns))
    out[: matrix.shape[0], : matrix.shape[1]] = matrix
    return out
