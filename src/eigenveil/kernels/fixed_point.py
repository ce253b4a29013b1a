"""Conversion of units to integers before summation: norms, clipping and rounding, each unit separately.

All functions work on a block of shape (rows, width), where `width` is a power of two. They use only element-wise
IEEE operations (no BLAS, no reductions whose order the library chooses). So the result for a row depends on that
row alone, whatever its position and the other rows are.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError

_SMALLEST_NORMAL, _LARGE = 2.0**-126, 2.0**127
"""Range in which float32 has 24 significant bits."""
_LARGEST_SINGLE = (2.0 - 2.0**-23) * 2.0**1023
_FARTHEST_EXPONENT, _MOST_BITS = 500, 62
_EXACT_ROWS, _EXACT_LARGEST = 10, 2.0**900
"""Base-2 logarithm of the number of rows that `exact_dots` adds at a time; from the second number on, it uses
`exact_sum` instead."""


def padded_width(size: int) -> int:
    """Return the power of two to which `size` entries are padded with zeros."""
    return 1 << max(size - 1, 0).bit_length()


def squared_norms(block: FloatArray) -> FloatArray:
    """Return the squared norm of every row, by a fixed tree of additions; inf or nan for an invalid row.

    The error is at most a relative (log2(width) + 2) 2^-53, plus width * 2^-1074 from underflow.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        tree = block * block
        while tree.shape[1] > 1:
            half = tree.shape[1] // 2
            tree = tree[:, :half] + tree[:, half:]
    return tree[:, 0]


def upper_norms(squares: FloatArray, width: int) -> FloatArray:
    """Return upper bounds of the true norms, from the results of `squared_norms`."""
    return np.sqrt(squares * stretch(width) + 2.0**-1000) * (1 + 2.0**-51)


def stretch(width: int) -> float:
    """Return the factor that makes `squared_norms` of this width upper bounds, up to underflow."""
    relative = (math.log2(width) + 8) * 2.0**-53
    return 1 + 2 * relative


def to_single(values: FloatArray) -> FloatArray:
    """Return values rounded to 24 significant bits, as in single precision but with the range of float64.

    Examples
    --------
    >>> to_single(np.array([1 + 2.0**-30, 2.0**200]))
    array([1.00000000e+00, 1.60693804e+60])
    """
    sizes = np.abs(values)
    if np.all((sizes >= _SMALLEST_NORMAL) & (sizes < _LARGE) | (sizes == 0)):  # the same by hardware
        return values.astype(np.float32).astype(np.float64)
    mantissas, exponents = np.frexp(values)
    with np.errstate(over="ignore"):
        rounded: FloatArray = np.ldexp(np.rint(np.ldexp(mantissas, 24)), exponents - 24)
    return np.where(np.isinf(rounded) & np.isfinite(values), np.copysign(_LARGEST_SINGLE, values), rounded)


def exact_sum(values: FloatArray) -> float:
    """Return the sum of public numbers, rounded once.

    It is nan if it overflows on the way, and then every unit is invalid.

    Examples
    --------
    >>> exact_sum(np.array([1e16, 1.0, -1e16])), exact_sum(np.array([1e308, 1e308]))
    (1.0, nan)
    """
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.nan


