"""Exact Gaussian and Laplace noise on the integers, vectorised with numpy.

The sampler draws a *real* random variable (standard normal Z or Laplace L). It has infinitely many bits, of which
only the necessary ones are generated. The variable is multiplied by an integer scale s and rounded to the nearest
integer. For an integer x, the value x + round(s Z) is equal to round(x + s Z), so rounding is post-processing of
the ideal mechanism on the real numbers. Noise on an integer statistic is therefore *exactly* as private as the
textbook Gaussian (Laplace) mechanism, and composes in the same way. There is no total-variation remainder, as
there would be with a probability mass function proportional to exp(-k^2 / 2 s^2).

The algorithm, for a density proportional to f(y) = exp(-q(y)) on y >= 0 with q increasing:

1. Divide [0, K) into cells of width w = 1/16. Cell j gets an integer weight H_j >= M f(j w). The tail [K, oo) gets
   a weight of its own. The sum of all weights is at most 2^32.
2. 32 random bits choose a cell (or, rarely, no cell; then start again). 44 bits are the first bits of the position
   of y in its cell.
3. 51 bits are the first bits of a uniform u; accept y if u H_j < M f(y). A table of integers decides 15 of 16
tries
   (u is below the ratio at the far end of the cell, so y does not matter). The other tries evaluate exp(-z), z <=
   1/2, by its Taylor polynomial in plain IEEE additions and multiplications, with an error of at most 2^-46. If u
   is within 2^-42 of the bound, the decision is made in `decimal` (whose exp is correctly rounded), with as many
   digits and as many further random bits as necessary. The rounding of s y is decided in the same way.
4. One bit is the sign.

Floats are thus used only as a *filter*. Every decision that a float could get wrong is made exactly, and the
distribution of the result does not depend on floats.

References
----------
Karney 2016, arXiv 1303.6257 (exact sampling with lazy bits); Canonne, Kamath & Steinke 2020, arXiv 2004.00010 (why
noise must lie on a grid); Mironov 2012 (attacks on noise that does not).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.noise.byte_source import ByteSource

_CELLS_PER_UNIT = 16
_SELECT_BITS, _PLACE_BITS, _UNIFORM_BITS = 32, 44, 51
_Y_BITS = _PLACE_BITS + 4  # y = integer / 2^48
_BLOCK = 1 << 15  # number of tries in one block; their arrays stay in the cache
_EXP_TOLERANCE = 2.0**-42
_TAYLOR = [(-1.0) ** i / math.factorial(i) for i in range(15, -1, -1)]
_MORE_BITS = 64
_GUIDE_BITS, _DOUBTFUL = 14, -1


@dataclass
class LazyReal:
    """A real number in [prefix, prefix + 1) / 2^bits, whose further bits are drawn when they are needed."""

    prefix: int
    bits: int
    source: ByteSource

    def extend(self) -> None:
        """Draw 64 more bits."""
        self.prefix = (self.prefix << _MORE_BITS) | int.from_bytes(self.source(_MORE_BITS // 8), "little")
        self.bits += _MORE_BITS

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The interval in which the number lies, given the bits drawn so far."""
        return Fraction(self.prefix, 1 << self.bits), Fraction(self.prefix + 1, 1 << self.bits)

    def times_rounded(self, scale: int) -> int:
        """Return the integer nearest to scale * self."""
        while True:
            low, high = self.bounds
            down = math.floor(scale * low + Fraction(1, 2))
            if math.ceil(scale * high + Fraction(1, 2)) - 1 == down:
                return down
            self.extend()


