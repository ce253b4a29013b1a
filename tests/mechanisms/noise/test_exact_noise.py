"""The sampler has exactly the stated distribution."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, no_noise, system_bytes
from eigenveil.mechanisms.noise import exact_noise
from eigenveil.mechanisms.noise.exact_noise import (
    EXPONENTIAL,
    HALF_NORMAL,
    ExactSampler,
    LazyReal,
    exp_bounds,
    gaussian_integers,
    laplace_integers,
    lazy_accept,
)

ALARM = 1e-6  # each statistical test cries wolf once in a million runs


def gaussian_pmf(k, scale):
    return float(mpmath.ncdf((k + 0.5) / scale) - mpmath.ncdf((k - 0.5) / scale))


def laplace_pmf(k, scale):
    if k == 0:
        return 1 - math.exp(-0.5 / scale)
    return 0.5 * (math.exp(-(abs(k) - 0.5) / scale) - math.exp(-(abs(k) + 0.5) / scale))


def chi_square_p(draws, pmf, scale):
    """P-value of draws against pmf(k, scale). Both tails are one bin, and every bin expects 10 draws at least."""
    reach = next(k for k in range(1, 10_000) if draws.size * pmf(k, scale) < 10)
    expected = np.array([pmf(k, scale) for k in range(-reach + 1, reach)]) * draws.size
    while draws.size - expected.sum() < 10:
        reach, expected = reach - 1, expected[1:-1]
    support = np.arange(-reach + 1, reach)
    observed = np.array([(draws == k).sum() for k in support])
    expected = np.append(expected, draws.size - expected.sum())
    observed = np.append(observed, draws.size - observed.sum())
    return stats.chisquare(observed, expected, sum_check=False).pvalue


@pytest.mark.parametrize("scale", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(("draw", "pmf"), [(gaussian_integers, gaussian_pmf), (laplace_integers, laplace_pmf)])
def test_exact_pmf_at_small_scales(draw, pmf, scale):
    assert chi_square_p(draw(scale, 200_000, system_bytes), pmf, scale) > ALARM


@pytest.mark.parametrize(("draw", "pmf"), [(gaussian_integers, gaussian_pmf), (laplace_integers, laplace_pmf)])
def test_the_pmf_test_can_fail(draw, pmf):
    draws = draw(20, 200_000, system_bytes)
    assert chi_square_p(draws, pmf, 21.5) < ALARM
    assert chi_square_p(np.where(draws == 3, 4, draws), pmf, 20) < ALARM


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("reach", [1, 2])
def test_tails_are_exact(normal, reach):
    """With a table that ends at 1 or 2, a large part of all draws goes through the tail."""
    sampler = ExactSampler(normal=normal, reach=reach)
    draws = sampler.integers(2, 8_000, system_bytes)
    assert chi_square_p(draws, gaussian_pmf if normal else laplace_pmf, 2) > ALARM


@pytest.mark.parametrize(("draw", "law"), [(gaussian_integers, "norm"), (laplace_integers, "laplace")])
@pytest.mark.parametrize("scale", [(1 << 24) + 12_345, (1 << 36) + 1])
def test_distribution_at_typical_scales(draw, law, scale):
    draws = draw(scale, 100_000, system_bytes)
    assert stats.kstest(draws / scale, law).pvalue > ALARM
    low_bits = np.bincount(draws & 15, minlength=16)
    assert stats.chisquare(low_bits).pvalue > ALARM
    lag = stats.pearsonr(draws[:-1].astype(float), draws[1:].astype(float))
    assert lag.pvalue > ALARM


def test_distribution_where_every_rounding_is_exact():
    """At scales near 2^52 floats cannot round, and all draws take the exact path."""
    scale = (1 << 51) + 1
    draws = gaussian_integers(scale, 4000, system_bytes)
    assert stats.kstest(draws / scale, "norm").pvalue > ALARM
    assert stats.chisquare(np.bincount(draws & 7, minlength=8)).pvalue > ALARM


@pytest.mark.parametrize("sampler", [HALF_NORMAL, EXPONENTIAL, ExactSampler(normal=True, reach=1)])
def test_floats_only_filter(sampler, monkeypatch):
    """Without the float filter, every decision is made exactly, and no result changes."""
    fast = sampler.integers(1000, 3_000, SeededBytes(11))
    monkeypatch.setattr(exact_noise, "_EXP_TOLERANCE", 10.0)
    slow = sampler.integers(1000, 3_000, SeededBytes(11))
    np.testing.assert_array_equal(fast, slow)


def test_float_error_is_far_below_the_margin_of_the_filter():
    rng = np.random.default_rng(0)
    for sampler in (HALF_NORMAL, EXPONENTIAL):
        cells = rng.integers(0, len(sampler._weights) - 1, 300).astype(np.uint64)
        places = rng.integers(0, 1 << 44, 300).astype(np.uint64)
        for cell, place in zip(cells, places, strict=True):
            y = Fraction((int(cell) << 44) | int(place), 1 << 48)
            exact = exp_bounds(sampler._exponent(y), 40)[0] * sampler._unit / sampler._weights[int(cell)]
            for distance, expected in ((-(2.0**-41), True), (2.0**-41, False)):
                uniform = np.array([int((float(exact) + distance) * 2**51)]).clip(0, 2**51 - 1).astype(np.uint64)
                yes, no = sampler._filter(np.array([cell]), np.array([place]), uniform)
                assert (bool(yes[0]), bool(no[0])) == (expected, not expected) or uniform[0] in (0, 2**51 - 1)


def test_lazy_bits_are_drawn_only_when_needed():
    asked = []

    def source(n):
        asked.append(n)
        return bytes(n)

    # 4 y is in [2, 2 + tiny), then in [1.5 - tiny, 1.5): no unknown bit can change the rounding
    assert LazyReal(1 << 47, 48, source).times_rounded(4) == 2
    assert LazyReal(3 * (1 << 45) - 1, 48, source).times_rounded(4) == 1
    assert asked == []
    # 4 y is in [1.25, 1.75): the next bits must be seen
    assert LazyReal(5, 4, source).times_rounded(4) == 1
    assert LazyReal(1, 2, source).times_rounded(4) == 1
    assert asked == [8]


@pytest.mark.parametrize(("extra", "expected"), [(b"\x00", 0), (b"\xff", 1)])
def test_rounding_at_a_boundary_waits_for_the_deciding_bit(extra, expected):
    assert LazyReal(0, 0, lambda n: extra * n).times_rounded(1) == expected


def test_acceptance_at_a_tie_waits_for_the_deciding_bit():
    # u < exp(-y) with both known to no bit at all
    low = lazy_accept(LazyReal(0, 0, bytes), Fraction(1), LazyReal(0, 1, bytes), lambda y: y)
    ones = lambda n: b"\xff" * n  # noqa: E731
    high = lazy_accept(LazyReal(0, 0, ones), Fraction(1), LazyReal(0, 1, ones), lambda y: y)
    assert (low, high) == (True, False)


@given(st.fractions(0, 200), st.integers(20, 60))
def test_exp_bounds_hold(x, digits):
    low, high = exp_bounds(x, digits)
    with mpmath.workdps(digits + 30):
        exact = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        assert (
            mpmath.mpf(low.numerator) / low.denominator <= exact <= mpmath.mpf(high.numerator) / high.denominator
        )
    assert (high - low) / low <= Fraction(1, 10 ** (digits - 4))


@pytest.mark.parametrize("sampler", [HALF_NORMAL, EXPONENTIAL])
def test_tables_are_an_envelope(sampler):
    for j, weight in enumerate(sampler._weights[:-1]):
        assert weight >= sampler._unit * exp_bounds(sampler._exponent(Fraction(j, 16)), 40)[1]
    assert sampler._weights[-1] >= sampler._unit * sampler._tail_area
    assert 0.9 * 2**32 < sum(sampler._weights) <= 2**32
    sure = sampler._sure[:-2].astype(object)
    for j, limit in enumerate(sure):
        far_end = exp_bounds(sampler._exponent(Fraction(j + 1, 16)), 40)[1] * sampler._unit / sampler._weights[j]
        assert Fraction(int(limit), 1 << 51) <= far_end


def test_zero_bytes_are_no_noise_and_seeds_repeat():
    assert not gaussian_integers(1 << 30, 1000, no_noise).any()
    assert not laplace_integers(1 << 30, 1000, no_noise).any()
    a, b = (gaussian_integers(1 << 24, 1000, SeededBytes(5)) for _ in range(2))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [0, 1, (1 << 15) + 1])
def test_any_size(size):
    assert gaussian_integers(100, size, system_bytes).shape == (size,)


@pytest.mark.parametrize("scale", [0, -1, 1.5, 1 << 52])
def test_invalid_scale(scale):
    with pytest.raises(InvalidInputError, match="scale"):
        gaussian_integers(scale, 1, system_bytes)
