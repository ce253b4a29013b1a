import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.metrics import energy_ratio, zeta


def basis(k, d, rng):
    return np.linalg.qr(rng.normal(size=(d, k)))[0].T


def covariance(d, rng, rank=None):
    factor = rng.normal(size=(rank or d, d)) * rng.uniform(0.1, 3, size=d)
    return factor.T @ factor


def by_definition(U, S):
    return math.sqrt(max(0.0, 1 - np.trace(U @ S @ U.T) / np.linalg.eigvalsh(S)[::-1][: len(U)].sum()))


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8))
def test_zeta_satisfies_its_definition(seed, k, rank):
    rng = np.random.default_rng(seed)
    S, U = covariance(8, rng, rank), basis(k, 8, rng)
    assert zeta(U, S) == pytest.approx(by_definition(U, S), abs=3e-7)
    assert energy_ratio(U, S) == pytest.approx(1 - by_definition(U, S) ** 2, abs=1e-12)


def test_best_and_worst_subspace():
    rng = np.random.default_rng(0)
    S = covariance(30, rng)
    values, vectors = np.linalg.eigh(S)
    for k in (1, 2, 7, 30):
        assert zeta(vectors[:, ::-1][:, :k].T, S) < 1e-12
        worst = math.sqrt(max(0.0, 1 - values[:k].sum() / values[::-1][:k].sum()))
        assert zeta(vectors[:, :k].T, S) == pytest.approx(worst, abs=1e-7)
    assert zeta(np.eye(2, 4)[::-1], np.diag([1.0, 1.0, 0.0, 0.0])) == 0.0
    assert zeta([[0.0, 1.0]], np.diag([1.0, 0.0])) == 1.0


def test_only_the_subspace_matters():
    rng = np.random.default_rng(1)
    S, U = covariance(9, rng), basis(3, 9, rng)
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ U
    assert zeta(turned, S) == pytest.approx(zeta(U, S), rel=1e-9)
    assert zeta(-U, 7 * S) == pytest.approx(zeta(U, S), rel=1e-9)


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9, 1e-12])
def test_small_losses_survive_rounding(angle):
    """1 - ratio would be dominated by rounding below 1e-8."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.normal(size=(50, 50)))[0]
    S = (Q * np.linspace(10, 1, 50)) @ Q.T
    u = math.cos(angle) * Q[:, 0] + math.sin(angle) * Q[:, -1]
    assert zeta(u[None], S) == pytest.approx(math.sqrt(0.9) * math.sin(angle), rel=1e-2)


def test_equal_eigenvalues_lose_nothing_for_any_subspace():
    rng = np.random.default_rng(3)
    assert zeta(basis(2, 6, rng), 5 * np.eye(6)) < 1e-7
    U = np.concatenate([np.eye(1, 6), basis(1, 6, rng) @ np.diag([0, 1, 1, 1, 1, 1])])
    U[1] /= np.linalg.norm(U[1])
    assert zeta(U, np.diag([2.0, 1, 1, 1, 1, 1])) < 1e-7


def test_single_precision_and_integers_are_accepted():
    rng = np.random.default_rng(4)
    S, U = covariance(40, rng), basis(5, 40, rng)
    assert zeta(U.astype(np.float32), S) == pytest.approx(zeta(U, S), rel=1e-5)
    assert zeta([[1, 0]], [[1, 0], [0, 2]]) == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(
    ("components", "matrix", "message"),
    [
        (np.ones((2, 3)), np.eye(3), "orthonormal rows"),
        (np.eye(3)[:, :2], np.eye(3), "orthonormal rows"),
        (np.eye(3)[0], np.eye(3), "2 non-empty axes"),
        (np.eye(2, 3), np.eye(4), "same number of dimensions"),
        (np.eye(2, 3), np.eye(3)[:2], "symmetric"),
        (np.eye(2, 3), np.arange(9.0).reshape(3, 3), "symmetric"),
        (np.eye(2, 3), np.diag([1.0, 1, -1]), "semi-definite"),
        (np.eye(2, 3), np.zeros((3, 3)), "not zero"),
        (np.full((1, 3), np.nan), np.eye(3), "finite"),
        (np.eye(2, 3).astype(complex), np.eye(3), "real numbers"),
        (np.zeros((0, 3)), np.eye(3), "non-empty"),
    ],
)
def test_invalid_arguments_raise(components, matrix, message):
    for metric in (zeta, energy_ratio):
        with pytest.raises(InvalidInputError, match=message):
            metric(components, matrix)
