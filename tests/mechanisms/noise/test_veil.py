"""Values are released only through a grant, and a grant is paid for first."""

import copy
import itertools
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil, no_noise
from eigenveil.mechanisms.noise.sampled_noise import sampled_noise
from eigenveil.mechanisms.noise.veil import grid_exponent
from eigenveil.privacy import Budget, Ledger
from support.forks import forking, in_a_fork


class Untouchable:
    def __call__(self, _):
        raise AssertionError("bytes were drawn")


def test_refused_before_a_single_byte():
    veil = Veil(Ledger(Budget.from_mu(0.1)), source=Untouchable())
    with pytest.raises(BudgetExceededError):
        veil.gaussian("x", mu=0.2, sensitivity=1.0, draws=1)
    with pytest.raises(BudgetExceededError):
        veil.laplace("x", epsilon=0.2, sensitivity=1.0)
    assert veil.ledger.entries == ()


def test_charged_before_the_draw_and_a_crash_cannot_hide_it():
    veil = Veil(Ledger(Budget.from_mu(1.0)), source=Untouchable())
    grant = veil.gaussian("x", mu=0.2, sensitivity=1.0, draws=1)
    assert veil.ledger.mu == 0.2
    with pytest.raises(AssertionError, match="drawn"):
        grant.release(grant.on_grid([1]))
    assert veil.ledger.mu == 0.2


def test_a_grant_cannot_be_drawn_from_twice():
    veil = Veil(Ledger(Budget.from_mu(1.0)))
    grant = veil.gaussian("x", mu=0.2, sensitivity=1.0, draws=3)
    grant.release(grant.on_grid([1, 2]))
    grant.release(grant.on_grid([1]))
    with pytest.raises(InvalidInputError, match="nothing was drawn"):
        grant.release(grant.on_grid([1]))


class Recording:
    """The bytes of the system, with a record of every piece that was read."""

    def __init__(self):
        self.pieces = []

    def __call__(self, n):
        self.pieces.append(os.urandom(n))
        return self.pieces[-1]


def of_poisson_rounds(veil):
    fixed = {"rate": 0.01, "rounds": 2, "noise_multiplier": 5.0, "delta": 1e-6, "radius": 1.0}
    return sampled_noise(veil, "x", draws=128, **fixed)


GRANTS = {
    "gaussian": lambda veil: veil.gaussian("x", mu=0.5, sensitivity=1.0, draws=128),
    "laplace": lambda veil: veil.laplace("x", epsilon=0.5, sensitivity=1.0, draws=128),
    "laplace, secret number": lambda veil: veil.laplace("x", epsilon=0.5, sensitivity=1.0, draws=None),
    "poisson": of_poisson_rounds,
}


@pytest.mark.parametrize("new", GRANTS.values(), ids=GRANTS)
def test_every_draw_has_its_own_noise(new):
    """mutant: the noise of a draw is used again for the next draw, or for another grant."""
    source = Recording()
    budget = Budget(mu=1.0, epsilon_aside=3.0, delta_aside=1e-4)
    veil = Veil(Ledger(budget), source=source)
    released = []
    for grant in (new(veil), new(veil)):
        for _ in range(2):
            before = len(source.pieces)
            out = grant.release(grant.on_grid(np.zeros(64, dtype=int)))
            assert len(source.pieces) > before, "a draw took no bytes"
            assert len(np.unique(out)) > 60, "values of one draw are the same"
            released.append(out)
    long = [piece for piece in source.pieces if len(piece) >= 16]
    assert len(set(long)) == len(long)
    for one, other in itertools.combinations(released, 2):
        assert np.mean(np.isclose(one, other, rtol=1e-6)) < 0.05
        assert not np.array_equal(np.sort(one), np.sort(other))


def test_no_bytes_are_used_twice():
    """Noise is a function of bytes: two draws from a source that counts use two different ranges of it."""
    veil = Veil(Ledger(Budget.from_mu(1.0)), source=SeededBytes(1))
    grant = veil.gaussian("x", mu=0.1, sensitivity=1.0, draws=20)
    positions, draws = [veil.source.position], []
    for _ in range(2):
        draws.append(grant.release(grant.on_grid(np.zeros(10, dtype=int))))
        positions.append(veil.source.position)
    assert positions[0] < positions[1] < positions[2]
    assert not np.any(np.isclose(draws[0], draws[1]))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_grant_is_not_copied(copied):
    """A copy could draw again what was paid for once."""
    grant = Veil(Ledger(Budget.from_mu(1.0))).gaussian("x", mu=0.1, sensitivity=1.0, draws=1)
    with pytest.raises(InvalidInputError, match="not copied or pickled"):
        copied(grant)


