"""Surveyors: norms and clipped integer sums of the units' tensors around a public centre.

All populations are built on them.
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels.columns import AnyRows
from eigenveil.kernels.fixed_point import clip_to_grid, inner_radius, padded_width, squared_norms, to_single
from eigenveil.kernels.row_loop import RowLoop, upper_norm
from eigenveil.kernels.single_row_loop import SPAN, SingleRowLoop, fits
from eigenveil.kernels.sparse_row_loop import STRETCH, SparseRowLoop, SparseSpread

_BLOCK_ENTRIES = 1 << 16
_F_BITS = 30
_MOST_STEP_BITS = 32
_WIDEST = 1000


@dataclass(frozen=True)
class Clip:
    """A clipping radius, and the exponent of the rounding grid 2^exponent."""

    radius: float
    exponent: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", operator.index(self.exponent))  # powers of numpy integers overflow


class Surveyor(Protocol):
    """Reads chunks of units once, accumulates one clipped sum per clip, and returns the norms of each chunk.

    It can be pickled, with its sums and without its work space.
    """

    def fresh(self) -> Self:
        """Return a copy with empty sums, for another thread. It shares the public numbers, so it is cheap."""

    def add(self, chunk: Any, skip: BoolArray | None) -> FloatArray:
        """Add a chunk; return its units' norms, which are infinite for invalid or skipped units."""

    def merge(self, other: Self) -> None:
        """Add the sums of another surveyor."""

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, in grid steps."""


class TensorSurveyor:
    """Surveyor of explicit tensors minus a centre; the first axis of a chunk is the unit.

    A computed residual may differ from the real one in its last bit. All later steps are exact for the computed
    residual, which depends on the unit and the centre alone. A unit whose norm about the origin overflows is
    invalid, whatever the centre is.
    """

    def __init__(self, centre: FloatArray, clips: Sequence[Clip]) -> None:
        self._centre, self._clips = centre, clips
        self._sums = [np.zeros(centre.size, dtype=np.int64) for _ in clips]
        for clip in clips:
            inner_radius(size=centre.size, radius=clip.radius, exponent=clip.exponent)

    def fresh(self) -> TensorSurveyor:
        """Return a copy with empty sums."""
        return TensorSurveyor(self._centre, self._clips)

    def add(self, chunk: FloatArray, skip: BoolArray | None = None) -> FloatArray:
        """Add tensors of shape (units, *centre.shape); return their norms."""
        size = self._centre.size
        width = padded_width(size)
        rows = max(1, _BLOCK_ENTRIES // width)
        norms = np.empty(len(chunk))
        for start in range(0, len(chunk), rows):
            stop = min(start + rows, len(chunk))
            with np.errstate(over="ignore", invalid="ignore"):
                taken = chunk[start:stop].astype(np.float64)
                plain = _padded(taken.reshape(len(taken), size), rows, width)
                residuals = _padded((taken - self._centre).reshape(len(taken), size), rows, width)
            squares = np.where(np.isfinite(squared_norms(plain)), squared_norms(residuals), np.inf)[: len(taken)]
            if skip is not None:
                squares = np.where(skip[start:stop], np.inf, squares)
            norms[start:stop] = np.where(np.isfinite(squares), np.sqrt(squares), np.inf)
            for q, clip in enumerate(self._clips):
                whole = clip_to_grid(
                    residuals[: len(taken)], squares, size=size, radius=clip.radius, exponent=clip.exponent
                )
                self._sums[q] += whole[:, :size].astype(np.int64).sum(axis=0)
        return norms

    def merge(self, other: TensorSurveyor) -> None:
        """Add the sums of another surveyor."""
        for q, more in enumerate(other._sums):
            self._sums[q] += more

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, of the centre's shape."""
        return [total.reshape(self._centre.shape) for total in self._sums]


class SparseVarianceSurveyor:
    """Surveyor of the variances of sparse rows that `spread` computes; `entries` selects some of them."""

    def __init__(self, spread: SparseSpread, entries: slice, centre: FloatArray, clips: Sequence[Clip]) -> None:
        self._spread, self._entries = spread, entries
        self._formed = TensorSurveyor(centre, clips)

    def fresh(self) -> SparseVarianceSurveyor:
        """Return a copy with empty sums."""
        twin = copy.copy(self)
        twin._formed = self._formed.fresh()
        return twin

    def add(self, chunk: sparse.csr_array[Any, Any], skip: BoolArray | None = None) -> FloatArray:
        """Add rows of a CSR array; return their norms."""
        return self._formed.add(self._spread(chunk)[:, self._entries], skip)

    def merge(self, other: SparseVarianceSurveyor) -> None:
        """Add the sums of another surveyor."""
        self._formed.merge(other._formed)

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, of the centre's shape."""
        return self._formed.sums()