def exp_bounds(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return rational lower and upper bounds of exp(-x) for 0 <= x <= 1000, within a relative 10^(4 - digits)."""
    with decimal.localcontext() as context:
        context.prec = digits + 6
        value = Fraction((decimal.Decimal(-x.numerator) / decimal.Decimal(x.denominator)).exp())
    slack = Fraction(1, 10 ** (digits - 3)) / 2
    return value * (1 - slack), value * (1 + slack)


def lazy_accept(u: LazyReal, height: Fraction, y: LazyReal, exponent: Callable[[Fraction], Fraction]) -> bool:
    """Decide exactly whether u * height < exp(-exponent(y)); `exponent` is increasing."""
    digits = 30
    while True:
        (u_low, u_high), (y_low, y_high) = u.bounds, y.bounds
        if u_high * height <= exp_bounds(exponent(y_high), digits)[0]:
            return True
        if u_low * height >= exp_bounds(exponent(y_low), digits)[1]:
            return False
        u.extend()
        y.extend()
        digits += 25


@dataclass(frozen=True)
class ExactSampler:
    """Exact sampler of |Z| (half normal) or E (exponential).

    Parameters
    ----------
    normal : bool
        True: f(y) = exp(-y^2/2). False: f(y) = exp(-y).
    reach : int
        K, a power of two: the point where the table ends and the tail begins.
    """

    normal: bool
    reach: int

    def integers(self, scale: int, size: int, source: ByteSource) -> IntArray:
        """Return `size` independent draws of +-round(scale * y)."""
        if not (isinstance(scale, int) and scale >= 1):
            raise InvalidInputError(f"scale must be a whole number of at least 1, got {scale!r}.")
        if scale >= 1 << 52:
            raise InvalidInputError(f"scale must be below 2^52, got {scale!r}.")
        out = np.empty(size, dtype=np.int64)
        filled = 0
        while filled < size:
            tries = min(size - filled, _BLOCK)
            accepted = self._block(scale, tries, source)
            out[filled : filled + accepted.size] = accepted
            filled += accepted.size
        return out

    def real(self, source: ByteSource) -> LazyReal:
        """Return one draw of y as a real number. This is slow, and used for tails only."""
        while True:
            _, select, place, uniform = _unpack(source(16), 1)
            y = self._one(int(select[0]), int(place[0]), int(uniform[0]), source)
            if y is not None:
                return y

    # -- tables ----------------------------------------------------------------------------------

    def _exponent(self, y: Fraction) -> Fraction:
        return y * y / 2 if self.normal else y

    @cached_property
    def _unit(self) -> int:
        """M: the integer weight that represents height 1."""
        edges = np.arange(self.reach * _CELLS_PER_UNIT) / _CELLS_PER_UNIT
        total = np.exp(-(edges**2) / 2 if self.normal else -edges).sum() + float(self._tail_area)
        return int((2.0**_SELECT_BITS - edges.size - 2) / (total * (1 + 1e-9)))

    @cached_property
    def _tail_area(self) -> Fraction:
        """Upper bound on the area of the envelope beyond K, in units of cells."""
        slope = self.reach if self.normal else 1
        return exp_bounds(self._exponent(Fraction(self.reach)), 30)[1] * Fraction(_CELLS_PER_UNIT, slope)

    @cached_property
    def _weights(self) -> list[int]:
        """H_j >= M f(j w) for every cell, followed by the weight of the tail."""
        cells = [
            math.ceil(self._unit * exp_bounds(self._exponent(Fraction(j, _CELLS_PER_UNIT)), 30)[1])
            for j in range(self.reach * _CELLS_PER_UNIT)
        ]
        weights = [*cells, math.ceil(self._unit * self._tail_area)]
        assert sum(weights) <= 1 << _SELECT_BITS
        return weights

    @cached_property
    def _last_of_cell(self) -> npt.NDArray[np.uint64]:
        """Largest select number of every cell: cell j is chosen up to and including the j-th of these numbers."""
        return (np.cumsum(self._weights, dtype=np.int64) - 1).astype(np.uint64)

    @cached_property
    def _guide(self) -> npt.NDArray[np.int16]:
        """The cell of all select numbers with the same upper bits, or `_DOUBTFUL` where they are in several."""
        width = 1 << (_SELECT_BITS - _GUIDE_BITS)
        first = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) * np.uint64(width)
        low = np.searchsorted(self._last_of_cell, first)
        high = np.searchsorted(self._last_of_cell, first + np.uint64(width - 1))
        return np.where(low == high, low, _DOUBTFUL).astype(np.int16)

    @cached_property
    def _sure(self) -> npt.NDArray[np.uint64]:
        """Bound on u, in units of 2^-51, below which every y of a cell is accepted; 0 for the tail and no cell."""
        ends = [self._exponent(Fraction(j + 1, _CELLS_PER_UNIT)) for j in range(len(self._weights) - 1)]
        sure = [
            math.floor((1 << _UNIFORM_BITS) * self._unit * exp_bounds(end, 30)[0] / weight)
            for end, weight in zip(ends, self._weights, strict=False)
        ]
        return np.array([*sure, 0, 0], dtype=np.uint64)

    @cached_property
    def _ratio(self) -> npt.NDArray[np.float64]:
        """M f(j w) / H_j, in (0, 1], with a relative error of at most 2^-52."""
        starts = [self._exponent(Fraction(j, _CELLS_PER_UNIT)) for j in range(len(self._weights) - 1)]
        return np.array(
            [
                float(self._unit * exp_bounds(start, 30)[0] / weight)
                for start, weight in zip(starts, self._weights, strict=False)
            ]
        )

    # -- vectorised ------------------------------------------------------------------------------

    def _block(self, scale: int, tries: int, source: ByteSource) -> IntArray:
        negative, select, place, uniform = _unpack(source(16 * tries), tries)
        cell = self._cells(select)
        accepted = uniform < self._sure[cell]
        doubtful = np.flatnonzero(~accepted)
        yes, no = self._filter(cell[doubtful], place[doubtful], uniform[doubtful])
        accepted[doubtful[yes]] = True
        exact: dict[int, LazyReal] = {}
        for i in doubtful[~(yes | no)]:
            y = self._one(int(select[i]), int(place[i]), int(uniform[i]), source)
            if y is not None:
                accepted[i] = True
                exact[int(i)] = y
        values = self._round(scale, (cell << np.uint64(_PLACE_BITS)) | place, accepted, exact, source)
        np.negative(values, out=values, where=negative)
        return values[accepted]

    def _cells(self, select: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The cell that each select number chooses: by its upper bits alone, where these leave no doubt."""
        upper = (select >> np.uint64(_SELECT_BITS - _GUIDE_BITS)).astype(np.int64)
        cell = self._guide[upper]
        doubtful = np.flatnonzero(cell == _DOUBTFUL)
        found = cell.astype(np.uint64)
        found[doubtful] = np.searchsorted(self._last_of_cell, select[doubtful])
        return found

    def _filter(
        self, cell: npt.NDArray[np.uint64], place: npt.NDArray[np.uint64], uniform: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which tries are certainly accepted and which certainly rejected, by floats with a proven margin.

        With y = j w + x: f(y) = f(j w) exp(-z), where z = j w x + x^2/2 (or x). j w and x are exact floats. z <=
        1/2 + 2^-9 has a relative error below 2^-51. The truncation error of 16 terms is below 2^-60. Horner's rule
        with |coefficients| <= 1 has a rounding error below 2^-48. x and u are known to within 2^-48 and 2^-51. The
        total error is below 2^-45, and the margin is 2^-42.
        """
        in_table = cell < np.uint64(len(self._weights) - 1)
        beyond = cell >= np.uint64(len(self._weights))
        j = np.where(in_table, cell, np.uint64(0))
        x = place.astype(np.float64) * 2.0**-_Y_BITS
        z = x * (j.astype(np.float64) / _CELLS_PER_UNIT) + x * x / 2 if self.normal else x
        bound = np.zeros_like(z)
        for coefficient in _TAYLOR:
            bound = bound * z + coefficient
        bound *= self._ratio[j.astype(np.int64)]
        u = uniform.astype(np.float64) * 2.0**-_UNIFORM_BITS
        yes = in_table & (u < bound - _EXP_TOLERANCE)
        no = beyond | (in_table & (u > bound + _EXP_TOLERANCE))
        return yes, no

    def _round(
        self,
        scale: int,
        y: npt.NDArray[np.uint64],
        accepted: npt.NDArray[np.bool_],
        exact: dict[int, LazyReal],
        source: ByteSource,
    ) -> IntArray:
        """Return round(scale * y), computed by floats where their error cannot change the result.

        y < 2^52 / 2^48 is an exact float. The product has a relative rounding error of at most 2^-53, and an error
        of at most scale 2^-48 from the unknown bits of y. Adding 1/2 causes another relative rounding error of at
        most 2^-53.
        """
        product = y.astype(np.float64) * (2.0**-_Y_BITS * scale) + 0.5
        down = np.floor(product)
        margin = product * 2.0**-50 + scale * 2.0 ** -(_Y_BITS - 1)
        fraction = product - down
        unsure = accepted & ((fraction < margin) | (fraction > 1 - margin))
        values = down.astype(np.int64)
        for i in np.flatnonzero(unsure):
            if int(i) not in exact:
                exact[int(i)] = LazyReal(int(y[i]), _Y_BITS, source)
        for index, real in exact.items():
            values[index] = real.times_rounded(scale)
        return values

    # -- one at a time, exactly ------------------------------------------------------------------

    def _one(self, select: int, place: int, uniform: int, source: ByteSource) -> LazyReal | None:
        """Return the y of one try if it is accepted, otherwise None."""
        cell = int(np.searchsorted(self._last_of_cell, np.uint64(select)))
        if cell == len(self._weights):
            return None
        u = LazyReal(uniform, _UNIFORM_BITS, source)
        height = Fraction(self._weights[cell], self._unit)
        if cell < len(self._weights) - 1:
            y = LazyReal((cell << _PLACE_BITS) | place, _Y_BITS, source)
            return y if lazy_accept(u, height, y, self._exponent) else None
        return self._tail(u, height, source)

    def _tail(self, u: LazyReal, height: Fraction, source: ByteSource) -> LazyReal | None:
        """Return a y >= K, or None if the try is rejected.

        Half normal: y = K + E/K, accepted with probability exp(-(E/K)^2/2). Exponential: y = K + E.
        """
        slope = self.reach if self.normal else 1
        t = EXPONENTIAL.real(source)
        t.bits += slope.bit_length() - 1  # divide by the slope, a power of two
        at_reach = self._exponent(Fraction(self.reach))

        def exponent(t_bound: Fraction) -> Fraction:
            return at_reach + (t_bound * t_bound / 2 if self.normal else 0)

        if not lazy_accept(u, height * Fraction(slope, _CELLS_PER_UNIT), t, exponent):
            return None
        return LazyReal(t.prefix + (self.reach << t.bits), t.bits, source)


def _unpack(
    data: bytes, tries: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the sign, the cell number, the position in the cell and the uniform of each try, 16 bytes each."""
    words = np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False).reshape(2, tries)
    select = words[0] & np.uint64((1 << _SELECT_BITS) - 1)
    high_place = words[0] >> np.uint64(_SELECT_BITS)  # 32 bits
    low_place = words[1] & np.uint64((1 << (_PLACE_BITS - 32)) - 1)  # 12 bits
    place = (high_place << np.uint64(_PLACE_BITS - 32)) | low_place
    uniform = (words[1] >> np.uint64(_PLACE_BITS - 32)) & np.uint64((1 << _UNIFORM_BITS) - 1)
    negative = (words[1] >> np.uint64(63)).astype(np.bool_)
    return negative, select, place, uniform


HALF_NORMAL = ExactSampler(normal=True, reach=8)
EXPONENTIAL = ExactSampler(normal=False, reach=16)


def gaussian_integers(scale: int, size: int, source: ByteSource) -> IntArray:
    """Return `size` independent draws of round(scale * Z), Z standard normal.

    Examples
    --------
    >>> from eigenveil.mechanisms.noise.byte_source import system_bytes
    >>> gaussian_integers(1 << 24, 3, system_bytes).shape
    (3,)
    """
    return HALF_NORMAL.integers(scale, size, source)


def laplace_integers(scale: int, size: int, source: ByteSource) -> IntArray:
    """Return `size` independent draws of round(scale * L), L Laplace with density exp(-|x|)/2."""
    return EXPONENTIAL.integers(scale, size, source)
