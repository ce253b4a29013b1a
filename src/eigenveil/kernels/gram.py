"""Sum of the matrices x x^T over dense rows: rows are rounded to integers, and BLAS multiplies them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import loops
from eigenveil.kernels.clips import Clip
from eigenveil.kernels.columns import AnyRows, as_taken, placed
from eigenveil.kernels.fixed_point import inner_radius
from eigenveil.kernels.loops import GROUP
from eigenveil.kernels.row_loop import FLOOR, norm_error, upper

_BLOCK_ENTRIES, _FEWEST_ROWS = 1 << 21, 1024
"""Number of entries, and least number of rows, that are multiplied at a time.

There should be far more rows than columns, because every product is added to d^2 numbers.
"""
_BITS = 32
_MOST_ROWS = 1 << (53 - _BITS)
_MOST_HELD = 1 << (62 - _BITS)
"""Most rows in the low word of the sums."""
_ROUND = 1.5 * 2.0**52


class GramSurveyor:
    """Surveyor of x x^T over dense rows x (minus a shift): norms ||x||^2, and for every clip the sum of y y^T.

    The vector y is x, rounded to integers. Because rows are rounded instead of matrices, each entry of a matrix
    needs only a multiplication and an addition.

    Formal guarantees
    -----------------
    *Contribution of a row.* Let R be a radius, g = 2^exponent and h = 2^row_exponent. A row becomes the vector y
    of the integers nearest to c x/h, c = min(1, r'/u), where u is not below ||x|| (`norm_error`, and 2^-1000 for
    squares that underflow) and r' = (root - sqrt(d)/2 h) (1 - 2^-40). Floating-point errors change c x by at most
    a relative 2^-50, and rounding by at most sqrt(d)/2 h, so ||y|| h <= root. By construction root^2 <= R' = R -
    (d + 1) g. So ||y y^T|| h^2 = ||y||^2 h^2 <= R'.

    *Sums.* h is such that R'/h^2 <= 2^32. Over 2^21 rows all partial sums of products y_k y_l are integers up to
    2^53. They are exact in float64, whatever order and fused operations BLAS uses. Then they are added to int64,
    which holds up to 2^30 rows, that is at most 2^62. Before there are more, everything but the low 32 bits moves
    to a high word. A row adds at most 1 to it, so it is exact for 2^62 rows, more than any machine can read.

    *Range.* So the sum is known exactly when it is divided by a power of two and rounded down. Only then is it
    reduced modulo 2^64, which is post-processing (`Grant`). A sum that was reduced first would lose the bits that
    a division moves down, and a row could change the result by far more than R.

    *Sensitivity.* Sums over all units are rounded down to multiples of g, which changes the difference between
    neighbouring datasets by less than a step per entry, that is by less than d g over all d^2 entries. So sums of
    neighbouring datasets differ by at most R.

    A unit whose ||x||^4 overflows is invalid, as it is for `RowSurveyor`.
    """

    def __init__(self, d: int, clips: Sequence[Clip], *, shift: FloatArray | None = None) -> None:
        self._d, self._clips = d, clips
        self._shift = None if shift is None else np.ascontiguousarray(shift, dtype=np.float64)
        within = [inner_radius(size=d * d, radius=c.radius, exponent=c.exponent, steps=1.0) for c in clips]
        self._row_exponents = [math.ceil((math.frexp(radius)[1] - _BITS) / 2) for radius in within]
        roots = [math.nextafter(math.sqrt(radius), 0.0) for radius in within]
        pairs = zip(roots, self._row_exponents, strict=True)
        self._inner = np.array([inner_radius(size=d, radius=root, exponent=h) for root, h in pairs])
        self._per_grid = np.ldexp(1.0, -np.array(self._row_exponents, dtype=np.int64))
        self._sums = np.zeros((len(clips), d, d), dtype=np.int64)
        self._high: IntArray | None = None
        self._rows = self._waiting = self._held = 0

    def fresh(self) -> GramSurveyor:
        """Return a copy with empty sums."""
        return GramSurveyor(self._d, self._clips, shift=self._shift)

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes except the work space; sums in floats are converted to integers first."""
        self._settle()
        return {name: value for name, value in vars(self).items() if name not in ("_work", "_near", "_whole_rows")}

    @cached_property
    def _near(self) -> FloatArray:
        """Sums over some rows, exact in floats."""
        return np.zeros((len(self._clips), self._d, self._d))

    @cached_property
    def _whole_rows(self) -> FloatArray:
        """Rows as integers, for every clip; the first `_waiting` of them have not been multiplied yet."""
        return np.empty((len(self._clips), max(_FEWEST_ROWS, _BLOCK_ENTRIES // self._d), self._d))

    @cached_property
    def _work(self) -> FloatArray:
        return np.empty(GROUP * self._d)

    def add(self, chunk: AnyRows, skip: BoolArray | None = None) -> FloatArray:
        """Add rows of shape (units, d); return their norms."""
        chunk = as_taken(chunk)
        norms = np.empty(len(chunk))
        start = 0
        while start < len(norms):
            where = slice(start, start + self._whole_rows.shape[1] - self._waiting)
            start = min(where.stop, len(norms))
            after = self._waiting + start - where.start
            y = self._whole_rows[:, self._waiting : after]
            self._whole(chunk[where], None if skip is None else skip[where], norms[where], y)
            self._waiting = after
            if after == self._whole_rows.shape[1]:
                self._multiply()
        return norms

    def merge(self, other: GramSurveyor) -> None:
        """Add the sums of another surveyor."""
        other._settle()
        self._make_room(other._held)
        other._make_room(self._held)
        self._sums += other._sums
        self._held += other._held
        if other._high is not None:
            self._high = other._high + (0 if self._high is None else self._high)

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, of shape (d, d), rounded down to its grid, modulo 2^64."""
        self._settle()
        ups = [2 * h - clip.exponent for h, clip in zip(self._row_exponents, self._clips, strict=True)]
        if self._high is None:
            return [_shifted(total, up) for total, up in zip(self._sums, ups, strict=True)]
        self._carry()
        words = zip(self._high, self._sums, ups, strict=True)
        return [_shifted(high, up + _BITS) + _shifted(low, up) for high, low, up in words]

    def _multiply(self) -> None:
        """Add y y^T for all rows that have not been multiplied yet."""
        if self._rows + self._waiting > _MOST_ROWS:
            self._to_integers()
        for q, y in enumerate(self._whole_rows[:, : self._waiting]):
            self._near[q] += y.T @ y
        self._rows, self._waiting = self._rows + self._waiting, 0

    def _settle(self) -> None:
        """Multiply the remaining rows, and move the sums in floats to integers."""
        if self._waiting:
            self._multiply()
        self._to_integers()

    def _to_integers(self) -> None:
        if self._rows:
            self._make_room(self._rows)
            self._sums += self._near.astype(np.int64)
            self._near[:] = 0.0
            self._held, self._rows = self._held + self._rows, 0

    def _make_room(self, rows: int) -> None:
        """Make sure that the low word can take the sums of some rows."""
        if self._held + rows > _MOST_HELD:
            self._carry()

    def _carry(self) -> None:
        """Move all but the low 32 bits of the sums to the high word. The rest is at most that of one row."""
        self._high = (self._sums >> _BITS) + (0 if self._high is None else self._high)
        self._sums = self._sums & ((1 << _BITS) - 1)  # not in place: what a worker sent may be read-only
        self._held = 1

    def _whole(self, rows: AnyRows, skip: BoolArray | None, squares: FloatArray, y: FloatArray) -> None:
        """Write rows as integers, for every clip, to `y`, and ||x||^2 (infinite for invalid rows) to `squares`."""
        error = norm_error(self._d, 1)
        if loops.compiled():
            flags = None if skip is None else skip.astype(np.uint8)
            head = (*placed(rows), squares.size, self._d, self._shift, flags, error)
            if not len(y):
                loops.call("rows_rounded", *head, 0, self._inner, self._per_grid, squares, y, self._work)
            for inner, per_grid, whole in zip(self._inner, self._per_grid, y, strict=True):
                clip = (1, np.array([inner]), np.array([per_grid]))
                loops.call("rows_rounded", *head, *clip, squares, whole, self._work)
            return
        x = loops.shifted(np.asarray(rows), self._shift)
        with np.errstate(all="ignore"):
            s = loops.squared_row_norms(x)
            bad = ~np.isfinite(s * s) | (False if skip is None else skip)
            squares[:] = np.where(bad, np.inf, s)
            norms = upper(s, error * s + FLOOR)
            for inner, per_grid, whole in zip(self._inner, self._per_grid, y, strict=True):
                c = np.where(norms <= inner, 1.0, inner / norms)
                whole[:] = (x * c[:, None] * per_grid + _ROUND) - _ROUND
        y[:, bad] = 0.0


def _shifted(whole: IntArray, up: int) -> IntArray:
    """Return integers times 2^up, rounded down, modulo 2^64."""
    return whole << up if up >= 0 else whole >> -up
