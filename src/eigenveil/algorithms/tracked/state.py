"""Estimate of Sigma in an orthonormal basis, with a variance for its entries.

In the basis of its own eigenvectors the estimate is diagonal. So the state holds the tracked directions, their
eigenvalues, and the variance of the entries of Sigma along them. Outside their span, the estimate comes from the
release of Sigma, with its noise removed. If Sigma was never bought, it is a multiple of the identity there.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from eigenveil._typing import FloatArray
from eigenveil.algorithms.tracked.leading import leading
from eigenveil.algorithms.tracked.tuning import SMALLEST


@dataclass(frozen=True, eq=False)
class Sigma:
    """Release of Sigma itself, and the variance of the noise on its off-diagonal entries."""

    matrix: FloatArray
    variance: float

    @property
    def edge(self) -> float:
        """Largest eigenvalue of a matrix of this noise."""
        return noise_edge(len(self.matrix), math.sqrt(self.variance))

    def divided(self, scale: FloatArray) -> Sigma:
        """Return the release for columns divided by `scale`. The variance is that of a typical entry."""
        size = float(np.exp(4 * np.mean(np.log(scale))))
        return Sigma(self.matrix / np.outer(scale, scale), self.variance / size)

    @functools.cached_property
    def eigh(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the release, smallest first, and its eigenvectors."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    def outside(self, W: FloatArray) -> FloatArray:
        """Return the part outside the span of W with its noise removed.

        Its eigenvalues are shrunk towards their mean.
        """
        d, m = W.shape
        if m == d:
            return np.zeros((d, d))
        values, vectors = self.eigh
        mean = (float(values.sum()) - float(np.sum(W * (self.matrix @ W)))) / (d - m)
        kept = _denoised(values, mean, self.edge**2)
        turned = vectors - W @ (W.T @ vectors)
        out: FloatArray = (turned * kept) @ turned.T
        return out


@dataclass(frozen=True, eq=False)
class Answer:
    """Noisy product Sigma W that a question released.

    Parameters
    ----------
    product : array of shape (d, m)
        Sigma W, with noise.
    variance : array of shape (m,)
        Variance of the noise on an entry of each column, outside the span of W.
    inside : float
        Inside the span of W, the standard deviation of the noise is that outside, divided by `inside`.
    shrunk : float
        Share of the eigenvalues that clipping is expected to have removed. It is added to their uncertainty.
    """

    product: FloatArray
    variance: FloatArray
    inside: float
    shrunk: float = 0.0


@dataclass(frozen=True, eq=False)
class State:
    """Current estimate of Sigma.

    Parameters
    ----------
    V : array of shape (d, M)
        Tracked directions, best first; orthonormal.
    eigenvalues : array of shape (M,)
        Eigenvalues of the estimate along the tracked directions.
    rest : float
        Mean eigenvalue outside their span, estimated or assumed.
    outside, inside : array of shape (M,)
        Variance of an entry of Sigma between each tracked direction and a direction outside their span, and
        between two tracked directions. An entry inside the span is known from both of its columns. Infinite:
        nothing is known.
    sigma : Sigma, optional
        Release of Sigma itself, if it was bought.
    """

    V: FloatArray
    eigenvalues: FloatArray
    rest: float
    outside: FloatArray
    inside: FloatArray
    sigma: Sigma | None = None

    @classmethod
    def unknown(cls, V: FloatArray) -> State:
        """Return the state before the first question. The directions V must not depend on data."""
        nothing = np.full(V.shape[1], np.inf)
        return cls(V, np.zeros(V.shape[1]), 0.0, nothing, nothing)

    @classmethod
    def of_sigma(cls, sigma: Sigma, M: int) -> State:
        """Return the state after a release of Sigma itself, with M tracked directions."""
        d = len(sigma.matrix)
        values, vectors = sigma.eigh
        middle = float(np.median(values))
        found = _denoised(np.maximum(values[::-1][:M], middle), middle, sigma.edge**2)
        rest = float(values[: d - M].mean()) if d > M else 0.0
        return cls(
            V=np.ascontiguousarray(vectors[:, ::-1][:, :M]),
            eigenvalues=_positive(found),
            rest=max(rest, 0.0),
            outside=np.full(M, sigma.variance),
            inside=np.full(M, 2 * sigma.variance),
            sigma=sigma,
        )

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.V)

    @property
    def total(self) -> float:
        """Trace of the estimate."""
        return float(self.eigenvalues.sum()) + (self.d - self.eigenvalues.size) * self.rest

    @property
    def known(self) -> bool:
        """Whether there is an estimate along all tracked directions."""
        return bool(np.all(np.isfinite(self.outside)))

    def forgotten(self) -> State:
        """Return the same directions without the estimate along them, for a start that has not converged."""
        return State.unknown(self.V)

    def learned(self, answer: Answer) -> State:
        """Return the state after an answer about the first m directions: eigenvectors of the combined estimate.

        Each entry is the precision-weighted average of the answer and the earlier estimate. The earlier estimate
        is 0 between different eigenvectors.
        """
        m = answer.product.shape[1]
        W = self.V[:, :m]
        H = W.T @ answer.product
        gain = 1 / (1 + answer.variance / self.outside[:m])
        B = (answer.product - W @ H) * gain
        outside = answer.variance * gain
        A, inside = self._inside(H, answer)
        if self.sigma is None:
            return self._within_block(A, B, outside, inside, answer.variance)
        now = W @ A @ W.T + B @ W.T + W @ B.T + self.sigma.outside(W)
        M = self.V.shape[1]
        values, vectors = leading(now, M)
        turn = (W.T @ vectors) ** 2
        new = np.maximum(1 - turn.sum(axis=0), 0.0)
        return State(
            V=vectors,
            eigenvalues=_positive(values),
            rest=max((float(np.trace(now)) - float(values.sum())) / max(self.d - M, 1), 0.0),
            outside=turn.T @ outside + new * self.sigma.variance,
            inside=turn.T @ inside + new * 2 * self.sigma.variance,
            sigma=self.sigma,
        )

    def _inside(self, H: FloatArray, answer: Answer) -> tuple[FloatArray, FloatArray]:
        """Return W^T Sigma W after the answer, and the variance of its columns."""
        m = len(H)
        values = self.eigenvalues[:m]
        one_side = answer.inside**2 / answer.variance
        fresh = one_side[None, :] + one_side[:, None]
        mean = (H * one_side[None, :] + H.T * one_side[:, None]) / fresh
        fresh[np.diag_indices(m)] = 2 / (1 / one_side + (answer.shrunk * values) ** 2)
        before = 1 / self.inside[:m]
        known = before[None, :] + before[:, None]
        A = (mean * fresh + np.diag(values) * known) / (fresh + known)
        return A, 1 / (one_side + before)

    def _within_block(
        self, A: FloatArray, B: FloatArray, outside: FloatArray, inside: FloatArray, noise: FloatArray
    ) -> State:
        """Return the state as `learned` does, without a release of Sigma: eigenvectors in the span of V and B.

        Outside that span, eigenvalues are assumed to be .4 of the smallest one that a question about all of V
        found. Errors shrink, whatever they are, as long as that factor is below a half. The part that has not
        converged is measured: it is the energy of the answer outside the span, beyond noise.
        """
        d, M = self.V.shape
        m = len(A)
        E = np.diag(self.eigenvalues).astype(np.float64)
        E[:m, :m] = A
        E[m:, :m] = self.V[:, m:].T @ B
        E[:m, m:] = E[m:, :m].T
        B = B - self.V @ (self.V.T @ B)
        rest = 0.4 * max(float(np.linalg.eigvalsh(A)[0]), 0.0) if m == M else self.rest
        moved = np.zeros(M)
        moved[:m] = np.maximum(np.sum(B**2, axis=0) / max(d - M, 1) - noise, 0.0)
        Q, sizes, turns = np.linalg.svd(B, full_matrices=False)
        Q, L = Q[:, : d - M], (sizes[:, None] * turns)[: d - M]
        across = np.zeros((len(L), M))
        across[:, :m] = L
        whole = np.block([[E, across.T], [across, rest * np.eye(len(L))]])
        values, vectors = np.linalg.eigh(whole)
        values, vectors = values[::-1][:M], vectors[:, ::-1][:, :M]
        mixed = (vectors[:M].T @ self.V.T).T  # in the order of columns, so that QR works in place
        mixed += Q @ vectors[M:]
        del B, Q  # with a million columns each d x m array counts
        V = np.asarray(linalg.qr(mixed, overwrite_a=True, mode="economic")[0], dtype=np.float64)
        turn = (self.V.T @ V) ** 2
        new = np.maximum(1 - turn.sum(axis=0), 0.0)
        before = np.concatenate([outside, self.outside[m:]]), np.concatenate([inside, self.inside[m:]])
        above = np.maximum(values - rest, SMALLEST)
        left = (above[-1] / above) ** 2
        return State(
            V=V,
            eigenvalues=_positive(values),
            rest=rest,
            outside=turn.T @ before[0] + new * before[0].max() + (turn.T @ moved) * left,
            inside=turn.T @ before[1] + new * before[1].max(),
        )


def noise_edge(d: int, noise: float) -> float:
    """Return the largest eigenvalue of a symmetric d x d matrix of noise.

    `noise` is the standard deviation of its off-diagonal entries.
    """
    return 2 * math.sqrt(d) * noise


def _denoised(values: FloatArray, middle: float, squared_edge: float) -> FloatArray:
    """Return eigenvalues with their noise removed.

    A distance t from `middle` becomes sqrt(t^2 - squared_edge), or 0 if that is not real.
    """
    away = values - middle
    out: FloatArray = middle + np.sign(away) * np.sqrt(np.maximum(away**2 - squared_edge, 0.0))
    return out


def _positive(values: FloatArray) -> FloatArray:
    """Return eigenvalues raised to at least a billionth of the largest."""
    out: FloatArray = np.maximum(values, max(1e-9 * float(values[0]), SMALLEST))
    return out
