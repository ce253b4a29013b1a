"""The pass over rows of float32: products and rounding in single precision, which is twice as fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eigenveil._typing import BoolArray, FloatArray, SingleArray
from eigenveil.kernels import loops
from eigenveil.kernels.columns import AnyRows, places
from eigenveil.kernels.loops import GROUP
from eigenveil.kernels.row_loop import FLOOR, Loop, norm_error, residuals, upper, upper_norm

SPAN = 2.0**22 - 2.0**12
"""Upper limit of (inner + ||C||)/2^exponent: rounding by adding 1.5 2^23 needs numbers below 2^22."""

_LANES, _SLAB = 16, 64
_ROUND = np.float32(1.5 * 2.0**23)
_SHORTEST, _LONGEST = 2.0**-90, 2.0**80


class SingleRowLoop(Loop):
    """Loop like `RowLoop` for rows of float32, which stay float32: with a shift, x is float32(x - shift).

    y = W^T x and t = C^T x are summed in float32 over 64 columns at a time, and these sums are added in float64.
    In two cases a row gets y and t in float64, as from `RowLoop`: if its squared norm s is not within 2^-90 to
    2^80, and if the error bound exceeds 1/128 of the squared norm of x y^T - C, as it does near the centre. Then c
    y/2^exponent is rounded to float32, and so is its product with x.

    Requirements: `fits(W, C)`, exponents of at least -100, and (inner + ||C||)/2^exponent <= `SPAN`.

    Formal guarantees
    -----------------
    *Norms are upper bounds.* An entry of t is a sum of products. Each product is subject to at most 64 roundings
    to float32 and then some to float64, so the entry has an error of at most (2^-18 + 2^-35) sum_k |C_kj x_k|.
    Over all j, with weights y_j and doubled, that is (2^-18 + 2^-35) (s yy + ||C||^2) by Cauchy-Schwarz.

    Underflow adds less than 2^-30 (s yy + ||C||^2). If C is 0, it adds nothing. Otherwise products have an error
    of 2^-150 each, in total of 2^-149 sqrt(m) d ||y|| <= 2^-125 ||y||, while s yy + ||C||^2 >= 2 sqrt(s) ||C||
    ||y|| >= 2^-94 ||y||. Entries of C have an error of 2^-150 each, in total of 2^-149 sqrt(d m s yy) <= 2^-75
    sqrt(s yy) ||C||. Nothing overflows: |y_j|, |t_j| < 2^81. `single_error` exceeds the sum of all these and
    `norm_error`.

    *Rounding.* The integer for v = c x_k y_j/2^exponent lies within 1/2 + 2^-22.9 |v| + 2^-21 of v. First,
    c y/2^exponent has a relative error of 2^-24 or, if it underflows, an error of 2^-150, which is multiplied by
    |x_k| < 2^128. Then the product has another error of 2^-24 or 2^-150. It is rounded to the nearest integer,
    because |v| <= SPAN, which follows from ||c x y^T|| <= inner + ||C||. c y_j/2^exponent does not overflow: if
    ||x|| < 2^-45 it is below 2^-5 2^100, and otherwise at most SPAN/max_k |x_k| <= 2^22 2^45 sqrt(d).

    *Sums.* Sums of 256 integers below 2^22 fit into 32 bits.
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
    ) -> None:
        super().__init__(W, C, inner=inner, exponents=exponents, f_scale=f_scale, shift=shift, lanes=_LANES)
        self.both_single = self.both.astype(np.float32)

    @cached_property
    def _near(self) -> npt.NDArray[np.uint32]:
        """Sums over a few rows; zero between calls."""
        return np.zeros(self._sums.shape, dtype=np.uint32)

    @cached_property
    def _work(self) -> FloatArray:
        return np.empty(GROUP * (self.d + self.both.shape[1] + self.mp))

    def add(self, chunk: AnyRows, skip: BoolArray | None = None) -> FloatArray:
        """Add a block of float32 rows; return their norms, as `RowLoop.add` does."""
        norms = np.empty(len(chunk))
        if not loops.compiled():
            self._add_in_numpy(self._shifted(np.asarray(chunk)), skip, norms)
        else:
            flags = None if skip is None else skip.astype(np.uint8)
            head = (*places(chunk), norms.size, self.d, self.shift, flags, self.both, self.both_single, self.m)
            errors = (self.cc, norm_error(self.d, self.m), single_error(self.d, self.m))
            radii = (self.inner.size, self.inner, self.per_grid, self.f_scale, self.mp)
            totals = (self._near, self._sums, self.f_sums)
            loops.call("float_survey", *head, self.both.shape[1], *errors, *radii, *totals, norms, self._work)
        return norms

    def _shifted(self, rows: SingleArray) -> SingleArray:
        with np.errstate(all="ignore"):
            return rows if self.shift is None else (rows.astype(np.float64) - self.shift).astype(np.float32)

    def _add_in_numpy(self, x: SingleArray, skip: BoolArray | None, norms: FloatArray) -> None:
        """Numpy version of the compiled loop: the same operations in the same order."""
        m = self.m
        with np.errstate(all="ignore"):
            yt = self._products(x)
            s = loops.squared_row_norms(x.astype(np.float64))
            exact, whole = residuals(s, yt, self.d, m, self.cc)
            margin = single_error(self.d, m) * (whole + self.cc) + FLOOR
            hard = ~((s >= _SHORTEST) & (s <= _LONGEST) & (margin <= exact * 2.0**-7))
            yt[hard] = loops.row_product(x[hard], self.both)
            exact, whole = residuals(s, yt, self.d, m, self.cc)
            margin = np.where(hard, norm_error(self.d, m) * (whole + self.cc) + FLOOR, margin)
            norms[:] = upper(exact, margin)
            bad = ~(np.isfinite(s) & np.isfinite(exact) & np.isfinite(norms))
            if skip is not None:
                bad |= skip
            norms[bad] = np.inf
            x = np.where(bad[:, None], np.float32(0), x)
            for q, (inner, per_grid) in enumerate(zip(self.inner, self.per_grid, strict=True)):
                f = np.where(norms <= inner, 1.0, inner / norms)
                self.f_sums[q] += int(np.rint(f * self.f_scale).sum())
                cy = np.where((f > 0)[:, None], yt[:, :m] * f[:, None] * per_grid, 0.0).astype(np.float32)
                for i in range(len(x)):
                    moved = (cy[i] * x[i][:, None] + _ROUND).view(np.int32) - _ROUND.view(np.int32)
                    self._sums[q, :, :m] += moved

    def _products(self, x: SingleArray) -> FloatArray:
        out = np.zeros((len(x), self.both.shape[1]))
        for start in range(0, self.d, _SLAB):
            part = np.zeros(out.shape, dtype=np.float32)
            with np.errstate(all="ignore"):
                for k in range(start, min(start + _SLAB, self.d)):
                    part += x[:, k, None] * self.both_single[k]
            out += part
        return out


def single_error(d: int, m: int) -> float:
    """Return the relative error bound of squared norms that `SingleRowLoop` computes in single precision."""
    return 2.0**-18 * (1 + 2.0**-8) + norm_error(d, m)


def fits(W: FloatArray, C: FloatArray) -> bool:
    """Return whether products with W and C stay within the range of single precision."""
    d, m = C.shape
    centre = not C.any() or 2.0**-49 <= upper_norm(C) <= 2.0**39
    return centre and upper_norm(W) <= 2.0**39 and d * math.sqrt(m) <= 2.0**24