@forking
def test_a_grant_draws_nothing_in_a_fork():
    grant = Veil(Ledger(Budget.from_mu(1.0))).gaussian("x", mu=0.1, sensitivity=1.0, draws=1)
    assert "this ledger is a copy" in in_a_fork(lambda: grant.release(grant.on_grid([1])))
    assert grant.release(grant.on_grid([1])).shape == (1,)


@given(
    st.sampled_from([1e-8, 1e-5, 1e-3, 0.037, 0.25, 1.7, 10.0]),  # few, as every ledger is recomputed
    st.floats(-120, 120).map(lambda x: 2.0**x),
    st.integers(1, 10**6),
    st.sampled_from([1, 3, 10]),
)
def test_noise_is_at_least_what_was_paid_for(mu, sensitivity, draws, releases):
    veil = Veil(Ledger(Budget.from_mu(11.0)))
    grant = veil.gaussian("x", mu=mu, sensitivity=sensitivity, draws=draws, releases=releases)
    scale = grant._steps(1.0) * Fraction(2) ** grant.exponent
    assert grant._steps(1.0) < 1 << 52
    assert scale**2 * Fraction(mu) ** 2 >= Fraction(sensitivity) ** 2 * releases
    assert grant.scale <= sensitivity * math.sqrt(releases) / mu * (1 + 2.0**-23)
    assert math.ldexp(1, grant.exponent) <= sensitivity / math.sqrt(draws) / 1000


def test_grid_depends_on_public_numbers_only():
    assert grid_exponent(2.0**10, sensitivity=2.0**10, size=1) == -14
    assert grid_exponent(2.0**10, sensitivity=1.0, size=1 << 20) == -26
    assert grid_exponent(2.0**-40, sensitivity=1.0, size=1) == -31


def test_numbers_are_exact_on_the_grid_and_huge_ones_are_clipped():
    veil = Veil(Ledger(Budget.from_mu(3.0)), source=bytes)
    grant = veil.gaussian("x", mu=1.0, sensitivity=1.0, draws=100)
    counts = np.array([0, 1, -7, 10**9])
    np.testing.assert_array_equal(grant.release(grant.on_grid(counts)), counts)
    np.testing.assert_array_equal(grant.nearest([0.5, -0.25]), [1 << 23, -(1 << 22)])
    huge = grant.release(grant.nearest([1e300, -1e300]))
    np.testing.assert_array_equal(huge, [2.0**61 * 2.0**-24, -(2.0**61) * 2.0**-24])


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf])
def test_invalid_sensitivity(sensitivity):
    veil = Veil(Ledger(Budget.from_epsilon_delta(1, 1e-6, epsilon_aside=0.5)))
    with pytest.raises(InvalidInputError, match="sensitivity"):
        veil.gaussian("x", mu=0.1, sensitivity=sensitivity, draws=1)
    with pytest.raises(InvalidInputError, match="sensitivity"):
        veil.laplace("x", epsilon=0.1, sensitivity=sensitivity)
    assert veil.ledger.entries == ()


def test_over_a_part_keeps_the_source_and_charges_the_part():
    ledger = Ledger(Budget.from_mu(1.0))

    class Parts:
        parts = 2
        stable_under = ("removal",)

        def assert_disjoint(self):
            return "by coin"

    veil = Veil(ledger)
    for part in ledger.parallel(Parts()):
        inner = veil.over(part)
        assert inner.source is veil.source
        inner.gaussian("x", mu=0.9, sensitivity=1.0, draws=1)
    assert ledger.private
    assert ledger.mu == pytest.approx(0.9)


@pytest.mark.parametrize("mu", [2.0**-40, 2.0**-52, 2.0**-60])
def test_a_grid_coarser_than_one_releases_no_count(mu):
    """Released counts must not differ by more than the sensitivity."""
    budget = Budget.from_mu(1.0)
    found = []
    for count in (1000, 1001):
        grant = Veil(Ledger(budget), source=no_noise).gaussian("count", mu=mu, sensitivity=1.0, draws=1)
        found.append(grant.release(grant.on_grid([count]))[0])
    assert abs(found[1] - found[0]) <= 1


@pytest.mark.parametrize("sum_", [2**61 - 5, 2**63 - 2**20, 2**63 - 1, -(2**63), 0])
def test_one_unit_moves_a_sum_that_overflows_no_further_than_any_other(sum_):
    """Sums are modulo 2^64: around the point where they wrap, one unit must not decide between two ends."""
    unit = 1 << 20

    def released(steps):
        grant = Veil(Ledger(Budget.from_mu(1.0)), source=SeededBytes(0)).gaussian(
            "x", mu=1.0, sensitivity=1.0, draws=1
        )
        wrapped = (steps + 2**63) % 2**64 - 2**63
        return int(math.ldexp(float(grant.release(np.array([wrapped]))[0]), -grant.exponent))

    moved = (released(sum_ + unit) - released(sum_)) % 2**64
    assert abs(moved - unit) <= 2048  # floats near 2^63 are 1024 apart
