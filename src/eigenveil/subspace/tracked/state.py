"""What is known of Sigma: an estimate in an orthonormal basis, with a variance for its entries.

In the basis of its own eigenvectors the estimate is diagonal, so the state holds the directions that are followed,
their eigenvalues, and how well the entries of Sigma along them are known. What lies outside comes from the release
of Sigma, with its noise removed, or is a multiple of the identity where Sigma was never asked for.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.subspace.leading import leading
from eigenveil.subspace.tracked.tuning import SMALLEST


@dataclass(frozen=True, eq=False)
class Sigma:
    """A release of Sigma itself, and the variance of the noise on its entries off the diagonal."""

    matrix: FloatArray
    variance: float

    @property
    def edge(self) -> float:
        """The largest eigenvalue of a matrix of such noise."""
        return noise_edge(len(self.matrix), math.sqrt(self.variance))

    @functools.cached_property
    def eigh(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, smallest first, and eigenvectors of the release."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    def outside(self, W: FloatArray) -> FloatArray:
        """The part outside the span of W, its noise removed: eigenvalues are drawn to the mean of that part."""
        d, m = W.shape
        if m == d:
            return np.zeros((d, d))
        values, vectors = self.eigh
        mean = (float(values.sum()) - float(np.sum(W * (self.matrix @ W)))) / (d - m)
        kept = _drawn_in(values, mean, self.edge**2)
        turned = vectors - W @ (W.T @ vectors)
        out: FloatArray = (turned * kept) @ turned.T
        return out


@dataclass(frozen=True, eq=False)
class Answer:
    """Sigma W as a question released it, and its columns' noise outside the span of W; inside: over `inside`.

    Clipping is expected to have taken the share `shrunk` of the eigenvalues: so far they are not known.
    """

    product: FloatArray
    variance: FloatArray
    inside: float
    shrunk: float = 0.0


@dataclass(frozen=True, eq=False)
class State:
    """What is known of Sigma.

    Parameters
    ----------
    V : array of shape (d, M)
        The directions that are followed, best first; orthonormal.
    eigenvalues : array of shape (M,)
        Of the estimate, along them.
    rest : float
        The mean eigenvalue outside their span, or what it is taken to be.
    outside, inside : array of shape (M,)
        Variance of an entry of Sigma between each of them and a direction outside, and inside. An entry inside is
        known from both its columns. Infinite: nothing is known.
    sigma : Sigma, optional
        The release of Sigma itself, if there was one.
    """

    V: FloatArray
    eigenvalues: FloatArray
    rest: float
    outside: FloatArray
    inside: FloatArray
    sigma: Sigma | None = None

    @classmethod
    def unknown(cls, V: FloatArray) -> State:
        """The state before anything was asked, along directions that depend on no data."""
        nothing = np.full(V.shape[1], np.inf)
        return cls(V, np.zeros(V.shape[1]), 0.0, nothing, nothing)

    @classmethod
    def of_sigma(cls, sigma: Sigma, M: int) -> State:
        """The state after a release of Sigma itself."""
        d = len(sigma.matrix)
        values, vectors = sigma.eigh
        middle = float(np.median(values))
        found = _drawn_in(np.maximum(values[::-1][:M], middle), middle, sigma.edge**2)
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
        """The trace."""
        return float(self.eigenvalues.sum()) + (self.d - self.eigenvalues.size) * self.rest

    @property
    def known(self) -> bool:
        """Whether anything is known along all directions."""
        return bool(np.all(np.isfinite(self.outside)))

    def forgotten(self) -> State:
        """The same directions, with nothing known along them: for a start that has not converged."""
        return State.unknown(self.V)

    def learned(self, answer: Answer) -> State:
        """The state after an answer about its first m directions: eigenvectors of the combined estimate.

        Entries are weighed by their precisions with what was known of them, which is 0 between eigenvectors.
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
        """W^T Sigma W after the answer, and the variance of its columns."""
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
        """`learned` where nothing is known outside: eigenvectors within the span of V and B.

        Outside, eigenvalues are taken to be .4 of the smallest found by a question about all of V: below a half
        errors shrink whatever they are. What has not converged is measured: how much more than noise the answer
        has outside the span.
        """
        d, M = self.V.shape
        m = len(A)
        E = np.diag(self.eigenvalues).astype(np.float64)
        E[:m, :m] = A
        E[m:, :m] = self.V[:, m:].T @ B
        E[:m, m:] = E[m:, :m].T
        B = B - self.V @ (self.V.T @ B)
        rest = 0.4 * max(float(np.linalg.eigvalsh(A)[0]), 0.0) if m == M else self.rest
        Q, sizes, turns = np.linalg.svd(B, full_matrices=False)
        Q, L = Q[:, : d - M], (sizes[:, None] * turns)[: d - M]
        across = np.zeros((len(L), M))
        across[:, :m] = L
        whole = np.block([[E, across.T], [across, rest * np.eye(len(L))]])
        values, vectors = np.linalg.eigh(whole)
        values, vectors = values[::-1][:M], vectors[:, ::-1][:, :M]
        V = np.linalg.qr(np.concatenate([self.V, Q], axis=1) @ vectors)[0]
        turn = (self.V.T @ V) ** 2
        new = np.maximum(1 - turn.sum(axis=0), 0.0)
        before = np.concatenate([outside, self.outside[m:]]), np.concatenate([inside, self.inside[m:]])
        moved = np.zeros(M)
        moved[:m] = np.maximum(np.sum(B**2, axis=0) / max(d - M, 1) - noise, 0.0)
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
    """The largest eigenvalue of a symmetric matrix of noise: entries off its diagonal have this deviation."""
    return 2 * math.sqrt(d) * noise


def _drawn_in(values: FloatArray, middle: float, squared_edge: float) -> FloatArray:
    """Eigenvalues with their noise removed: at t from the middle before, at sqrt(t^2 - edge^2) or 0 now."""
    away = values - middle
    out: FloatArray = middle + np.sign(away) * np.sqrt(np.maximum(away**2 - squared_edge, 0.0))
    return out


def _positive(values: FloatArray) -> FloatArray:
    """Eigenvalues no smaller than a billionth of the largest."""
    out: FloatArray = np.maximum(values, max(1e-9 * float(values[0]), SMALLEST))
    return out
