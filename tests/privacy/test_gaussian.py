"""The Gaussian curve against fifty-digit arithmetic, and its inverses."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu

epsilons = st.floats(-4, math.log10(50)).map(lambda x: 10**x)
deltas = st.floats(-15, math.log10(0.5)).map(lambda x: 10**x)


def exact_delta(epsilon, mu):
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"), [(1, 1e-6, 4.2247), (1, 1e-2, 1.8779), (0.1, 1e-6, 36.305)]
)
def test_published_sigmas(epsilon, delta, sigma):
    assert 1 / gaussian_mu(epsilon, delta) == pytest.approx(sigma, abs=1e-4 if sigma < 10 else 1e-3)


@given(epsilons, st.floats(-5.5, 1.3).map(lambda x: 10**x))
def test_curve_equals_fifty_digits(epsilon, mu):
    exact = exact_delta(epsilon, mu)
    if exact > 1e-280:
        assert gaussian_delta(epsilon, mu) == pytest.approx(float(exact), rel=1e-11)


@given(epsilons, deltas)
def test_mu_is_on_the_private_side_and_tight(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(epsilon, mu) <= delta
    assert exact_delta(epsilon, mu * (1 + 1e-8)) > delta


@given(epsilons, deltas)
def test_epsilon_inverts_delta(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    back = gaussian_epsilon(delta, mu)
    assert exact_delta(back, mu) <= delta * (1 + 1e-9)
    assert back <= epsilon * (1 + 1e-9)
    assert gaussian_delta(back, mu) == pytest.approx(delta, rel=1e-6)


def test_curve_is_answered_wherever_delta_is_below_one():
    for mu in (1e-6, 0.01, 1.0, 30.0, 300.0):
        for epsilon in (0.0, 1e-9, 1.0, 1e3, 1e6, math.inf):
            assert 0 <= gaussian_delta(epsilon, mu) <= 1
        for delta in (1e-300, 1e-15, 0.5, 0.999):
            assert 0 <= gaussian_epsilon(delta, mu) < math.inf
    assert gaussian_delta(0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, 1e-6), (-1, 1e-6), (math.nan, 1e-6), (math.inf, 1e-6), ("1", 1e-6), (1, 0), (1, 1), (1, math.nan)],
)
def test_invalid_arguments_are_refused_with_a_hint(epsilon, delta):
    with pytest.raises(InvalidInputError, match="Hint"):
        gaussian_mu(epsilon, delta)


def test_monotone():
    mus = [gaussian_mu(e, 1e-6) for e in np.geomspace(1e-4, 50, 40)]
    assert np.all(np.diff(mus) > 0)
    mus = [gaussian_mu(1.0, d) for d in np.geomspace(1e-15, 0.5, 40)]
    assert np.all(np.diff(mus) > 0)
