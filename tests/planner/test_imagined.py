"""Imagined units answer as real ones with the same distribution do."""

import numpy as np
import pytest

from eigenveil.kernels import Clip
from eigenveil.mechanisms import Veil
from eigenveil.operators import samples
from eigenveil.planner.guess import make_guess
from eigenveil.planner.imagined import ImaginedUnits, draw
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

N, D = 40_000, 12
VALUES = np.array([6.0, 4.0, 3.0] + [1.0] * (D - 3))


def _real(spread, rng):
    """Units drawn for real, in the same basis."""
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
    return real, ImaginedUnits(guess, N, draw(guess, N, rng))


def _agree(real, imagined, centre):
    """The median, and the sum clipped at it."""
    edges = 2.0 ** np.arange(-8, 10, 0.05)
    target = N / 2
    radius = edges[np.searchsorted(real.counts_within(centre, edges), target)]
    other = edges[np.searchsorted(imagined.counts_within(centre, edges), target)]
    assert other == pytest.approx(radius, rel=0.08)
    exponent = int(np.floor(np.log2(radius))) - 25
    wanted = real.clipped_sum(centre, radius, exponent) * 2.0**exponent / N
    found = imagined.clipped_sum(centre, radius, 0) / N
    assert found == pytest.approx(wanted, abs=0.08 * np.linalg.norm(wanted + 0.01 * radius))
    counts, (total,) = imagined.survey(centre, edges, [Clip(radius, 0)])
    np.testing.assert_array_equal(counts, imagined.counts_within(centre, edges))
    np.testing.assert_array_equal(total / N, found)
    assert real.shape == imagined.shape
    assert real.symmetric == imagined.symmetric


@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_blocks(both, factor):
    real, imagined = both
    W = np.linalg.qr(np.eye(D, 4) + 0.1 * np.random.default_rng(1).standard_normal((D, 4)))[0]
    if factor < 1:
        real, imagined = real.damped(W, factor), imagined.damped(W, factor)
    M = np.eye(D) - (1 - factor) * W @ W.T
    columns = W * [1.0, 0.8, 0.5, 0.3] / factor
    wanted = (M @ np.diag(VALUES) @ M @ columns).astype(np.float32).astype(float)
    for centre in (np.zeros((D, 4)), wanted):
        _agree(real.block(columns), imagined.block(columns), centre)


def test_matrices(both):
    _agree(both[0].matrices(), both[1].matrices(), np.zeros((D, D)))


def test_variances(both):
    U = np.eye(D, 2)
    for entries in (slice(2), slice(2, None)):
        real, imagined = (units.variances(U, entries=entries) for units in both)
        _agree(real, imagined, np.zeros(real.shape))


def test_vectors():
    guess = make_guess(D, 2, spectrum=VALUES, spread="rows")
    imagined = ImaginedUnits(guess, N, draw(guess, N, np.random.default_rng(0)))
    budget = Budget.from_mu(1.0)
    real = Units(_real("rows", np.random.default_rng(0)), Veil(Ledger(budget)), budget)
    edges = np.array([2.0, 4.0, 8.0])
    wanted = real.vectors().counts_within(np.zeros(D), edges)
    assert imagined.vectors().counts_within(np.zeros(D), edges) == pytest.approx(wanted, abs=0.04 * N)


def test_skewed_rows_lean_as_the_sample_does():
    """Rows of a public sample keep what clipping bends inside the span."""
    rng = np.random.default_rng(0)
    sample = (rng.exponential(size=(2000, D)) - 1) * np.sqrt(VALUES)
    guess = make_guess(D, 2, spectrum=sample, spread="rows")
    imagined = ImaginedUnits(guess, N, draw(guess, N, rng))
    budget = Budget.from_mu(1.0)
    rows = np.ascontiguousarray(guess.rows[:, 0])
    real = Units(samples.rows(rows), Veil(Ledger(budget)), budget)
    W = np.eye(D, 3)
    radius = float(np.median(np.linalg.norm(rows, axis=1) * np.linalg.norm(rows @ W, axis=1)))
    wanted = real.block(W).clipped_sum(np.zeros((D, 3)), radius, -20) * 2.0**-20 / len(rows)
    found = imagined.block(W).clipped_sum(np.zeros((D, 3)), radius, 0) / N
    assert found[:3] == pytest.approx(wanted[:3], abs=0.1)
    total = real.matrices().clipped_sum(np.zeros((D, D)), radius, -20) * 2.0**-20 / len(rows)
    whole = imagined.matrices().clipped_sum(np.zeros((D, D)), radius, 0) / N
    assert whole == pytest.approx(total, abs=0.1)


def test_what_is_not_clipped_does_not_lean():
    """Chance in the few rows that are kept of a public sample is not taken for what clipping does."""
    rng = np.random.default_rng(0)
    sample = (rng.exponential(size=(20_000, D)) - 1) * np.sqrt(VALUES)
    guess = make_guess(D, 2, spectrum=sample, spread="rows")
    drawn = draw(guess, N, rng)
    whole = ImaginedUnits(guess, N, drawn).matrices().clipped_sum(np.zeros((D, D)), 1e9, 0) / N
    assert whole == pytest.approx(drawn.moving, abs=1e-9)


@pytest.mark.parametrize("skewed", [True, False])
def test_the_mean_of_clipped_rows_follows_the_sample(skewed):
    rng = np.random.default_rng(0)
    factors = rng.exponential(size=(20_000, D)) - 1 if skewed else rng.laplace(size=(20_000, D))
    guess = make_guess(D, 2, spectrum=factors * np.sqrt(VALUES), spread="rows")
    radius = float(np.median(np.linalg.norm(guess.rows[:, 0], axis=1)))
    imagined = ImaginedUnits(guess, N, draw(guess, N, rng)).vectors().clipped_sum(np.zeros(D), radius, 0) / N
    rows = guess.rows[:, 0]
    wanted = np.mean(rows * np.minimum(1, radius / np.linalg.norm(rows, axis=1))[:, None], axis=0)
    assert imagined == pytest.approx(wanted if skewed else np.zeros(D), abs=1e-9)
