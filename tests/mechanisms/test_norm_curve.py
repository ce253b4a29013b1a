import math

import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.mechanisms import SeededBytes, Veil, no_noise
from eigenveil.mechanisms.norm_curve import ABOVE, ANCHOR_SHARE, BELOW, COARSE, STEP, norm_curve
from eigenveil.mechanisms.radius import EDGES
from eigenveil.privacy import Budget, Ledger


def curve_of(norms, *, source=no_noise, n_hat=None, mu=1.0, relation="add-remove"):
    veil = Veil(Ledger(Budget.from_mu(1.0), relation=relation), source=source)
    population = TensorPopulation(np.asarray(norms, dtype=float)[:, None])
    found = norm_curve(population, centre=np.zeros(1), n_hat=n_hat or len(norms), mu=mu, veil=veil)
    return found, veil.ledger


def test_without_noise_it_is_the_curve():
    norms = np.random.default_rng(0).lognormal(size=50_000)
    found, _ = curve_of(norms, mu=1.0)
    assert found.median == EDGES[np.searchsorted(EDGES, np.median(norms))]
    seen = found.beyond > 0
    expected = np.array([np.mean(norms > edge) for edge in found.edges])
    np.testing.assert_allclose(found.beyond[seen], expected[seen], atol=1e-12)
    excess = np.array([np.mean(np.maximum(norms - edge, 0)) for edge in found.edges])
    np.testing.assert_allclose(found.excess[:20], excess[:20], rtol=0.05)


def test_curve_if_more_than_half_of_the_units_are_zero():
    norms = np.random.default_rng(0).lognormal(size=50_000)
    norms[:30_000] = 0
    found, _ = curve_of(norms)
    assert found.edges[0] < np.quantile(norms[30_000:], 0.1)
    excess = np.array([np.mean(np.maximum(norms - edge, 0)) for edge in found.edges])
    np.testing.assert_allclose(found.excess[:20], excess[:20], rtol=0.05)


def test_units_beyond_the_last_edge_count():
    """Otherwise the curve would say that nothing is clipped there."""
    found, _ = curve_of(np.r_[np.ones(8000), np.full(2000, 1e6)])
    assert found.beyond[-1] == pytest.approx(0.2)
    assert found.excess[-1] == pytest.approx(0.2 * found.edges[-1])


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.0), ("replace", math.sqrt(2))])
def test_charges(relation, sensitivity):
    found, ledger = curve_of(np.ones(1000), relation=relation, mu=0.5)
    histogram, anchor, counts = ledger.entries
    assert (histogram.releases, histogram.draws) == (1, 65)
    assert histogram.sensitivity == pytest.approx(sensitivity)
    assert (anchor.releases, anchor.draws, anchor.sensitivity) == (5, 5, 1.0)
    assert (counts.releases, counts.draws) == (1, BELOW + ABOVE + 2)
    assert counts.sensitivity == pytest.approx(sensitivity)
    assert ledger.mu == pytest.approx(0.5)
    assert found.count_noise == pytest.approx(anchor.scale * math.sqrt(ANCHOR_SHARE))


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.0), ("replace", math.sqrt(2))])
def test_charges_if_units_are_few(relation, sensitivity):
    """No search is bought, and fewer counts. The whole mu is spent on two histograms."""
    _, ledger = curve_of(np.ones(40), relation=relation, mu=0.5)
    histogram, counts = ledger.entries
    assert (histogram.releases, histogram.draws) == (1, 65)
    assert (counts.releases, counts.draws) == (1, 11)
    for entry, share in ((histogram, ANCHOR_SHARE), (counts, 1 - ANCHOR_SHARE)):
        assert entry.sensitivity == pytest.approx(sensitivity)
        assert entry.scale == pytest.approx(sensitivity / (0.5 * math.sqrt(share)))
    assert ledger.mu == pytest.approx(0.5)


def test_whether_units_are_few_follows_from_the_noise_and_n_hat():
    noise = 1 / (0.5 * math.sqrt(1 - ANCHOR_SHARE))
    for n_hat, entries in ((0.99 * noise / COARSE, 2), (1.01 * noise / COARSE, 3)):
        _, ledger = curve_of(np.ones(5), n_hat=n_hat, mu=0.5)
        assert len(ledger.entries) == entries


