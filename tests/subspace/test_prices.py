import math

import numpy as np
import pytest

from eigenveil.subspace.prices import bias_of_block, lag, noise_of_block, noise_of_matrix, slowness, whole_spectrum
from eigenveil.subspace.sigma import Sigma
from eigenveil.subspace.tracking import Answer, State, plain_weights


def state_of(truth, m, *, unfinished=0.0):
    W = np.eye(len(truth))[:, :m]
    return State(W, truth[:m], W * truth[:m], np.zeros(m), np.zeros(m), unfinished)


@pytest.mark.parametrize("outside", [0.001, 3.0])
def test_noise_is_priced_as_it_costs(outside):
    """Against zeta^2 of eigenvectors of Sigma with noise, and of a power step with noise."""
    d, k, noise = 80, 2, 0.05
    truth = np.concatenate([[10.0, 8.0, 4.0], np.full(d - 3, outside)])
    S, state = np.diag(truth), state_of(truth, 3)
    rng = np.random.default_rng(0)
    blocks, matrices = [], []
    for _ in range(40):
        N = noise * rng.normal(size=(d, d))
        blocks.append(np.linalg.qr(S[:, :k] + N[:, :k])[0])
        matrices.append(np.linalg.eigh(S + (N + N.T) / 2)[1][:, ::-1][:, :k])
    lost = [np.mean([1 - np.trace(U.T @ S @ U) / 18 for U in Us]) for Us in (blocks, matrices)]
    if outside < 1:  # the price of a block takes what lies outside as 0
        assert noise_of_block(state, noise, k) == pytest.approx(lost[0], rel=0.2)
    assert noise_of_matrix(state, noise, k, trace=truth.sum()) == pytest.approx(lost[1], rel=0.2)


def test_a_flat_spectrum_is_slow_and_a_gap_is_not():
    flat = state_of(np.concatenate([[1.1], np.ones(49)]), 6, unfinished=1e-4)
    gap = state_of(np.concatenate([[10.0], np.ones(49)]), 6, unfinished=1e-4)
    assert slowness(flat, 1, trace=50.1) > 100 * slowness(gap, 1, trace=59.0)
    assert lag(flat, 1, trace=50.1) > 0.6
    assert lag(gap, 1, trace=59.0) < 0.01


def test_prices_of_nothing_are_numbers():
    state = state_of(np.zeros(10), 4)
    prices = [
        noise_of_block(state, 0.0, 2),
        noise_of_matrix(state, 0.0, 2, trace=0.0),
        slowness(state, 2, trace=0.0),
    ]
    assert np.all(np.isfinite(prices))
    assert 0 <= lag(state, 2, trace=0.0) <= 1


def test_clip_bias_of_a_block_is_told_from_noise():
    """Answers of a block at a low clip, against Sigma: bent by skewed factors, not by normal ones."""
    rng = np.random.default_rng(1)
    values, k, m = np.linspace(4.0, 1.0, 12), 2, 5
    normal = rng.normal(size=(100_000, 12))
    skewed = np.exp(normal) - math.exp(0.5)
    skewed /= skewed.std(axis=0)
    found = []
    for factors in (normal, skewed):
        X = factors * np.sqrt(values)
        W = np.linalg.qr(np.eye(12, m) + 0.3 * rng.normal(size=(12, m)))[0]
        state = State(W, values[:m], 0 * W, np.ones(m), np.ones(m))
        norms = np.linalg.norm(X, axis=1) * np.linalg.norm(X @ W, axis=1)
        clipped = (X * np.minimum(1, np.quantile(norms, 0.3) / norms)[:, None]).T @ (X @ W) / len(X)
        noise = 0.01
        answer = Answer(clipped + noise * rng.normal(size=W.shape), plain_weights(m), noise, 1.0, 0.0)
        N = rng.normal(size=(12, 12)) * noise
        sigma = Sigma(X.T @ X / len(X) + (N + N.T) / 2, noise, 0.3, 1.0, 0.5)
        found.append(bias_of_block(state, answer, sigma, k))
    assert found[1] > 10 * found[0]
    assert found[1] > 1e-3


def test_an_answer_that_points_away_has_no_price():
    state = state_of(np.array([2.0, 1.0, 0.5]), 2)
    answer = Answer(-state.centre, plain_weights(2), 0.1, 1.0, 0.0)
    assert bias_of_block(state, answer, Sigma(np.diag([2.0, 1.0, 0.5]), 0.1, 0.3, 1.0, 0.5), 1) == 0.0


def test_a_whole_spectrum_adds_up_to_the_trace():
    state = state_of(np.array([5.0, 3.0, 2.0, 0.0, 0.0]), 3)
    np.testing.assert_allclose(whole_spectrum(state, 11.0), [5.0, 3.0, 2.0, 0.5, 0.5])
    np.testing.assert_allclose(whole_spectrum(state, 1.0), [5.0, 3.0, 2.0, 0.0, 0.0])
