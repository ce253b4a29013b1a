"""Simulated units give the same answers as real units of the same distribution."""

import numpy as np
import pytest

from eigenveil.kernels import Clip
from eigenveil.mechanisms import Veil
from eigenveil.operators import samples
from eigenveil.planner.guess import make_guess
from eigenveil.planner.simulated import SimulatedUnits, draw
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

N, D = 40_000, 12
VALUES = np.array([6.0, 4.0, 3.0] + [1.0] * (D - 3))


def _real(spread, rng):
    """Draw real units, in the same basis."""
    if spread == "rows":
        return samples.rows(rng.standard_normal((N, D)) * np.sqrt(VALUES))
    if isinstance(spread, int):
        X = rng.standard_normal((N * spread, D)) * np.sqrt(VALUES)
        return samples.people(X, np.repeat(np.arange(N), spread))
    return samples.spiked(np.eye(D, 3), VALUES[:3] - 1, rng.standard_normal((N, D)))


@pytest.fixture(scope="module", params=["rows", 3, float(np.sqrt(D * (D + 1)))], ids=["rows", "people", "spiked"])
def both(request):
    rng = np.random.default_rng(0)
    budget = Budget.from_mu(1.0)
    real = Units(_real(request.param, rng), Veil(Ledger(budget)), budget)
    guess = make_guess(D, 2, spectrum=VALUES, spread=request.param)
    return real, SimulatedUnits(guess, N, draw(guess, N, rng))


def _agree(real, simulated, centre):
    """Compare the median norm, and the sum clipped at the median."""
    edges = 2.0 ** np.arange(-8, 10, 0.05)
    target = N / 2
    radius = edges[np.searchsorted(real.counts_within(centre, edges), target)]
    other = edges[np.searchsorted(simulated.counts_within(centre, edges), target)]
    assert other == pytest.approx(radius, rel=0.08)
    exponent = int(np.floor(np.log2(radius))) - 25
    expected = real.clipped_sum(centre, radius, exponent) * 2.0**exponent / N
    found = simulated.clipped_sum(centre, radius, 0) / N
    assert found == pytest.approx(expected, abs=0.08 * np.linalg.norm(expected + 0.01 * radius))
    counts, (total,) = simulated.survey(centre, edges, [Clip(radius, 0)])
    np.testing.assert_array_equal(counts, simulated.counts_within(centre, edges))
    np.testing.assert_array_equal(total / N, found)
    assert real.shape == simulated.shape
    assert real.symmetric == simulated.symmetric


@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_blocks(both, factor):
    real, simulated = both
    W = np.linalg.qr(np.eye(D, 4) + 0.1 * np.random.default_rng(1).standard_normal((D, 4)))[0]
    if factor < 1:
        real, simulated = real.damped(W, factor), simulated.damped(W, factor)
    M = np.eye(D) - (1 - factor) * W @ W.T
    columns = W * [1.0, 0.8, 0.5, 0.3] / factor
    expected = (M @ np.diag(VALUES) @ M @ columns).astype(np.float32).astype(float)
    for centre in (np.zeros((D, 4)), expected):
        _agree(real.block(columns), simulated.block(columns), centre)


def test_matrices(both):
    _agree(both[0].matrices(), both[1].matrices(), np.zeros((D, D)))


def test_variances(both):
    U = np.eye(D, 2)
    for entries in (slice(2), slice(2, None)):
        real, simulated = (units.variances(U, entries=entries) for units in both)
        _agree(real, simulated, np.zeros(real.shape))


def test_vectors():
    guess = make_guess(D, 2, spectrum=VALUES, spread="rows")
    simulated = SimulatedUnits(guess, N, draw(guess, N, np.random.default_rng(0)))
    budget = Budget.from_mu(1.0)
    real = Units(_real("rows", np.random.default_rng(0)), Veil(Ledger(budget)), budget)
    edges = np.array([2.0, 4.0, 8.0])
    expected = real.vectors().counts_within(np.zeros(D), edges)
    assert simulated.vectors().counts_within(np.zeros(D), edges) == pytest.approx(expected, abs=0.04 * N)


def test_clipping_skewed_rows_has_the_same_bias():
    """Rows of a public sample reproduce the bias of clipping inside the span."""
    rng = np.random.default_rng(0)
    sample = (rng.exponential(size=(2000, D)) - 1) * np.sqrt(VALUES)
    guess = make_guess(D, 2, spectrum=sample, spread="rows")
    simulated = SimulatedUnits(guess, N, draw(guess, N, rng))
    budget = Budget.from_mu(1.0)
    rows = np.ascontiguousarray(guess.rows[:, 0])
    real = Units(samples.rows(rows), Veil(Ledger(budget)), budget)
    W = np.eye(D, 3)
    radius = float(np.median(np.linalg.norm(rows, axis=1) * np.linalg.norm(rows @ W, axis=1)))
    expected = real.block(W).clipped_sum(np.zeros((D, 3)), radius, -20) * 2.0**-20 / len(rows)
    found = simulated.block(W).clipped_sum(np.zeros((D, 3)), radius, 0) / N
    assert found[:3] == pytest.approx(expected[:3], abs=0.1)
    total = real.matrices().clipped_sum(np.zeros((D, D)), radius, -20) * 2.0**-20 / len(rows)
    whole = simulated.matrices().clipped_sum(np.zeros((D, D)), radius, 0) / N
    assert whole == pytest.approx(total, abs=0.1)


def test_without_clipping_there_is_no_bias():
    """The sampling error of the few rows kept of a public sample is not mistaken for an effect of clipping."""
    rng = np.random.default_rng(0)
    sample = (rng.exponential(size=(20_000, D)) - 1) * np.sqrt(VALUES)
    guess = make_guess(D, 2, spectrum=sample, spread="rows")
    drawn = draw(guess, N, rng)
    whole = SimulatedUnits(guess, N, drawn).matrices().clipped_sum(np.zeros((D, D)), 1e9, 0) / N
    assert whole == pytest.approx(drawn.varying, abs=1e-9)


@pytest.mark.parametrize("skewed", [True, False])
def test_the_mean_of_clipped_rows_follows_the_sample(skewed):
    rng = np.random.default_rng(0)
    factors = rng.exponential(size=(20_000, D)) - 1 if skewed else rng.laplace(size=(20_000, D))
    guess = make_guess(D, 2, spectrum=factors * np.sqrt(VALUES), spread="rows")
    radius = float(np.median(np.linalg.norm(guess.rows[:, 0], axis=1)))
    simulated = SimulatedUnits(guess, N, draw(guess, N, rng)).vectors().clipped_sum(np.zeros(D), radius, 0) / N
    rows = guess.rows[:, 0]
    expected = np.mean(rows * np.minimum(1, radius / np.linalg.norm(rows, axis=1))[:, None], axis=0)
    assert simulated == pytest.approx(expected if skewed else np.zeros(D), abs=1e-9)
