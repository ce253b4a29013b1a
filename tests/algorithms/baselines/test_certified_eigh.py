from fractions import Fraction

import numpy as np
import pytest

from eigenveil.algorithms.baselines.certified_eigh import backward_error, certified_eigh, orthogonality_error


@pytest.mark.parametrize("d", [1, 2, 5, 60, 200])
def test_bounds_hold_with_a_margin(d):
    rng = np.random.default_rng(d)
    for spectrum in (rng.exponential(size=d), 10.0 ** -rng.uniform(0, 15, d), np.ones(d), np.zeros(d)):
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        X = (Q * spectrum) @ Q.T * 2.0**62
        X = (X + X.T) / 2
        values, V = certified_eigh(X)
        assert np.all(np.diff(values) <= 0)
        size = np.linalg.norm(X)
        assert np.linalg.norm(X - (V * values) @ V.T) <= backward_error(d) * size / 4
        assert np.linalg.norm(V.T @ V - np.eye(d)) <= orthogonality_error(d) / 4


def test_bounds_hold_in_exact_arithmetic():
    """||V^T V - I|| and ||X - V Lambda V^T|| with fractions, for a matrix with nearly equal eigenvalues."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    X = B @ B.T + 1e8 * np.eye(5)
    X = (X + X.T) / 2
    values, V = certified_eigh(X)
    v = [[Fraction(float(x)) for x in row] for row in V]
    lam = [Fraction(float(x)) for x in values]
    ortho = sum((sum(v[r][i] * v[r][j] for r in range(5)) - (i == j)) ** 2 for i in range(5) for j in range(5))
    back = sum(
        (sum(v[i][r] * lam[r] * v[j][r] for r in range(5)) - Fraction(float(X[i, j]))) ** 2
        for i in range(5)
        for j in range(5)
    )
    assert float(ortho) ** 0.5 <= orthogonality_error(5)
    assert float(back) ** 0.5 <= 2 * backward_error(5) * np.linalg.norm(X)


@pytest.mark.parametrize("spoil", [lambda w, v: (w * (1 + 1e-9), v), lambda w, v: (w, v * (1 + 1e-9))])
def test_a_wrong_result_is_detected(monkeypatch, spoil):
    X = np.diag(np.arange(1.0, 9.0))
    original = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda a: spoil(*original(a)))
    with pytest.raises(ArithmeticError, match="LAPACK"):
        certified_eigh(X)
