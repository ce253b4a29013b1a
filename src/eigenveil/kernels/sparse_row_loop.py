"""The pass over sparse rows, with implicit shift and centre."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import loops
from eigenveil.kernels.fixed_point import exact_dots, exact_sum
from eigenveil.kernels.row_loop import FLOOR, TINY, Loop, upper_norm, upper_square

Y_BITS = 29
"""Number of bits of a row's round(c y y_scale) in the lower word of the sum."""

STRETCH = 2.0**22
"""Largest ratio of c ||x|| ||y||, and of c ||shift|| ||y||, to the clipped norm of a row."""


class SparseRowLoop(Loop):
    """Loop like `RowLoop` over rows of a CSR array; shift and centre stay implicit.

    There is one of each of the following per radius. `sums` is the part of the sum on the stored entries, modulo
    2^64. `y_sums` is the sum of w = round(c y y_scale), kept in two words: the sum of w >> 29 and the sum of the
    remaining low bits of w (0 without a shift). `f_sums` is the sum of round(c f_scale). The clipped sum is
    sums - shift y_sums^T/(y_scale grid) - f_sums C/(f_scale grid).

    Requirements: with a shift, `y_scales` of at most 2 ||shift|| sqrt(m)/grid and inner/grid <= 2^32; without one,
    (inner + ||C||)/grid < 2^51. At most 2^31 rows.

    Formal guarantees
    -----------------
    *Norms are upper bounds.* Here ||x - shift||^2 = xx - 2 xm + mm and t = C^T x - C^T shift. As in `norm_error`,
    with xx + mm + d T in place of s + d T, and n the number of stored entries: the sums have at most n + m + 8
    roundings, and their absolute terms are at most 2 (xx + mm) yy + 2 sqrt(2) ||y|| ||C|| sqrt(xx + mm), which is
    below 4 ((xx + mm) yy + ||C||^2). So (n + m + 64) 2^-50 is a relative bound. Underflow adds the same as in
    `norm_error`.

    *Range.* The bound of the norm is not below the root of its margin, 2^-50 (n + m + 64) (xx + mm + d T) (yy + m
    T), and c times the bound is at most `inner`. So c ||x|| ||y|| and c ||shift|| ||y|| are at most 2^25/sqrt(m +
    64) times `inner`, up to rounding, hence `STRETCH` times. That is more than `inner` + ||C|| because x is
    multiplied before it is shifted.

    The integers V nearest to c x y^T/grid are therefore below 2^22 2^32 = 2^54. (Without a shift, c ||x|| ||y|| is
    at most `inner` + ||C||.) Integers below 2^51 can be computed by adding 1.5 2^52; this is used only if ||x||
    ||y|| c/grid < 2^50. Otherwise rint is used, which rounds the same way. Sums of V are modulo 2^64.

    *Words.* |w| <= c ||y|| y_scale is at most 2 sqrt(m) 2^25/sqrt(m + 64) 2^32 < 2^58, and each of its words is
    below 2^30, so sums of 2^31 of them are below 2^61.
    """

    def __init__(
        self,
        W: FloatArray | None,
        C: FloatArray,
        *,
        inner: Sequence[float],
        exponents: Sequence[int],
        y_scales: Sequence[float],
        f_scale: float,
        shift: FloatArray | None = None,
    ) -> None:
        self.y_scales = np.array(y_scales, dtype=np.float64)
        weights = np.zeros_like(C) if W is None else W
        self.centred = bool(np.any(C))  # if C is 0, so is C^T x, and it is not computed
        super().__init__(
            weights, C, inner=inner, exponents=exponents, f_scale=f_scale, shift=shift, centred=self.centred
        )
        self.both_shift = np.zeros(self.both.shape[1])
        self.mm = 0.0
        if self.shift is not None:
            self.both_shift[:] = exact_dots(self.both, self.shift)
            self.mm = upper_square(upper_norm(self.shift))
        if W is None:
            self.both_shift[: self.m] = -1.0  # so that y = 0 - (-1) = 1

    def _start(self) -> None:
        super()._start()
        self._y_words = np.zeros((self.inner.size, 2, self.m), dtype=np.int64)

    @property
    def _totals(self) -> tuple[IntArray, ...]:
        return (*super()._totals, self._y_words)

    @property
    def y_sums(self) -> list[list[int]]:
        """The sum of round(c y y_scale) for every radius: m integers."""
        return [[(h << Y_BITS) + low for h, low in zip(*words.tolist(), strict=True)] for words in self._y_words]

    def add(self, rows: sparse.csr_array[Any, Any], skip: BoolArray | None = None) -> FloatArray:
        """Add a block of rows; return their norms, as `RowLoop.add` does."""
        norms = np.empty(rows.shape[0])
        data, indices, indptr = _entries(rows)
        if not loops.compiled():
            self._add_in_numpy(data, indices, indptr, skip, norms)
        else:
            flags = None if skip is None else skip.astype(np.uint8)
            head = (data, indices, indptr, norms.size, self.shift, self.mm, flags, self.both, self.both_shift)
            centred = ctypes.c_int(self.centred)
            sizes = (self.m, self.both.shape[1], centred, self.cc, 2.0**-50, self.inner.size)
            clips = (self.inner, self.per_grid, self.y_scales, self.f_scale)
            totals = (self.d, self.mp, self._sums, self._y_words, self.f_sums)
            loops.call("csr_survey", *head, *sizes, *clips, *totals, norms, np.empty(self.both.shape[1] + self.mp))
        return norms

    def _add_in_numpy(
        self,
        data: FloatArray,
        indices: npt.NDArray[np.int32],
        indptr: IntArray,
        skip: BoolArray | None,
        norms: FloatArray,
    ) -> None:
        """Numpy version of the compiled loop, row by row."""
        m, shift = self.m, self.shift
        with np.errstate(all="ignore"):
            for i in range(norms.size):
                where = slice(int(indptr[i]), int(indptr[i + 1]))
                x, k = data[where], indices[where]
                y = np.zeros(self.both.shape[1])
                xx = xm = 0.0
                for value, index in zip(x, k, strict=True):
                    y += self.both[index] * value
                    xx += value * value
                    xm += value * shift[index] if shift is not None else 0.0
                y -= self.both_shift
                yy = cross = 0.0
                for j in range(m):
                    yy += y[j] * y[j]
                    cross += y[j] * y[m + j] if self.centred else 0.0
                whole = ((xx + self.mm) + self.d * TINY) * (yy + m * TINY)
                exact = ((xx - 2 * xm) + self.mm) * yy - 2 * cross + self.cc
                margin = 2.0**-50 * float(x.size + m + 64) * (whole + self.cc) + FLOOR
                norms[i] = np.sqrt(max(exact, 0.0) + margin) * (1 + 2.0**-50)
                if (skip is not None and skip[i]) or not np.isfinite([xx, exact, norms[i]]).all():
                    norms[i] = np.inf
                    continue
                for q, inner in enumerate(self.inner):
                    f = 1.0 if norms[i] <= inner else inner / norms[i]
                    self.f_sums[q] += int(np.rint(f * self.f_scale))
                    if shift is not None:
                        w = np.rint(y[:m] * f * self.y_scales[q]).astype(np.int64)
                        self._y_words[q] += [w >> Y_BITS, w & ((1 << Y_BITS) - 1)]
                    moved = np.rint((y[:m] * f * self.per_grid[q]) * x[:, None]).astype(np.int64)
                    np.add.at(self._sums[q], (k[:, None], np.arange(m)), moved)


