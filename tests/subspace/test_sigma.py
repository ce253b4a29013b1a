import math

import numpy as np
import pytest

from eigenveil import metrics
from eigenveil.subspace.sigma import CLIPS, Sigma, best_clip, price, together


def looks_at(X, quantiles=CLIPS, *, noise=0.0, seed=0):
    """What releases of Sigma at these clips would say of rows, with noise relative to the radius."""
    rng = np.random.default_rng(seed)
    norms = np.sum(X**2, axis=1)
    looks = []
    for q in quantiles:
        radius = float(np.quantile(norms, q))
        S = (X * np.minimum(1.0, radius / norms)[:, None]).T @ X / len(X)
        N = rng.normal(size=S.shape) * noise * radius
        looks.append(Sigma(S + (N + N.T) / 2, max(noise * radius, 1e-12), 0.1, radius, q))
    return looks


def chosen(looks, k, *, usual=1, n_hat):
    """The clip that is taken."""
    return CLIPS[best_clip(looks, k, usual=usual, n_hat=n_hat, left=0.7)[0]]


def test_two_releases_as_one_are_weighed_by_precision():
    one = Sigma(np.diag([2.0, 1.0]), 1.0, 0.2, 3.0, 0.5)
    other = Sigma(np.array([[2.0, 1.0], [1.0, 1.0]]), 2.0, 0.05, 3.0, 0.5)
    both = together([one, other])
    np.testing.assert_allclose(both.matrix, [[2.0, 0.2], [0.2, 1.0]])
    assert both.noise == pytest.approx(math.sqrt(1 / (1 + 1 / 4)))
    assert both.share == pytest.approx(0.25)
    assert both.quantile == 0.5
    assert one.noise_with(0.6) == pytest.approx(0.5)


def test_releases_at_several_clips_tell_more_than_the_best_of_them():
    """On Gaussian rows all clips agree, and what they say adds up as their stated noise does."""
    rng = np.random.default_rng(0)
    values = np.array([6.0, 4.0] + [1.0] * 18)
    X = rng.normal(size=(20_000, 20)) * np.sqrt(values)
    alone, joint = [], []
    for seed in range(30):
        looks = looks_at(X, noise=0.004, seed=seed)[1:]
        alone.append(metrics.zeta(looks[0].spectrum[1][:, :2].T, np.diag(values)) ** 2)
        both = together(looks)
        assert both.noise < looks[0].noise
        joint.append(metrics.zeta(both.spectrum[1][:, :2].T, np.diag(values)) ** 2)
    floor = metrics.zeta(looks_at(X, (0.5,))[0].spectrum[1][:, :2].T, np.diag(values)) ** 2
    gained = (np.mean(joint) - floor) / (np.mean(alone) - floor)
    scale = np.array([np.sum(look.matrix * looks[0].matrix) / np.sum(looks[0].matrix ** 2) for look in looks])
    stated = 1 / np.sum((scale * looks[0].noise / [look.noise for look in looks]) ** 2)
    assert gained == pytest.approx(stated, rel=0.4)
    assert gained < 0.85


@pytest.mark.parametrize("heavy", [False, True])
def test_a_sample_is_priced_as_it_costs(heavy):
    """Against zeta^2 of plain PCA: normal rows, and rows whose lengths vary (t with 9 degrees of freedom)."""
    values, n, k = np.array([6.0, 4.0, 2.0] + [1.0] * 17), 2000, 2
    rng = np.random.default_rng(1)
    lost = []
    for _ in range(40):
        X = rng.normal(size=(n, 20)) * np.sqrt(values)
        if heavy:
            X *= np.sqrt(7 / rng.chisquare(9, size=(n, 1)))
        U = np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :k].T
        lost.append(metrics.zeta(U, np.diag(values)) ** 2)
    everything = looks_at(X, (0.999999,))[0]
    spread = everything.spread(float(np.mean(np.sum(X**2, axis=1) ** 2)))
    of_noise, of_sample = price(values, k, noise=0.0, spread=spread, n_hat=n)
    assert of_noise == 0.0
    assert of_sample == pytest.approx(np.mean(lost), rel=0.4 if heavy else 0.2)


def test_many_rows_a_unit_spread_less():
    rng = np.random.default_rng(2)
    cube = rng.normal(size=(4000, 10, 6))
    A = np.einsum("uri,urj->uij", cube, cube) / 10
    sigma = Sigma(A.mean(axis=0), 1e-9, 1.0, 1.0, 0.5)
    assert sigma.spread(float(np.mean(np.sum(A**2, axis=(1, 2))))) == pytest.approx(0.1, rel=0.25)


def test_short_rows_of_interest_among_long_ones_are_found_by_a_low_clip():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100_000, 20))
    rare = rng.random(len(X)) < 0.01
    X[rare] = 0
    X[rare, 0] = math.sqrt(10)
    assert chosen(looks_at(X), 1, n_hat=1e5) == 0.03


def test_what_clipping_bends_is_clipped_less():
    """Skewed factors. With few rows the sample hides what a low clip bends, and noise asks for it."""
    rng = np.random.default_rng(4)
    factors = np.exp(rng.normal(size=(400_000, 10)))
    X = (factors - factors.mean(axis=0)) / factors.std(axis=0) * np.sqrt(np.linspace(4, 1, 10))
    assert chosen(looks_at(X), 2, n_hat=len(X)) >= 0.9
    assert chosen(looks_at(X[:2000], noise=0.01), 2, n_hat=2000) <= 0.5


def test_what_is_bent_does_not_count_with_the_best():
    rng = np.random.default_rng(4)
    factors = np.exp(rng.normal(size=(400_000, 10)))
    X = (factors - factors.mean(axis=0)) / factors.std(axis=0) * np.sqrt(np.linspace(4, 1, 10))
    best, alike = best_clip(looks_at(X), 2, usual=2, n_hat=len(X), left=0.7)
    assert best in alike
    assert 0 not in alike
    Y = rng.normal(size=(50_000, 40)) * np.sqrt([6.0, 4.0] + [1.0] * 38)
    assert best_clip(looks_at(Y, noise=1e-3), 2, usual=2, n_hat=50_000, left=0.7)[1] == [0, 1, 2, 3]


def test_of_equals_one_with_little_noise_is_taken():
    X = np.random.default_rng(5).normal(size=(50_000, 8)) * np.sqrt([9.0, 4.0] + [1.0] * 6)
    assert chosen(looks_at(X, noise=1e-3), 2, n_hat=50_000) <= 0.75


def test_nothing_at_all_is_no_exception():
    looks = [Sigma(np.zeros((4, 4)), 1e-100, 0.1, 2.0**-128, q) for q in CLIPS]
    with np.errstate(over="ignore", under="ignore"):
        assert chosen(looks, 2, n_hat=1.0) in CLIPS
        assert np.all(np.isfinite(together(looks).matrix))