def exact_dots(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Return `exact_sum(column * vector)` for every column of a matrix: the same bits, but faster.

    Each number p is split into a multiple of 2^-53 s and a remainder, where 2^M rows are added and s is a power of
    two that is at least 2^M times all numbers. (s + p) - s is that multiple, and p minus it is the remainder, both
    without error. Sums of up to 2^M such multiples are multiples of 2^-53 s that stay below s, so they are exact
    in any order (Rump, Ogita & Oishi 2008, "Accurate floating-point summation I"). The remainder is at most 2^-53
    s. It is split in the same way until it is 0. The only rounding comes last, in `math.fsum`.

    Examples
    --------
    >>> exact_dots(np.array([[1e16, 1.0], [1.0, 2.0], [-1e16, 3.0]]), np.ones(3))
    array([1., 6.])
    """
    parts = []
    with np.errstate(all="ignore"):
        for start in range(0, len(vector), 1 << _EXACT_ROWS):
            rows = slice(start, start + (1 << _EXACT_ROWS))
            left = matrix[rows] * vector[rows, None]
            largest = float(np.max(np.abs(left), initial=0.0))
            if not largest < _EXACT_LARGEST:  # nan too
                return np.array([exact_sum(column * vector) for column in matrix.T])
            s = math.ldexp(1.0, math.frexp(largest)[1] + _EXACT_ROWS + 1)
            while left.any():
                part = left + s
                part -= s
                left -= part
                parts.append(part.sum(axis=0))
                s *= 2.0 ** (_EXACT_ROWS + 1 - 53)
    return np.array([exact_sum(column) for column in np.reshape(parts, (-1, matrix.shape[1])).T])


def symmetric_part(matrices: FloatArray) -> FloatArray:
    """Return (A + A^T)/2 over the last two axes; exactly symmetric, because IEEE addition commutes."""
    with np.errstate(invalid="ignore", over="ignore"):
        return matrices / 2 + np.swapaxes(matrices, -1, -2) / 2


def clip_to_grid(
    block: FloatArray, squares: FloatArray, *, size: int, radius: float, exponent: int
) -> npt.NDArray[np.float64]:
    """Return every row, clipped to norm at most `radius`, as integer multiples of 2^exponent.

    Rows whose squared norm is not finite become 0. The result contains integers in float64.

    Formal guarantees
    -----------------
    For every row, norm(result) * 2^exponent <= radius, as real numbers.

    A row is first clipped to r' = (radius - sqrt(size)/2 * 2^exponent) (1 - 2^-40) by a factor c = min(1, r'/u),
    where u is not below its true norm: squares that underflow have an error of width 2^-1074, and 2^-1000 is added
    to u^2. Computing c and c * entry has a relative error of at most 2^-50 or, if they underflow, an absolute
    error of 2^-1074, which entries below 2^512 turn into 2^-562 at most, and the grid is 2^-500 or coarser. So the
    scaled row has norm at most r' (1 + 2^-49). Rounding to the nearest integer moves each of the `size` entries by
    at most half a grid step, so the row by at most sqrt(size)/2 steps. The sum of both is below `radius`. Zeros
    that pad the row stay zeros.
    """
    inner = inner_radius(size=size, radius=radius, exponent=exponent)
    good = np.isfinite(squares)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        factors = np.minimum(1.0, inner / upper_norms(squares, block.shape[1]))
        scaled = np.ldexp(block * factors[:, None], -exponent)
    return np.where(good[:, None], np.rint(scaled), 0.0)


def inner_radius(*, size: int, radius: float, exponent: int, steps: float = 0.5) -> float:
    """Return the norm to clip to so that moving each of `size` entries by `steps` grid steps keeps to `radius`.

    Grids finer than 2^-500 or coarser than 2^500 raise an error: within that range nothing overflows when it is
    divided by the grid, and numbers that underflow are far below the grid. A radius of 2^62 steps or more raises
    an error, because integers of 64 bits could not hold it.
    """
    if not (math.isfinite(radius) and radius > 0):
        raise InvalidInputError(f"radius must be a finite number above 0, got {radius!r}.")
    if not (abs(exponent) <= _FARTHEST_EXPONENT and Fraction(radius) < Fraction(2) ** (exponent + _MOST_BITS)):
        raise InvalidInputError(
            f"expected a grid of 2^-{_FARTHEST_EXPONENT} to 2^{_FARTHEST_EXPONENT} and a radius below "
            f"2^{_MOST_BITS} grid steps, got a grid of 2^{exponent} for radius {radius!r}.",
            hint="Rescale the data so that radii are closer to 1.",
        )
    moved = Fraction(steps) * (math.isqrt(size) + 1) * Fraction(2) ** exponent
    inner = float((Fraction(radius) - moved) * (1 - Fraction(1, 1 << 40)))
    if not inner > 0:
        raise InvalidInputError(
            f"a grid of 2^{exponent} is too coarse to hold {size} entries within radius {radius!r}.",
            hint="Use a smaller exponent.",
        )
    return inner
