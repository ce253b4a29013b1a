"""Eigenvectors of a symmetric matrix in floating point, with error bounds that are checked.

CertifiedEigh(X):
  1  V, Lambda <- eigh(X), as LAPACK computes them
  2  omega <- a bound on ||V^T V - I||_F: its value in floating point, plus a bound on the error of that value
  3  rho <- a bound on ||X Q - Q Lambda||_F, computed likewise; Q is the orthogonal matrix nearest to V
  4  raise if either exceeds the bound that is guaranteed in advance for this d
"""

from __future__ import annotations

import numpy as np

from eigenveil._typing import FloatArray


def orthogonality_error(d: int) -> float:
    """Return the bound on ||V - Q||_F that `certified_eigh` guarantees."""
    return (d + 8) ** 2 * 2.0**-51


def backward_error(d: int) -> float:
    """Return the bound on ||X - Q diag(Lambda) Q^T||_F, relative to ||X||_F, that `certified_eigh` guarantees."""
    return 4 * orthogonality_error(d)


def certified_eigh(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues and eigenvectors of X, largest eigenvalue first.

    There is an orthogonal Q with ||V - Q||_F <= `orthogonality_error(d)`, and a symmetric matrix X + D that has
    exactly these eigenvalues with eigenvectors Q, where ||D||_F <= `backward_error(d)` ||X||_F. These bounds
    depend on d alone, so sensitivities may use them.

    *Proof.* A matrix product in floating point, with sums of d terms, has an error of at most gamma ||A||_F
    ||B||_F with gamma = d u/(1 - d u) and u = 2^-53, for any order of summation. The factor (d + 4) 2^-52 also
    covers all other rounding. So omega and r >= ||X V - V Lambda||_F are bounds on the exact values. With the
    polar form V = Q H, ||V - Q||_F = ||H - I||_F <= ||H^2 - I||_F <= omega. And ||X Q - Q Lambda||_F <= r +
    omega (||X||_F + max |Lambda|), where the left side is ||D||_F.

    LAPACK has never been observed near these bounds. If it were, an ArithmeticError would stop the run.

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
        raise ArithmeticError("the eigenvectors from LAPACK are less exact than the privacy proof requires.")
    return values, V
