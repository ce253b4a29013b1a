"""CoinPress and AdaptiveCov: noise as their budgets say, and the right answer without noise."""

import math

import numpy as np
import pytest

from eigenveil.privacy.gaussian import gaussian_delta
from support.benchmarks import load

rivals = load("rival_covariances")
NO_NOISE = 1e24
EIGENVALUES = np.array([9.0, 4.0, 2.0, 1.0, 0.5, 0.25])


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def rows(rng):
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    return rng.standard_normal((4000, 6)) * np.sqrt(EIGENVALUES) @ Q.T


@pytest.fixture
def spent(monkeypatch):
    """The rho of all Gaussian noise that is drawn."""
    budgets = []
    draw = rivals.noise

    def noise(rng, size, *, sensitivity, rho):
        budgets.append(rho)
        return draw(rng, size, sensitivity=sensitivity, rho=rho)

    monkeypatch.setattr(rivals, "noise", noise)
    return budgets


class Laplace:
    """A generator that keeps the scales of Laplace noise."""

    def __init__(self, rng):
        self.standard_normal, self._rng, self.scales = rng.standard_normal, rng, []

    def laplace(self, scale):
        self.scales.append(scale)
        return self._rng.laplace(scale=scale)


def norm(X):
    return np.linalg.norm(X, axis=1).max()


def test_with_the_largest_rho_the_whole_is_just_private():
    assert gaussian_delta(1.0, math.sqrt(2 * rivals.coin_press_rho(1.0, 1e-6))) == pytest.approx(1e-6, rel=1e-6)
    rho = rivals.adaptive_cov_rho(1.0, 1e-6)
    epsilon, mu = math.sqrt(2 * rho / 8), math.sqrt(2 * rho * 7 / 8)
    assert gaussian_delta(1.0 - epsilon, mu) == pytest.approx(1e-6, rel=1e-6)


def test_rho_is_larger_than_by_the_usual_conversion():
    log = math.log(1e6)
    usual = (math.sqrt(log + 1) - math.sqrt(log)) ** 2
    found = [rivals.coin_press_rho(1.0, 1e-6), rivals.adaptive_cov_rho(1.0, 1e-6)]
    assert [round(rho, 3) for rho in (usual, *found)] == [0.017, 0.028, 0.027]


def test_the_steps_of_coin_press_spend_rho(rows, rng, spent):
    rivals.coin_press(rows, 9.0, 0.3, rng)
    assert len(spent) == 2
    assert sum(spent) == pytest.approx(0.3)


@pytest.mark.parametrize("method", ["gauss_cov", "separate_cov"])
def test_the_parts_of_adaptive_cov_spend_rho(rows, rng, spent, method, monkeypatch):
    monkeypatch.setattr(rivals, "errors", lambda *_: (0.0, 1.0) if method == "gauss_cov" else (1.0, 0.0))
    rng = Laplace(rng)
    rivals.adaptive_cov(rows, norm(rows), 0.3, rng)
    assert len(spent) == (2 if method == "gauss_cov" else 3)
    threshold, *queries = rng.scales
    assert set(queries) == {2 * threshold}
    epsilon = 2 / threshold  # of the sparse vector technique, for one answer above the threshold
    assert sum(spent) + epsilon**2 / 2 == pytest.approx(0.3)


def test_noise_on_a_covariance_is_that_of_its_sensitivity(rng):
    found = rivals.gauss_cov(np.zeros((200, 200)), 3.0, 0.5, rng)
    assert np.array_equal(found, found.T)
    assert np.std(found[np.triu_indices(200)]) == pytest.approx(3.0 / math.sqrt(2 * 0.5), rel=0.02)


def test_noise_of_coin_press_is_that_of_the_clip(rng, monkeypatch):
    n, d, rho, seen = 500, 120, 0.4, []
    draw = rivals.symmetric_noise
    monkeypatch.setattr(
        rivals, "symmetric_noise", lambda *given, **options: seen.append(draw(*given, **options)) or seen[-1]
    )
    rivals.coin_press(np.zeros((n, d)), 1.0, rho, rng)
    clip = d + 2 * math.sqrt(d * math.log(10)) + 2 * math.log(10)  # squared
    for Z, share in zip(seen, (1 / 4, 3 / 4), strict=True):
        expected = clip / n / math.sqrt(2 * share * rho)
        assert np.std(Z[np.triu_indices(d)]) == pytest.approx(expected, rel=0.03)


def test_one_row_moves_a_clipped_moment_by_its_sensitivity(rows):
    n, radius = len(rows), 2.0
    with_it, without = rivals.second_moment(rows, radius) * n, rivals.second_moment(rows[1:], radius) * (n - 1)
    assert np.linalg.norm(rows[0]) > radius
    assert np.linalg.norm(with_it - without) == pytest.approx(radius**2)


@pytest.mark.parametrize("k", [1, 3])
def test_without_noise_components_are_the_true_ones(rows, rng, k):
    truth = rivals.leading(rows.T @ rows, k)
    adaptive = rivals.adaptive_cov(rows, norm(rows), NO_NOISE, rng)
    assert adaptive == pytest.approx(rows.T @ rows / len(rows), abs=1e-6)
    assert np.abs(rivals.leading(adaptive, k) @ truth.T) == pytest.approx(np.eye(k), abs=1e-6)
    pressed = rivals.leading(rivals.coin_press(rows, 9.0, NO_NOISE, rng), k)
    assert np.abs(pressed @ truth.T) == pytest.approx(np.eye(k), abs=0.05)  # it clips a tenth of the rows


def test_separate_keeps_eigenvalues_and_eigenvectors_together(rows, rng):
    S = rows.T @ rows / len(rows)
    assert rivals.separate_cov(S, 1.0, NO_NOISE, rng) == pytest.approx(S, abs=1e-6)


def test_a_long_row_is_clipped_where_noise_costs_more(rng):
    norms = np.full(10_000, 0.01)
    norms[0] = 1.0
    assert np.median([rivals.private_clip(norms, 400, 0.01, 50.0, rng) for _ in range(99)]) == 0.25
    assert {rivals.private_clip(np.ones(10_000), 400, 1.0, 50.0, rng) for _ in range(20)} == {1.0}


def test_the_method_with_the_smaller_error_is_chosen():
    gauss, separate = rivals.errors(100_000, 20, 1.0, 0.5, 0.02)
    assert gauss < separate
    gauss, separate = rivals.errors(2_000, 800, 1.0, 0.5, 0.02)
    assert gauss > separate


@pytest.mark.parametrize("shares", [(1.0,), (0.25, 0.75), (0.125, 0.125, 0.75)], ids=len)
def test_coin_press_returns_to_the_units_of_the_rows(rows, rng, monkeypatch, shares):
    monkeypatch.setattr(rivals, "SHARES", shares)
    found = rivals.coin_press(rows, 36.0, NO_NOISE, rng)
    assert found == pytest.approx(rows.T @ rows / len(rows), abs=0.06 * 9)
