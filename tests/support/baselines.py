"""Units of every form for the matrix-level baselines, with noise turned off or watched."""

from __future__ import annotations

import numpy as np

from eigenveil.mechanisms import Veil, no_noise
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

BUDGET = Budget.from_epsilon_delta(2.0, 1e-3, epsilon_aside=0.5, delta_aside=1e-4)
TEST = (0.5, 1e-4)


def units_of(data, *, relation="add-remove", source=no_noise, budget=BUDGET):
    """Units under a veil without noise; arrays are rows."""
    operator = samples.rows(data) if isinstance(data, np.ndarray) else data
    return Units(operator, Veil(Ledger(budget, relation=relation), source=source), budget)


def under(operator, veil):
    """Units under a given veil."""
    return Units(operator, veil, veil.ledger.budget)


def clipped(matrices, radius):
    """Symmetric parts, shortened to a Frobenius norm of `radius`: in plain numpy."""
    A = (matrices + np.swapaxes(matrices, 1, 2)) / 2
    norms = np.linalg.norm(A, axis=(1, 2))
    return A * np.minimum(1, radius / np.maximum(norms, 1e-300))[:, None, None]


def forms(rng, n=60, d=4):
    """Name -> (what a user hands in, the matrices it means)."""
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    B = rng.normal(size=(n, d, d))
    F = [rng.normal(size=(1 + i % 3, d)) * np.linspace(2, 0.5, d) for i in range(n)]
    V = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    outer = X[:, :, None] * X[:, None, :]
    return {
        "rows": (samples.rows(X), outer),
        "matrices": (samples.matrices(B), B),
        "people": (samples.factors(F), np.array([f.T @ f / len(f) for f in F])),
        "spiked": (samples.spiked(V, [4.0, 2.0], X), (V * [4.0, 2.0]) @ V.T + outer),
    }


def same_span(A, B):
    """Whether two sets of rows span the same, in the sense of projectors."""
    np.testing.assert_allclose(A.T @ A, B.T @ B, atol=1e-4)


def orthonormal(components, k, d):
    assert components.shape == (k, d)
    np.testing.assert_allclose(components @ components.T, np.eye(k), atol=1e-10)
