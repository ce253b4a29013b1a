"""Eigenvectors of a symmetric matrix in floats, with errors that were checked and not hoped for.

CertifiedEigh(X):
  1  V, Lambda <- eigh(X), as LAPACK computes them
  2  omega <- a bound on ||V^T V - I||_F, from that number in floats and what computing it can get wrong
  3  rho <- a bound on ||X Q - Q Lambda||_F, Q the orthogonal matrix nearest to V, likewise
  4  refuse if either is above what is promised in advance for this d
"""

from __future__ import annotations

import numpy as np

from eigenveil._typing import FloatArray


def orthogonality_error(d: int) -> float:
    """What `certified_eigh` promises for ||V - Q||_F."""
    return (d + 8) ** 2 * 2.0**-51


def backward_error(d: int) -> float:
    """What it promises for ||X - Q diag(Lambda) Q^T||_F, relative to ||X||_F."""
    return 4 * orthogonality_error(d)


def certified_eigh(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of X, largest first.

    There is an orthogonal Q with ||V - Q||_F <= `orthogonality_error(d)` and a symmetric matrix X + D that has
    exactly these eigenvalues with eigenvectors Q, ||D||_F <= `backward_error(d)` ||X||_F. The numbers
    promised depend on d alone, so sensitivities may rest on them.

    *Proof.* A float product of d-term sums errs by at most gamma ||A||_F ||B||_F, gamma = d u/(1 - d u), u =
    2^-53, whatever the order of the sums; (d + 4) 2^-52 leaves room for all else that is rounded. So omega and
    r >= ||X V - V Lambda||_F hold for the real numbers. With the polar form V = Q H, ||V - Q||_F = ||H - I||_F <=
    ||H^2 - I||_F <= omega, and ||X Q - Q Lambda||_F <= r + omega (||X||_F + max |Lambda|), which is ||D||_F.

    LAPACK has never been seen near these bounds; if it were, ArithmeticError stops the run.

    Examples
    --------
    >>> values, V = certified_eigh(np.diag([1.0, 3.0]))
    >>> values.tolist(), np.abs(V).tolist()
    ([3.0, 1.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    # 1
    d = len(X)
    ascending, vectors = np.linalg.eigh(X)
    values, V = ascending[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
    gamma, room = (d + 4) * 2.0**-52, 1.001
    size, top, v = (float(np.linalg.norm(a)) for a in (X, values, V))
    # 2
    omega = room * (float(np.linalg.norm(V.T @ V - np.eye(d))) + gamma * v**2)
    # 3
    residual = room * (float(np.linalg.norm(X @ V - V * values)) + gamma * (size + top) * v)
    rho = residual + room * omega * (size + top)
    # 4
    if not (omega <= orthogonality_error(d) and rho <= backward_error(d) * size):
        raise ArithmeticError("the eigenvectors that LAPACK returned are not as exact as privacy needs them.")
    return values, V