def test_the_curve_of_few_units():
    """Exact, up to noise, at edges a factor of 2 apart; interpolated between them, on the same grid of edges."""
    norms = np.exp2(np.random.default_rng(0).normal(scale=0.7, size=300))
    exact, _ = curve_of(norms, mu=0.05)
    np.testing.assert_allclose(exact.edges[1:] / exact.edges[:-1], 2**0.25)
    counted = slice(0, None, STEP)
    expected = np.array([np.mean(norms > edge) for edge in exact.edges])
    seen = exact.beyond[counted] > 0
    np.testing.assert_allclose(exact.beyond[counted][seen], expected[counted][seen], atol=1e-12)
    assert np.abs(exact.beyond - expected)[exact.edges < 1].max() < 0.1
    noisy = [curve_of(norms, source=SeededBytes(seed), mu=0.05)[0].median for seed in range(40)]
    assert np.median(np.abs(np.log2(noisy))) <= 0.5
    assert np.mean(np.abs(np.log2(noisy)) <= 1) > 0.9


@pytest.mark.parametrize("norm", [0.0, 1e-300, 1e60, np.nan])
def test_few_units_at_the_ends_of_the_grid(norm):
    for seed in range(20):
        found, _ = curve_of(np.full(20, norm), source=SeededBytes(seed), mu=0.05)
        assert np.all(np.isfinite(found.excess))
        assert np.all(np.diff(found.beyond) <= 0)
        assert np.all((found.beyond >= 0) & (found.beyond <= 1))


@pytest.mark.parametrize("norms", [[], [0.0] * 9, [1e300] * 9, [np.nan, np.inf, 1.0, 2.0, 3.0], [5e-39] * 7])
def test_edge_cases(norms):
    found, _ = curve_of(norms, n_hat=5.0)
    assert np.all(np.isfinite(found.excess))
    assert np.all(np.diff(found.beyond) <= 0)
    assert np.all((found.beyond >= 0) & (found.beyond <= 1))


def test_it_reads_the_data_once_after_all_charges():
    veil = Veil(Ledger(Budget.from_mu(1.0)))

    class Counted(TensorPopulation):
        reads = 0

        def survey(self, *args):
            Counted.reads += 1
            assert veil.ledger.mu == pytest.approx(1.0)
            return super().survey(*args)

    norm_curve(Counted(np.ones((50, 2))), centre=np.zeros(2), n_hat=50.0, mu=1.0, veil=veil)
    assert Counted.reads == 1


def test_the_noise_of_shares_is_stated():
    norms = np.exp2(np.random.default_rng(0).uniform(-3, 5, size=100_000))
    one_count = np.random.default_rng(1).normal(size=300)
    one_count *= 1 / (0.02 * math.sqrt(1 - ANCHOR_SHARE)) / one_count.std()
    curves = [
        (curve_of(norms, n_hat=n_hat, source=SeededBytes(seed), mu=0.02)[0], n_hat)
        for seed, n_hat in enumerate(100_000 + one_count)
    ]
    assert len({curve.edges[0] for curve, _ in curves}) < 3
    first = curves[0][0]
    curves = [(curve, n_hat) for curve, n_hat in curves if curve.edges[0] == first.edges[0]]
    for place in (0, 3, 9, 15, 18):
        measured = np.std([curve.beyond[place] * n_hat for curve, n_hat in curves]) / 100_000
        assert 0.8 * first.noise[place] < measured < 1.15 * first.noise[place]


def test_shares_are_known_from_both_sides():
    """Just above the first edge, nearly all units are beyond it; far below it, noise alone would hide that."""
    found = [curve_of(np.ones(1000), source=SeededBytes(seed), mu=0.05)[0] for seed in range(40)]
    assert max(abs(curve.beyond[0] - 1) for curve in found) < 0.15


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_units_without_a_norm_are_in_no_count(missing):
    found, _ = curve_of(np.r_[np.ones(8000), np.full(2000, missing)], n_hat=8000.0)
    assert not found.beyond[found.edges > 1].any()
    assert found.median == 1


def test_the_median_is_the_last_edge_if_no_edge_contains_half_of_the_units():
    found, _ = curve_of(np.full(5000, 1e60))
    assert found.beyond[-1] > 0.5
    assert found.median == found.edges[-1]


def test_tails_dominated_by_noise_are_empty():
    """A few units far away are not reported, whatever the noise; many are."""
    for seed in range(20):
        veil = Veil(Ledger(Budget.from_mu(1.0)))
        norms = np.r_[np.ones(10_000 - seed), np.full(seed, 50.0)]
        population = TensorPopulation(norms[:, None])
        found = norm_curve(population, centre=np.zeros(1), n_hat=10_000.0, mu=0.02, veil=veil)
        assert found.beyond[found.edges > 10].max() < 0.06