class SparseSpread:
    """Function like `spread` for rows x of a CSR array: y_j^2, y = U^T x, and last the rest of ||x||^2.

    The shift, which is subtracted from every row, stays implicit. Public numbers are computed once for all blocks.
    """

    def __init__(self, U: FloatArray, shift: FloatArray | None) -> None:
        self._k, self._shift = U.shape[1], shift
        self._wide = loops.padded_columns(U)
        self._along = np.zeros(self._wide.shape[1]) if shift is None else exact_dots(self._wide, shift)
        with np.errstate(over="ignore"):
            self._whole = 0.0 if shift is None else exact_sum(shift**2)

    def __call__(self, rows: sparse.csr_array[Any, Any]) -> FloatArray:
        """Return the k + 1 numbers of every row; nan for an invalid row."""
        n, k = rows.shape[0], self._k
        entries = _entries(rows)
        if not loops.compiled():
            return loops.with_rest(*self._in_numpy(*entries))
        out = np.empty((n, k + 1))
        public = (self._shift, self._whole, self._wide, self._along, k, self._wide.shape[1])
        loops.call("csr_spread", *entries, n, *public, out, np.empty(self._wide.shape[1]))
        return out

    def _in_numpy(
        self, x: FloatArray, column: npt.NDArray[np.int32], indptr: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Numpy version of the compiled loop: y and squared norms, with entries added one by one in order."""
        n, shift = indptr.size - 1, self._shift
        of_row = np.repeat(np.arange(n), np.diff(indptr))
        with np.errstate(all="ignore"):
            y = sums_by(of_row, n, (x * u[column] for u in self._wide.T[: self._k]))
            if shift is None:
                return y, sums_by(of_row, n, [x * x])[:, 0]
            there = shift[column]
            squares = sums_by(of_row, n, [(x - there) ** 2, there**2])
            elsewhere = np.maximum(self._whole - squares[:, 1], 0.0)
            return y - self._along[: self._k], squares[:, 0] + elsewhere


def sums_by(group: IntArray, groups: int, columns: Iterable[FloatArray]) -> FloatArray:
    """Return the sum of each column's values over every group, added one by one in order.

    No group affects another.

    Examples
    --------
    >>> sums_by(np.array([0, 2, 2]), 3, [np.array([1.0, 2.0, 3.0])]).tolist()
    [[1.0], [0.0], [5.0]]
    """
    sums = [np.bincount(group, weights=values, minlength=groups) for values in columns]
    return np.stack(sums, axis=1).astype(np.float64, copy=False)  # without values, bincount returns integers


def _entries(rows: sparse.csr_array[Any, Any]) -> tuple[FloatArray, npt.NDArray[np.int32], IntArray]:
    """Return values, column numbers and row starts, in the types that loops accept."""
    with np.errstate(all="ignore"):
        data = rows.data.astype(np.float64, copy=False)
    return data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64)
