"""Rule 2: noise in plain floats gives itself away in its low bits; ours does not.

The attack: a released float that is no multiple of 2^-j cannot have come from x + noise whose sum
was rounded to a coarser spacing. For neighbours 0 and 1 it bets on 0 when it sees such a value.
"""

import math

import numpy as np
import pytest

from eigenveil.mechanisms import Veil
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.gaussian import gaussian_mu

TRIALS = 100_000
SIGMA = 1 / gaussian_mu(1.0, 1e-6)


def naive(x, n):
    return x + SIGMA * np.random.default_rng().normal(size=n)


def ours(x, n):
    veil = Veil(Ledger(Budget.from_mu(1 / SIGMA * math.sqrt(n) * 1.01)))
    grant = veil.gaussian("attack", mu=math.sqrt(n) / SIGMA, sensitivity=1.0, draws=n, releases=n)
    assert grant.scale == pytest.approx(SIGMA, rel=1e-6)
    return grant.release(grant.on_grid(np.full(n, x)))


def attack(release):
    """Largest lower bound on delta at epsilon = 1 over all events of the attack, at 6 sigma."""
    zero, one = release(0, TRIALS), release(1, TRIALS)
    best = -1.0
    for bits in range(10, 61):
        for reach in (0.25, 0.5, 1.0, 4.0):
            hits = [np.mean((np.abs(y) < reach) & (np.ldexp(y, bits) % 1 != 0)) for y in (zero, one)]
            slack = 6 * sum(w * math.sqrt(h * (1 - h) / TRIALS) for w, h in zip((1, math.e), hits, strict=True))
            best = max(best, hits[0] - math.e * hits[1] - slack)
            for residue in (zero, one):
                assert residue.size == TRIALS
    return best


def test_the_attack_works_on_naive_noise():
    assert attack(naive) > 0.04


def test_the_attack_fails_on_exact_noise():
    assert attack(ours) <= 0.0


def test_all_releases_lie_on_one_grid_whatever_the_statistic():
    for x in (0, 1, 10**6):
        veil = Veil(Ledger(Budget.from_mu(1.0)))
        grant = veil.gaussian("grid", mu=0.1, sensitivity=1.0, draws=1000)
        released = grant.release(grant.on_grid(np.full(1000, x)))
        assert np.all(np.ldexp(released, -grant.exponent) % 1 == 0)
