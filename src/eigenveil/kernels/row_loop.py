"""The pass over dense rows: norms of x (W^T x)^T - C, and clipped integer sums."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import loops
from eigenveil.kernels.columns import AnyRows, as_taken, placed
from eigenveil.kernels.fixed_point import padded_width, squared_norms
from eigenveil.kernels.loops import GROUP, LANES

_ROUND = np.float64(1.5 * 2.0**52)
_ROUND_BITS = _ROUND.view(np.int64)
TINY = 2.0**-960
"""Margin for each square in a sum, far above the error of underflow."""
_CLOSE, _LARGEST_MULTIPLE = 2.0**-12, 2.0**35
"""A centre is replaced by W times a diagonal matrix if that changes no squared norm by more than the first number,
relatively, and the norm of the matrix is below the second."""
FLOOR = 2.0**-1000
"""Absolute margin of every bound of a squared norm."""
_PIECE = 1 << 20
"""Number of entries of a public matrix that `upper_norm` squares at a time, to save memory."""


class Loop:
    """Base class of loops over rows: public numbers, and integer sums.

    Work space is allocated on first use, and never copied or pickled.

    Parameters
    ----------
    W, C : arrays of shape (d, m)
        The matrix and the centre.
    inner, exponents : sequences
        For every radius, the norm to clip to, and the exponent of the grid 2^exponent.
    f_scale : float
        Resolution of the factors c: round(c f_scale) is summed.
    shift : array of shape (d,), optional
        Subtracted from every row first.
    lanes : int
        Columns are padded to a multiple of this number.
    centred : bool
        Whether C^T x is computed with W^T x.
    """

    def __init__(
        self,
        W: FloatArray,
        C: FloatArray,
        *,
        inner: Sequence[float],
        exponents: Sequence[int],
        f_scale: float,
        shift: FloatArray | None = None,
        lanes: int = LANES,
        centred: bool = True,
    ) -> None:
        self.d, self.m = C.shape
        self.shift = None if shift is None else np.ascontiguousarray(shift, dtype=np.float64)
        self.both = loops.padded_columns(*((W, C) if centred else (W,)), lanes=lanes)
        self.mp = loops.padded(self.m, lanes)
        self.inner = np.array(inner, dtype=np.float64)
        self.per_grid = np.ldexp(1.0, -np.array(exponents, dtype=np.int64))
        self.f_scale = float(f_scale)
        self.cc = upper_square(upper_norm(C))
        self._start()

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes except the work space."""
        return {name: value for name, value in vars(self).items() if name not in ("_work", "_near")}

    def _start(self) -> None:
        self._sums = np.zeros((self.inner.size, self.d, self.mp), dtype=np.int64)
        self.f_sums = np.zeros(self.inner.size, dtype=np.int64)

    @property
    def _totals(self) -> tuple[IntArray, ...]:
        """All sums, as arrays to which `merge` adds."""
        return self._sums, self.f_sums

    def fresh(self) -> Self:
        """Return a copy with its own, empty sums."""
        twin = copy.copy(self)
        twin._start()
        return twin

    def merge(self, other: Self) -> None:
        """Add the sums of another loop."""
        for mine, more in zip(self._totals, other._totals, strict=True):
            np.add(mine, more, out=mine)

    @property
    def sums(self) -> list[IntArray]:
        """The sum so far for every radius: an integer array of shape (d, m)."""
        return [total[:, : self.m] for total in self._sums]