class RowSurveyor:
    """Surveyor of x (W^T x)^T - centre over dense rows x, which never forms a tensor per row.

    A shift, and P P^T x, may be subtracted from the rows first. The centre C is rounded to single precision first.
    Rows of float32 are multiplied in single precision (`SingleRowLoop`), with two exceptions: if directions are
    projected out, and if single precision would cost a thousandth of a radius, as it does if the centre is far
    longer than the radius.

    Formal guarantees
    -----------------
    Let R be the radius, g = 2^exponent the grid, and y the computed value of W^T x, including the effects of
    rounding and underflow.

    *Contribution of a row.* A row adds V - (F/f) C/g, where V and F are integers and f = 2^30. V is the nearest to
    c x y^T/g, entry by entry, and F is the nearest to c f. The factor c is such that c times the norm of x y^T - C
    is at most r', because computed norms are upper bounds (`norm_error`).

    *Floating point.* The number before rounding has an error of at most 2^-50 |x_k c y_j|/g, which is
    2^-50 (R + ||C||)/g over all entries, because ||c x y^T|| <= R + ||C||. Underflow on the way adds
    |x_k| 2^-1074/g < 2^-60, because g >= 2^-500 and |x_k| < 2^512. Nothing overflows, because |y_j| < 2^512.

    *Rounding.* Rounding by adding 1.5 2^52 needs numbers below 2^51. The condition (R + 2 ||C||)/g < 2^50 is
    checked when the surveyor is created. If it fails, every row is clipped to zero (r' = 0). So the contribution
    of a row lies within sqrt(size)/2 (V) + ||C||/(2 f g) (F) + 2^-50 (R + ||C||)/g steps of c (x y^T - C)/g.

    *Sums.* Sums of V and F are exact. At the end F C is computed exactly (24 times 29 bits, three times) and
    rounded down, which changes the difference between neighbouring datasets by at most 3 steps per entry. With c
    norm <= r' = R - 4 sqrt(size) g - ||C|| 2^-30 - 2^-48 (R + 2 ||C||), sums of neighbouring datasets differ by at
    most R.

    *Single precision.* There V = (h/g) U, where h/g is a power of two and U is the integer nearest to c x y^T/h,
    up to floating-point error: over all entries U lies within sqrt(size) (1/2 + 2^-21) + 2^-22.9 (R + ||C||)/h <=
    .51 sqrt(size) + 1 steps h of it. This is subtracted from r' as well.
    """

    def __init__(
        self,
        W: FloatArray,
        centre: FloatArray,
        clips: Sequence[Clip],
        *,
        shift: FloatArray | None = None,
        removed: FloatArray | None = None,
    ) -> None:
        self._clips = clips
        self._centre = to_single(centre)
        inner = [_inner_for_rows(clip, self._centre, steps=4.0) for clip in clips]
        exponents = [clip.exponent for clip in clips]
        same: dict[str, Any] = {"f_scale": 2.0**_F_BITS, "shift": shift}
        self._loop = RowLoop(W, self._centre, inner=inner, exponents=exponents, removed=removed, **same)
        coarse = [_coarse_exponent(clip, self._centre) for clip in clips]
        less = [
            r - math.ldexp(0.51 * (math.isqrt(centre.size) + 1) + 1, h) for r, h in zip(inner, coarse, strict=True)
        ]
        cheap = all(h >= -100 and small > 0.999 * r for small, r, h in zip(less, inner, coarse, strict=True))
        self._single: SingleRowLoop | None = None
        if cheap and removed is None and fits(W, self._centre):
            self._single = SingleRowLoop(W, self._centre, inner=less, exponents=coarse, **same)
        self._up = [1 << (h - exponent) for h, exponent in zip(coarse, exponents, strict=True)]

    def fresh(self) -> RowSurveyor:
        """Return a copy with empty sums."""
        twin = copy.copy(self)
        twin._loop = self._loop.fresh()
        twin._single = None if self._single is None else self._single.fresh()
        return twin

    def add(self, chunk: AnyRows, skip: BoolArray | None = None) -> FloatArray:
        """Add rows of shape (units, d); return their norms."""
        if self._single is not None and chunk.dtype == np.float32:
            return self._single.add(chunk, skip)
        return self._loop.add(chunk, skip)

    def merge(self, other: RowSurveyor) -> None:
        """Add the sums of another surveyor."""
        self._loop.merge(other._loop)
        if self._single is not None and other._single is not None:
            self._single.merge(other._single)

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, of shape (d, m)."""
        totals, f_sums = self._loop.sums, self._loop.f_sums
        if self._single is not None:
            coarse = zip(self._single.sums, self._up, strict=True)
            totals = [total + whole * up for total, (whole, up) in zip(totals, coarse, strict=True)]
            f_sums = f_sums + self._single.f_sums
        triples = zip(totals, f_sums, self._clips, strict=True)
        return [total - _times_centre(self._centre, f_sum, clip) for total, f_sum, clip in triples]


class SparseRowSurveyor:
    """Surveyor like `RowSurveyor`, over rows of a CSR array; neither shift nor centre makes a row dense.

    Shift and centre are rounded to single precision first. With W = None, the tensor is x - shift - centre (y =
    1).

    Formal guarantees
    -----------------
    Notation as in `RowSurveyor`.

    *Contribution of a row.* A row adds V - (shift/g) (Y/s)^T - (F/f) C/g, where V, Y and F are integers. V is the
    nearest to c x_k y_j/g at the stored entries, Y the nearest to c y_j s, and F the nearest to c f. Here s is a
    power of two, ||shift|| sqrt(m)/g < s <= 2 ||shift|| sqrt(m)/g. The contribution lies within sqrt(size)/2 (V) +
    ||shift|| sqrt(m)/(2 s g) <= 1/2 (Y) + ||C||/(2 f g) (F) steps of c ((x - shift) y^T - C)/g.

    *Floating point.* The numbers before rounding have an error of 2^-50 |x_k c y_j|/g, which is 2^-50 2^22 R/g
    over all entries, because c ||x|| ||y|| is below 2^22 R (`STRETCH`), not below R. The error from underflow is
    far smaller, as in `RowSurveyor`. V and Y share c y, which has a relative error of 2^-53; it is multiplied by c
    ||x - shift|| ||y|| <= R + ||C||. r' has a reserve of 2^-48 (2^22 R + 2 ||C||) for all this.

    *Sums.* The sums of V (modulo 2^64), of Y (in two words) and of F are exact over 2^31 units if R <= 2^32 g
    (`SparseRowLoop`), which is checked if there is a shift. At the end the products shift Y and F C are computed
    exactly (24 times 29 bits, four times for Y below 2^89 and three times for F below 2^61) and rounded down,
    which changes the difference between neighbouring datasets by at most 7 steps per entry. With 1/2 for V this is
    below the 8 steps that r' reserves. One more step in total is reserved for Y and underflow.
    """

    def __init__(
        self, W: FloatArray | None, centre: FloatArray, clips: Sequence[Clip], *, shift: FloatArray | None = None
    ) -> None:
        self._shape = centre.shape
        centre = centre.reshape(len(centre), -1)
        self._clips = clips
        self._centre = to_single(centre)
        self._shift = None if shift is None or not np.any(shift) else to_single(shift)
        inner = [_inner_for_rows(clip, self._centre, steps=8.0, stretch=STRETCH) for clip in clips]
        self._y_exponents = [0 for _ in clips]
        if self._shift is not None:
            for clip in clips:
                _check_steps(clip)
            wide = math.frexp(upper_norm(self._shift) * math.sqrt(centre.shape[1]))[1]
            self._y_exponents = [wide - clip.exponent for clip in clips]
            if max(self._y_exponents, default=0) > _WIDEST:
                inner = [0.0 for _ in clips]
        self._loop = SparseRowLoop(
            W,
            self._centre,
            inner=inner,
            exponents=[clip.exponent for clip in clips],
            y_scales=[math.ldexp(1.0, min(bits, _WIDEST)) for bits in self._y_exponents],
            f_scale=2.0**_F_BITS,
            shift=self._shift,
        )

    def fresh(self) -> SparseRowSurveyor:
        """Return a copy with empty sums."""
        twin = copy.copy(self)
        twin._loop = self._loop.fresh()
        return twin

    def add(self, chunk: sparse.csr_array[Any, Any], skip: BoolArray | None = None) -> FloatArray:
        """Add rows of a CSR array; return their norms."""
        return self._loop.add(chunk, skip)

    def merge(self, other: SparseRowSurveyor) -> None:
        """Add the sums of another surveyor."""
        self._loop.merge(other._loop)

    def sums(self) -> list[IntArray]:
        """Return one sum per clip, of shape (d, m)."""
        out = []
        for q, clip in enumerate(self._clips):
            total = self._loop.sums[q].copy()
            y_sums, exponent = self._loop.y_sums[q], -self._y_exponents[q] - clip.exponent
            for rows in _few_rows(self._centre.shape):
                total[rows] -= _times_centre(self._centre[rows], self._loop.f_sums[q], clip)
                if self._shift is not None:
                    total[rows] -= _floored_products(self._shift[rows], y_sums, exponent)
            out.append(total.reshape(self._shape))
        return out


def _times_centre(centre: FloatArray, f_sum: np.int64, clip: Clip) -> IntArray:
    """Return the sum of the factors times the centre, in grid steps, rounded down."""
    return _floored_products(np.ravel(centre), [int(f_sum)], -_F_BITS - clip.exponent).reshape(centre.shape)


def _floored_products(single: FloatArray, whole: Sequence[int], exponent: int) -> IntArray:
    """Return single_k whole_j 2^exponent in four parts, each exact (24 bits times 29 fit a float64), rounded down.

    The numbers in `whole` are below 2^116. A number of at least 0 and below 2^87 has three parts, because the
    fourth is 0. Results are modulo 2^64, like the sums from which they are subtracted: only the difference needs
    to fit into int64.
    """
    out = np.zeros((single.size, len(whole)), dtype=np.int64)
    mask = (1 << 29) - 1
    for up in (87, 58, 29, 0):
        part = [w >> up if up == 87 else (w >> up) & mask for w in whole]
        if not (any(part) and single.any()):
            continue  # all products are 0
        product = np.multiply.outer(single, np.array(part, dtype=np.float64))
        exact = _times_power(product, exponent + up)
        floored = np.floor(exact)
        floored[(exact == 0) & (product < 0)] = -1.0  # also if it underflows
        if not float(np.abs(floored).max()) < 2.0**63:
            floored = np.fmod(floored, 2.0**64)  # exact, and so is moving it into the range of int64
            floored = np.where(floored >= 2.0**63, floored - 2.0**64, floored)
            floored = np.where(floored < -(2.0**63), floored + 2.0**64, floored)
        out += floored.astype(np.int64)
    return out


def _times_power(values: FloatArray, exponent: int) -> FloatArray:
    """Return values times 2^exponent, rounded once: `np.ldexp`, but faster if 2^exponent is a normal number."""
    return values * math.ldexp(1.0, exponent) if abs(exponent) <= _WIDEST else np.ldexp(values, exponent)


def _few_rows(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows that fit in the cache."""
    step = max(1, _BLOCK_ENTRIES // math.prod(shape[1:]))
    return (slice(start, start + step) for start in range(0, shape[0], step))


def _check_steps(clip: Clip) -> None:
    """Raise an error if the radius has more grid steps than sums over sparse rows with a shift can hold."""
    if clip.radius > math.ldexp(1.0, _MOST_STEP_BITS + clip.exponent):
        raise InvalidInputError(
            f"expected a radius of at most 2^{_MOST_STEP_BITS} grid steps for sparse rows with a shift, got "
            f"radius {clip.radius!r} on a grid of 2^{clip.exponent}.",
            hint="Use a larger exponent.",
        )


def _inner_for_rows(clip: Clip, centre: FloatArray, *, steps: float, stretch: float = 1.0) -> float:
    """Return r', the norm to clip to so that the rounded contribution stays within R.

    Rounding moves every entry by up to `steps` grid steps, and floating-point errors add to that. The products
    that are rounded are bounded by `stretch` times R, or by R + ||C||. The result is 0, so that every unit is
    clipped to zero, if the rounding error of the centre exceeds the radius. That is a function of public numbers,
    and happens only by chance, after a search that returned a radius far too small.
    """
    reach = upper_norm(centre)
    inner = inner_radius(size=centre.size, radius=clip.radius, exponent=clip.exponent, steps=steps)
    inner -= 2.0**-48 * (stretch * clip.radius + 2 * reach)
    inner -= 2.0**-_F_BITS * reach + math.ldexp(1.0, clip.exponent)
    return max(inner, 0.0) if clip.radius + 2 * reach < math.ldexp(1.0, 50 + clip.exponent) else 0.0


def _coarse_exponent(clip: Clip, centre: FloatArray) -> int:
    """Return the finest grid, at least as coarse as the clip's, on which single precision can round."""
    span = clip.radius + upper_norm(centre)
    return max(clip.exponent, math.frexp(span / SPAN)[1])


def _padded(rows: FloatArray, height: int, width: int) -> FloatArray:
    out = np.zeros((height, width))
    out[: rows.shape[0], : rows.shape[1]] = rows
    return out
