"""The zeta to expect of the method itself, of DP-Gauss-1, and of PCA without privacy, all on imagined units."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from eigenveil._typing import FloatArray
from eigenveil.planner.guess import Guess
from eigenveil.planner.imagined import Drawn, ImaginedUnits, draw, shortened
from eigenveil.privacy.budget import Budget
from eigenveil.subspace.tracked.algorithm import TrackedOptions, run

FEWEST, MOST, EASY = 3, 6, 1500
"""How often runs are repeated: EASY/d times, within limits."""
QUANTILES = (0.1, 0.3, 0.5, 0.75, 0.9, 0.99)
"""Where DP-Gauss-1 may clip: the best is chosen for it, for free."""
_DENSE, _LARGE = 200, 1000
"""Beyond so many columns leading eigenvectors are found by iteration; and once only, with noise."""


def lost(components: FloatArray, eigenvalues: FloatArray) -> float:
    """The zeta of components (k, d) in the basis in which Sigma is diag(eigenvalues), exact far below 1e-8.

    Examples
    --------
    >>> lost(np.array([[1.0, 1e-12]]), np.array([4.0, 0.0]))
    1e-12
    """
    k = len(components)
    top = np.eye(k, components.shape[1])
    missed = np.sum((top - components[:, :k].T @ components) ** 2, axis=1)
    strayed = np.sum(components[:, k:] ** 2, axis=0)
    last = eigenvalues[k - 1]
    energy = (eigenvalues[:k] - last) @ missed + (last - eigenvalues[k:]) @ strayed
    return math.sqrt(min(1.0, float(energy / eigenvalues[:k].sum())))


@dataclass(frozen=True, eq=False)
class _Clipped:
    """At a radius: factors by which directions shrink, the still part left, energy that noise of 1 would cost."""

    radius: float
    factors: FloatArray
    still: FloatArray
    cost: float


@dataclass(frozen=True, eq=False)
class Setting:
    """A guess, n units of it drawn a few times, and how many components are wanted."""

    guess: Guess
    n: int
    k: int
    draws: tuple[Drawn, ...]

    @classmethod
    def of(cls, guess: Guess, n: int, k: int) -> Setting:
        """Draw."""
        repeats = min(max(EASY // guess.eigenvalues.size, FEWEST), MOST)
        return cls(guess, n, k, tuple(draw(guess, n, np.random.default_rng([1, i])) for i in range(repeats)))

    def tracked(self, budget: Budget) -> FloatArray:
        """Zeta of each repeat of tracked_pca: its own code, on imagined units."""
        return np.array([self._one(budget, index) for index in range(len(self.draws))])

    def _one(self, budget: Budget, index: int) -> float:
        rng = np.random.default_rng([2, index])
        units = ImaginedUnits(self.guess, self.n, self.draws[index], budget, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = run(units, self.k, TrackedOptions()).components
            except np.linalg.LinAlgError:  # so few units that noise overflows: nothing is learnt
                found = units.random_start(self.k).T
        return lost(found, self.guess.eigenvalues)

    def without_privacy(self) -> float:
        """Mean zeta of PCA on n units: the floor that the sample sets."""
        ones = np.ones(self.guess.eigenvalues.size)
        return float(np.mean([self._leading(drawn, ones, self.guess.still) for drawn in self.draws]))

    def gauss_1(self, budget: Budget) -> float:
        """Mean zeta of DP-Gauss-1: noise as printed, n for free, and the best clip by first-order theory."""
        clipped = min(self._clipped, key=lambda one: one.radius**2 * one.cost)
        factors, still, noise = clipped.factors, clipped.still, clipped.radius / budget.mu / self.n
        zetas = []
        draws = self.draws if factors.size <= _LARGE else self.draws[:1]
        for index, drawn in enumerate(draws):
            rng = np.random.default_rng([3, index])
            Z = np.triu(rng.standard_normal((factors.size, factors.size)))
            zetas.append(self._leading(drawn, factors, still, noise * (Z + np.triu(Z, 1).T)))
        return float(np.mean(zetas))

    @cached_property
    def _clipped(self) -> list[_Clipped]:
        """What clipping at each of the quantiles leaves."""
        norms = ImaginedUnits(self.guess, self.n, self.draws[0]).matrices().norms(np.zeros(1))
        return [self._clip(norms, float(np.quantile(norms, quantile))) for quantile in QUANTILES]

    def _clip(self, norms: FloatArray, radius: float) -> _Clipped:
        c = shortened(norms, radius)
        squares, k, true = self.guess.rows**2, self.k, self.guess.eigenvalues
        before = np.maximum(np.mean(squares, axis=(0, 1)), np.finfo(float).tiny)
        factors = np.mean(squares * c[:, None, None], axis=(0, 1)) / before
        still = self.guess.still * float(c.mean())
        size = self.guess.moving * factors + still
        gaps = np.maximum(size[:k, None] - size[None, k:], 0.02 * size[0])
        return _Clipped(radius, factors, still, float(np.sum((true[:k, None] - true[None, k:]) / gaps**2)))

    def _leading(
        self, drawn: Drawn, factors: FloatArray, still: FloatArray, noise: FloatArray | float = 0.0
    ) -> float:
        """Zeta of the leading eigenvectors of the clipped mean plus noise."""
        d, root = factors.size, np.sqrt(factors)[:, None]
        few = 2 * self.k + 30
        if d <= max(_DENSE, few):
            matrix = drawn.moving * (root * root.T) + np.diag(still) + noise
            top = np.linalg.eigh(matrix)[1][:, ::-1][:, : self.k]
            return lost(top.T, self.guess.eigenvalues)

        def product(v: FloatArray) -> FloatArray:
            columns = v.reshape(d, -1)
            out = root * drawn.times(root * columns) + still[:, None] * columns
            return out if isinstance(noise, float) else out + noise @ columns

        operator = LinearOperator((d, d), matvec=product, dtype=np.float64)
        start = np.random.default_rng(4).standard_normal(d)
        vectors = eigsh(operator, self.k, which="LA", ncv=few, tol=1e-4, v0=start)[1]
        return lost(np.linalg.qr(vectors)[0].T, self.guess.eigenvalues)