class RowLoop(Loop):
    """Loop over rows x: norms of x (W^T x)^T - C, and one clipped, rounded sum per radius.

    `sums` is the sum of the integers nearest to c x y^T / 2^exponent, c = min(1, inner/norm), over valid rows, and
    `f_sums` is the sum of round(c f_scale). The clipped sum is sums - f_sums C/(f_scale 2^exponent).

    Parameters
    ----------
    removed : array of shape (d, rank), optional
        P, with orthogonal columns: P P^T x is subtracted from every row, after the shift.
    """

    def __init__(self, W: FloatArray, C: FloatArray, *, removed: FloatArray | None = None, **same: Any) -> None:
        super().__init__(W, C, **same)
        self.multiples, distance = multiples_of(W, C)
        self.error = norm_error(self.d, self.m) + distance
        if self.multiples is not None:
            self.both = loops.padded_columns(W)
        self.removed = removed
        self._projection: tuple[FloatArray | None, FloatArray | None] = (None, None)
        if removed is not None:
            self._projection = loops.padded_columns(removed), loops.padded_columns(removed.T)

    def _start(self) -> None:
        super()._start()
        self._offsets = np.zeros(1, dtype=np.int64)

    @property
    def _totals(self) -> tuple[IntArray, ...]:
        return (*super()._totals, self._offsets)

    @cached_property
    def _work(self) -> FloatArray:
        return np.empty(GROUP * (self.d + self.both.shape[1] + self.mp + sum(map(_width, self._projection))))

    def add(self, chunk: AnyRows, skip: BoolArray | None = None) -> FloatArray:
        """Add a block of rows; return their norms.

        Norms are not below the true norms of the computed tensors, and infinite for invalid or skipped rows.
        """
        chunk = as_taken(chunk)
        norms = np.empty(len(chunk))
        if not loops.compiled():
            x = loops.shifted(np.asarray(chunk), self.shift)
            self._add_in_numpy(x if self.removed is None else loops.projected_out(x, self.removed), skip, norms)
        else:
            flags = None if skip is None else skip.astype(np.uint8)
            along, across = self._projection
            rank = 0 if self.removed is None else self.removed.shape[1]
            head = (*placed(chunk), norms.size, self.d, self.shift)
            projection = (along, rank, _width(along), across, _width(across))
            public = (self.both, self.m, self.both.shape[1], self.multiples, self.cc, self.error)
            radii = (self.inner.size, self.inner, self.per_grid, self.f_scale, self.mp, self._sums, self.f_sums)
            loops.call("rows_survey", *head, *projection, flags, *public, *radii, norms, self._work)
            self._offsets += -(-norms.size // GROUP) * GROUP
        return norms

    @property
    def sums(self) -> list[IntArray]:
        """The sum so far for every radius: an integer array of shape (d, m)."""
        offset = np.uint64(int(_ROUND_BITS) * int(self._offsets[0]) % (1 << 64))
        return [(total.view(np.uint64) - offset).view(np.int64)[:, : self.m] for total in self._sums]

    def _add_in_numpy(self, x: FloatArray, skip: BoolArray | None, norms: FloatArray) -> None:
        """Numpy version of the compiled loop: the same operations in the same order."""
        m = self.m
        with np.errstate(all="ignore"):
            yt = loops.row_product(x, self.both)
            s = loops.squared_row_norms(x)
            exact, whole = residuals(s, yt, self.d, m, self.cc, multiples=self.multiples)
            norms[:] = upper(exact, self.error * (whole + self.cc) + FLOOR)
            bad = ~(np.isfinite(s) & np.isfinite(exact) & np.isfinite(norms))
            if skip is not None:
                bad |= skip
            norms[bad] = np.inf
            x = np.where(bad[:, None], 0.0, x)
            for q, (inner, per_grid) in enumerate(zip(self.inner, self.per_grid, strict=True)):
                f = np.where(norms <= inner, 1.0, inner / norms)
                self.f_sums[q] += int(np.rint(f * self.f_scale).sum())
                cy = np.where((f > 0)[:, None], yt[:, :m] * f[:, None] * per_grid, 0.0)
                for i in range(len(x)):
                    self._sums[q, :, :m] += rounded(cy[i] * x[i][:, None])


def _width(matrix: FloatArray | None) -> int:
    return 0 if matrix is None else matrix.shape[1]


def rounded(values: FloatArray) -> IntArray:
    """Return the integers nearest to values below 2^51, by the same addition as in C."""
    return (values + _ROUND).view(np.int64) - _ROUND_BITS


def multiples_of(W: FloatArray, C: FloatArray) -> tuple[FloatArray | None, float]:
    """Return numbers a_j with C_j = a_j W_j up to rounding, for all columns, and the distance; else None and 0.

    A centre is an estimate of Sigma W. If the columns of W are eigenvectors of the estimate, the centre is such a
    multiple, and C^T x need not be computed. The rounding of C then counts as distance from x y^T. So only centres
    are accepted to which no x y^T comes close: those with other columns that are not 0 besides their longest.
    """
    with np.errstate(all="ignore"):
        squares, lengths = np.sum(W * W, axis=0), np.sum(C * C, axis=0)
        found = np.where(squares > 0, np.sum(W * C, axis=0) / squares, 0.0)
        small = bool(np.all(np.isfinite(found))) and float(np.linalg.norm(found)) < _LARGEST_MULTIPLE
        away = float(lengths.sum() - lengths.max())
        distance = distance_from_multiples(W, C, found)
        close = distance * float(lengths.sum()) <= _CLOSE * away
    return (found, distance) if small and close else (None, 0.0)


def distance_from_multiples(W: FloatArray, C: FloatArray, multiples: FloatArray) -> float:
    """Return an upper bound of ||C - W diag(multiples)||_F/||C||_F; 0 if both are 0, infinite if only ||C|| is."""
    reach = upper_norm(C)
    with np.errstate(all="ignore"):
        off = upper_norm(C - W * multiples)
    if not reach:
        return 0.0 if not off else math.inf
    return (off / reach + 2.0**-50) * (1 + 2.0**-40)


def residuals(
    s: FloatArray, yt: FloatArray, d: int, m: int, cc: float, *, multiples: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return ||x y^T - C||^2 as computed, from y and t = C^T x side by side; and s yy with a margin for underflow.

    If `multiples` are given, t is y times these.
    """
    yy, cross = np.zeros(len(s)), np.zeros(len(s))
    for j in range(m):
        yy += yt[:, j] * yt[:, j]
        cross += yt[:, j] * (yt[:, m + j] if multiples is None else multiples[j] * yt[:, j])
    whole = (s + d * TINY) * (yy + m * TINY)
    return s * yy - 2 * cross + cc, whole


def upper(exact: FloatArray, margin: FloatArray) -> FloatArray:
    """Return upper bounds of norms; `margin` bounds the errors of the squared norms."""
    bounds: FloatArray = np.sqrt(np.maximum(exact, 0) + margin) * (1 + 2.0**-50)
    return bounds


def upper_norm(C: FloatArray) -> float:
    """Return an upper bound of ||C||, which exceeds ||C|| by at most a relative 2^-46.

    It is 0 only if C is 0, and otherwise at least 2^-1000. Entries are scaled by a power of two to be at most 1,
    so no square that matters underflows and none overflows. The bound is infinite only if ||C|| exceeds the range
    of floats. `squared_norms` has a relative error of at most 22 2^-53 for a piece, and `math.fsum` rounds once.

    Examples
    --------
    >>> upper_norm(np.array([3e-200, 4e-200])) * 1e200, upper_norm(np.array([1e300])), upper_norm(np.zeros(2))
    (5.00..., 1.00...e+300, 0.0)
    """
    largest = abs(float(np.maximum(np.max(C, initial=0.0), -np.min(C, initial=0.0))))
    if largest == 0 or not math.isfinite(largest):
        return largest
    exponent = math.frexp(largest)[1]
    flat, scaled = np.ravel(C), np.zeros((1, min(padded_width(C.size), _PIECE)))
    squares = []
    for start in range(0, flat.size, _PIECE):
        piece = flat[start : start + _PIECE]
        scaled[0, : piece.size], scaled[0, piece.size :] = np.ldexp(piece, -exponent), 0.0
        squares.append(float(squared_norms(scaled)[0]))
    root = math.sqrt(math.fsum(squares)) * (1 + 2.0**-47)
    with np.errstate(over="ignore"):
        return max(float(np.ldexp(root, exponent)), FLOOR)


def upper_square(norm: float) -> float:
    """Return a number that is below norm^2 by at most `FLOOR`, and above it by a relative 1e-15 or so."""
    return norm * norm * (1 + 2.0**-50)


def norm_error(d: int, m: int) -> float:
    """Return the relative error bound of the squared norms of `RowLoop`.

    Formal guarantees
    -----------------
    With y as computed, ||x y^T - C||^2 = s yy - 2 y.t + ||C||^2, where s = ||x||^2, yy = ||y||^2 and t = C^T x.
    Write e for this function, T for `TINY`. The computed squared norm is too small by at most the margin

        e ((s + d T) (yy + m T) + ||C||^2) + `FLOOR`,

    so the root of the computed number plus the margin is an upper bound of the norm.

    *Rounding.* s, yy and t are sums of at most d, m and d products. So s yy and each y_j t_j have an error of at
    most (d + m + 16) 2^-53 times the sum of their absolute terms. These terms are at most s yy + ||C||^2 in total,
    because 2 sum |y_j x_k C_kj| <= 2 ||x|| ||y|| ||C||. Twice that is a quarter of e (s yy + ||C||^2).

    *Underflow.* A product that underflows has an error of at most 2^-1075; a sum never underflows. Let h =
    2^-1074. Then s has an error of d h and yy of m h, so s yy has an error of d h yy + m h s + d m h^2, which is
    below (h/T) (s + d T) (yy + m T), and h/T is below e/8. The product s yy itself has an error of h. y.t has an
    error of m h, and of d h |y_j| for every y_j, because d products in each t_j may underflow: of d h sqrt(m)
    ||y|| in total. With a = e d T yy and b = d m h^2/(e T), 2 d h sqrt(m) ||y|| is 2 sqrt(a b) <= a + b, where a
    is part of the margin and b < d m 2^-1143. All terms without a factor s or yy are below 2^-1001 for any d m <
    2^70. The computed ||C||^2 is too small by at most 2^-1001 (`upper_norm`).

    *Multiples.* If t_j is computed as a_j y_j, let E = C - W diag(a) and ||E|| <= f ||C||. Then e + f takes the
    place of e. (`distance_from_multiples` bounds f: the computed E has an error of a relative 2^-52 of C and of W
    diag(a), which the 2^-50 there covers.) The reason is that C_j^T x = a_j W_j^T x + E_j^T x, and W_j^T x differs
    from the computed y_j by rounding, of at most (d + 1) 2^-53 ||W_j|| ||x||, and by underflow, of at most d h.
    The term of E adds 2 sum |y_j| |E_j^T x| <= 2 ||y|| ||E|| ||x|| <= f (s yy + ||C||^2) to the error. The
    rounding term is as above, with ||W diag(a)|| <= (1 + f) ||C|| in place of ||C||; a_j y_j y_j has two more
    roundings. The underflow term is d h |a_j| |y_j| for every j in place of d h |y_j|, so b grows by ||a||^2 <
    2^70 and is below d m 2^-1073. a_j y_j itself has an error of h, and its product with y_j of h |y_j| + h, which
    is less than the margin for d h |y_j|.

    *Overflow.* If s, the squared norm or its bound is not finite, the row is invalid. Up to rounding, valid rows
    have ||x||, ||y|| and ||x|| ||y|| below 2^512, because s, yy and (s + d T) (yy + m T) are finite.
    """
    return (d + m + 32) * 2.0**-50
