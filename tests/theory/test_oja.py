"""Oja's theorem compared with runs of Oja's algorithm, and noisy updates compared with random draws."""

import math

import numpy as np
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.metrics import sin_angle
from eigenveil.schedules import TheoremSchedule, theorem_offset
from eigenveil.theory import Model, noisy_batch, noisy_sample, oja_sin_squared

MODEL = Model(d=30, k=1, lambda_1=2.0, kappa=2.0, M=50.0, V=20.0, gamma=1.2, K=1.5)


def bounded_rows(n, rng):
    """Rows x = signs times sqrt(spectrum): bounded, and the diagonal of x x^T is exactly the spectrum."""
    return rng.choice([-1.0, 1.0], size=(n, 3)) * np.sqrt([1.0, 0.05, 0.02])


def oja(rows, eta, P, rng):
    w = P @ rng.normal(size=3)
    w /= np.linalg.norm(w)
    for t, row in enumerate(rows @ P, start=1):
        w = w + eta(t) * (row @ w) * row
        w /= np.linalg.norm(w)
    return w


@pytest.mark.parametrize("removed", [None, [0.0, 0.6, 0.8]])
def test_the_bound_holds_for_ojas_algorithm(removed):
    rng = np.random.default_rng(5)
    P = np.eye(3) if removed is None else np.eye(3) - np.outer(removed, removed)
    left, vectors = np.linalg.eigh(P @ np.diag([1.0, 0.05, 0.02]) @ P)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * np.sqrt([1.0, 0.05, 0.02])
    deviations = signs[:, :, None] * signs[:, None, :] - np.diag([1.0, 0.05, 0.02])
    spread = np.linalg.norm(deviations, 2, axis=(1, 2)).max()
    variance = np.linalg.norm((deviations @ deviations).mean(axis=0), 2)
    gap, failure, alpha = left[-1] - left[-2], 0.5, 1.0
    offset = theorem_offset(
        gap=gap, lambda_1=left[-1], spread=spread, variance=variance, alpha=alpha, failure=failure
    )
    n = 6 * int(offset)
    eta = TheoremSchedule(gap=gap, offset=offset, alpha=alpha)
    bound = oja_sin_squared(n, d=3, gap=gap, variance=variance, offset=offset, alpha=alpha, failure=failure)
    sines = [sin_angle(oja(bounded_rows(n, rng), eta, P, rng), vectors[:, -1]) ** 2 for _ in range(8)]
    # the constant C is not known: 1 does here, and a hundredth of it would not
    assert bound < 0.25
    assert np.mean(np.array(sines) <= bound) >= 1 - failure
    assert np.mean(np.array(sines) <= bound / 100) < 1 - failure


def test_the_bound_decreases_and_checks_its_conditions():
    setting = {"d": 10, "gap": 0.5, "variance": 2.0, "offset": 100.0, "alpha": 3.0, "failure": 0.1}
    late = [n * oja_sin_squared(n, **setting) for n in (10**7, 10**8)]
    assert late[0] == pytest.approx(late[1], rel=1e-3)
    limit = math.log(10) / 0.01 * 9 * 2 / (5 * 0.25)
    assert late[1] == pytest.approx(limit, rel=1e-3)
    assert oja_sin_squared(101, **setting) > oja_sin_squared(200, **setting)
    for changes in ({"n": 100}, {"alpha": 0.5}):
        with pytest.raises(InvalidInputError, match="needs alpha"):
            oja_sin_squared(**({"n": 1000} | setting | changes))


def test_a_batch_with_noise():
    update = noisy_batch(MODEL, batch_size=5000, rounds=20, epsilon=0.5, delta=1e-5, tau=0.01)
    log = math.log(5000 * 30 / 0.01)
    noise = 16 * 1.5 * 1.2 * 2 * log * math.sqrt(2 * 30 * math.log(2.5e5)) / (0.5 * 5000)
    assert update.noise_std == pytest.approx(noise)
    assert update.variance == pytest.approx(20 * 4 / 5000 + 30 * noise**2)
    deviation = math.log(30 * 20 / 0.01)
    assert update.spread == pytest.approx(
        50 * 2 * deviation / 5000
        + math.sqrt(20 * 4 * deviation / 5000)
        + noise * (math.sqrt(30) + math.sqrt(math.log(2000)))
    )


def test_a_sample_with_noise():
    update = noisy_sample(MODEL, n=5000, epsilon=0.5, delta=1e-5, tau=0.01)
    beta = 2 * math.sqrt(30) * (1.5 * 1.2 * math.log(5000 * 30 / 0.01) + 1)
    noise = 2 * beta * math.log(5000e5) / (0.5 * math.sqrt(5000))
    assert update.noise_std == pytest.approx(noise)
    assert update.variance == pytest.approx(20 * 4 + 30 * noise**2)
    assert update.spread == pytest.approx(50 * 2 + noise * (math.sqrt(30) + math.sqrt(math.log(5e5))))


def test_the_noise_part_of_the_variance_is_that_of_a_gaussian_matrix():
    """E[G G^T] = d I: the paper's constant C_2 is 1 for the norm of the mean, which is the quantity needed."""
    G = np.random.default_rng(0).normal(size=(20_000, 6, 6))
    assert np.linalg.norm(np.einsum("nij,nkj->ik", G, G) / len(G), 2) == pytest.approx(6, rel=0.03)


def test_more_privacy_is_more_noise_and_longer_batches_less():
    def std(**changes):
        setting = {"batch_size": 5000, "rounds": 20, "epsilon": 0.5, "delta": 1e-5} | changes
        return noisy_batch(MODEL, **setting).noise_std

    assert std(epsilon=1.0) == pytest.approx(std() / 2)
    assert std(batch_size=10_000) < std()
    assert std(delta=1e-3) < std()
    assert noisy_sample(MODEL, n=10**6, epsilon=1.0, delta=1e-5).noise_std == pytest.approx(
        noisy_sample(MODEL, n=10**6, epsilon=0.5, delta=1e-5).noise_std / 2
    )
    with pytest.raises(InvalidInputError, match="tau"):
        noisy_sample(MODEL, n=10, epsilon=1.0, delta=1e-5, tau=1.0)
    with pytest.raises(InvalidInputError, match="rounds"):
        noisy_batch(MODEL, batch_size=10, rounds=0, epsilon=1.0, delta=1e-5)
