import numpy as np
import pytest

from eigenveil.algorithms.deflation.k_dp_pca import k_dp_pca, per_component
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger


def spiked(n, d, sigma, seed):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    return samples.spiked(V, [10.0, 5.0], rng.normal(size=(n, d)) * sigma), (
        V * [10, 5]
    ) @ V.T + sigma**2 * np.eye(d)


def zeta(components, Sigma):
    best = np.linalg.eigvalsh(Sigma)[-len(components) :].sum()
    return np.sqrt(max(0.0, 1 - np.trace(components @ Sigma @ components.T) / best))


def test_practical_form_learns_at_the_paper_s_sample_size():
    """Issue 4: spiked, k=2 (10, 5), d=200, sigma=.025, n=1e4, (1, .01): zeta < 1e-3 with disjoint parts."""
    data, Sigma = spiked(10_000, 200, 0.025, 0)
    assert k_dp_pca(data, 2, epsilon=1.0, delta=0.01).private
    release = k_dp_pca(data, 2, epsilon=1.0, delta=0.01, random_state=0)
    assert release.ledger.epsilon(0.01) <= 1 + 1e-9
    assert zeta(release.components, Sigma) < 1e-3
    assert release.diagnostics["stood_still"] == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "bound"), [(0.001, 1e-4), (0.025, 3e-4), (1.0, 8e-2)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_practical_form_over_seeds(sigma, bound, relation):
    figures = []
    for seed in range(10):
        data, Sigma = spiked(10_000, 200, sigma, seed)
        release = k_dp_pca(data, 2, epsilon=1.0, delta=0.01, relation=relation)
        figures.append(zeta(release.components, Sigma))
    assert np.sort(figures)[6] < bound * (1 if relation == "add-remove" else 3)


def test_literal_form_refuses_add_remove_before_anything_is_spent():
    ledger = Ledger(Budget(mu=1.0, epsilon_aside=1.0, delta_aside=0.1))
    options = {"epsilon": 1.0, "delta": 0.01, "mean_estimator": "privmean", "ledger": ledger}
    with pytest.raises(InvalidInputError, match="literal k-DP-PCA is proven for relation='replace' only"):
        k_dp_pca(np.ones((100, 3)), 2, **options)
    assert not ledger.entries


def test_literal_form_reports_skipped_steps():
    """At the paper's batch size sqrt(n) no histogram passes: the start is returned, and the release reports it."""
    X = np.random.default_rng(0).normal(size=(2500, 6))
    options = {"mean_estimator": "privmean", "range_finder": "privrange", "relation": "replace"}
    release = k_dp_pca(X, 2, epsilon=0.9, delta=0.005, **options)
    assert release.private
    assert release.diagnostics["rounds"] == (25, 25)  # B = 50, m = 1250
    assert release.diagnostics["stood_still"] == (25, 25)
    np.testing.assert_allclose(release.components @ release.components.T, np.eye(2), atol=1e-10)
    assert release.ledger.epsilon(0.005) <= 0.9 * (1 + 1e-9)


@pytest.mark.parametrize("halves", ["shared", "disjoint"])
def test_literal_form_learns_with_large_batches(halves):
    X = np.random.default_rng(0).normal(size=(120_000, 4)) * [4, 2, 0.5, 0.5]
    release = k_dp_pca(
        X,
        2,
        epsilon=4.0,
        delta=0.005,
        mean_estimator="privmean",
        relation="replace",
        batch_size=30_000,
        C1=8.0,
        halves=halves,
        random_state=1,
    )
    assert np.all(np.array(release.diagnostics["stood_still"]) < 2)
    assert zeta(release.components, np.diag([16.0, 4, 0.25, 0.25])) < 0.2
    assert release.ledger.epsilon(0.005) <= 4.0 * (1 + 1e-9)


def test_thresholds_fixed_in_advance():
    X = np.random.default_rng(0).normal(size=(40_000, 4)) * [4, 2, 0.5, 0.5]
    tracked = k_dp_pca(X, 2, epsilon=2.0, delta=1e-4, range_finder=20.0, random_state=1)
    assert zeta(tracked.components, np.diag([16.0, 4, 0.25, 0.25])) < 0.1
    options = {"mean_estimator": "privmean", "relation": "replace", "batch_size": 10_000, "random_state": 1}
    rates = [1.0] * 4
    literal = k_dp_pca(X, 1, epsilon=4.0, delta=0.005, range_finder=500.0, learning_rates=rates, **options)
    assert abs(literal.components[0, 0]) > 0.9


def test_learning_rates_per_component():
    X = np.random.default_rng(0).normal(size=(4000, 4)) * [4, 2, 0.5, 0.5]
    seen = []

    def rates(i):
        return lambda t: seen.append((i, t)) or 1.0

    k_dp_pca(X, 2, epsilon=1.0, delta=1e-4, batch_size=500, learning_rates=[rates(0), rates(1)])
    assert {i for i, _ in seen} == {0, 1}
    assert min(t for i, t in seen if i == 0) == 1
    assert per_component([0.1, 0.2], 3) == [[0.1, 0.2]] * 3
    with pytest.raises(InvalidInputError, match="3 components"):
        per_component([rates(0), rates(1)], 3)


@pytest.mark.parametrize("k", [0, 5, 1.5, True])
def test_invalid_k(k):
    with pytest.raises(InvalidInputError, match="components"):
        k_dp_pca(np.ones((10, 4)), k, epsilon=1.0, delta=1e-4)


def test_few_units_and_invalid_units_still_release():
    for data in (np.zeros((0, 3)), np.ones((1, 3)), np.full((5, 3), np.nan), np.full((5, 3), 1e200)):
        release = k_dp_pca(data, 3, epsilon=1.0, delta=1e-4)
        np.testing.assert_allclose(release.components @ release.components.T, np.eye(3), atol=1e-10)
