"""Expected zeta of tracked PCA, of DP-Gauss-1 and of PCA without privacy, all on simulated units."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from eigenveil._typing import FloatArray
from eigenveil.algorithms.tracked.algorithm import TrackedOptions, run
from eigenveil.planner.answers import clip_factors
from eigenveil.planner.guess import Guess
from eigenveil.planner.simulated import SampleCovariance, SimulatedUnits, draw
from eigenveil.planner.table import SimulatedTable
from eigenveil.privacy.budget import Budget

FEWEST, MOST, EASY = 3, 10, 1500
"""Runs are repeated EASY/d times, but at least FEWEST and at most MOST times."""
QUANTILES = (0.1, 0.3, 0.5, 0.75, 0.9, 0.99)
"""Candidate clips of DP-Gauss-1, as quantiles of the norms. It gets the best one without spending budget."""
_DENSE, _LARGE = 200, 1000
"""Above _DENSE columns, leading eigenvectors are computed iteratively. Above _LARGE, DP-Gauss-1 runs only once."""


def zeta_of(components: FloatArray, eigenvalues: FloatArray) -> float:
    """Return zeta of components (k, d) in the basis in which Sigma is diag(eigenvalues); accurate far below 1e-8.

    Examples
    --------
    >>> zeta_of(np.array([[1.0, 1e-12]]), np.array([4.0, 0.0]))
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
    """Effect of clipping at `radius`.

    `factors` are the factors by which variances shrink, `constant` is the remaining part common to all units, and
    `cost` is the energy lost to noise of standard deviation 1, to first order.
    """

    radius: float
    factors: FloatArray
    constant: FloatArray
    cost: float


@dataclass(frozen=True, eq=False)
class SimulationSetting:
    """A table, the covariance of n of its units drawn a few times, and the number of components."""

    table: SimulatedTable
    n: int
    k: int
    draws: tuple[SampleCovariance, ...]

    @classmethod
    def of(cls, table: SimulatedTable, n: int, k: int) -> SimulationSetting:
        """Draw the covariances of n units."""
        guess = table.guess
        repeats = min(max(EASY // guess.eigenvalues.size, FEWEST), MOST)
        return cls(table, n, k, tuple(draw(guess, n, np.random.default_rng([1, i])) for i in range(repeats)))

    @property
    def guess(self) -> Guess:
        """The guess at the units."""
        return self.table.guess

    def tracked(self, budget: Budget) -> FloatArray:
        """Return zeta of each repeat of tracked_pca, which runs its own code on simulated units."""
        return np.array([self._one(budget, index) for index in range(len(self.draws))])

    def _one(self, budget: Budget, index: int) -> float:
        rng = np.random.default_rng([2, index])
        table = self.table
        units = SimulatedUnits(self.guess, self.n, self.draws[index], budget, rng, place=table.place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                release = run(units, self.k, TrackedOptions(standard=table.standard))
                found = table.in_components(release.components, release.scale)
            except np.linalg.LinAlgError:  # with so few units the noise overflows, and nothing is learnt
                found = units.random_start(self.k).T
        return zeta_of(found, self.guess.eigenvalues)

    def without_privacy(self) -> float:
        """Return the mean zeta of PCA without privacy on n units: the error of the sample alone."""
        ones = np.ones(self.guess.eigenvalues.size)
        return float(np.mean([self._leading(drawn, ones, self.guess.constant) for drawn in self.draws]))

    def gauss_1(self, budget: Budget) -> float:
        """Return the mean zeta of DP-Gauss-1, with noise as printed.

        It gets n, and the best clip by first-order theory, without spending budget.
        """
        clipped = min(self._clipped, key=lambda one: one.radius**2 * one.cost)
        factors, constant, noise = clipped.factors, clipped.constant, clipped.radius / budget.mu / self.n
        zetas = []
        draws = self.draws if factors.size <= _LARGE else self.draws[:1]
        for index, drawn in enumerate(draws):
            rng = np.random.default_rng([3, index])
            Z = np.triu(rng.standard_normal((factors.size, factors.size)))
            zetas.append(self._leading(drawn, factors, constant, noise * (Z + np.triu(Z, 1).T)))
        return float(np.mean(zetas))

    @cached_property
    def _clipped(self) -> list[_Clipped]:
        """Effect of clipping at each of the quantiles."""
        norms = SimulatedUnits(self.guess, self.n, self.draws[0]).matrices().norms(np.zeros(1))
        return [self._clip(norms, float(np.quantile(norms, quantile))) for quantile in QUANTILES]

    def _clip(self, norms: FloatArray, radius: float) -> _Clipped:
        c = clip_factors(norms, radius)
        squares, k, true = self.guess.rows**2, self.k, self.guess.eigenvalues
        before = np.maximum(np.mean(squares, axis=(0, 1)), np.finfo(float).tiny)
        factors = np.mean(squares * c[:, None, None], axis=(0, 1)) / before
        constant = self.guess.constant * float(c.mean())
        size = self.guess.varying * factors + constant
        gaps = np.maximum(size[:k, None] - size[None, k:], 0.02 * size[0])
        return _Clipped(radius, factors, constant, float(np.sum((true[:k, None] - true[None, k:]) / gaps**2)))

    def _leading(
        self, drawn: SampleCovariance, factors: FloatArray, constant: FloatArray, noise: FloatArray | float = 0.0
    ) -> float:
        """Return zeta of the leading eigenvectors of the clipped mean plus noise."""
        d, root = factors.size, np.sqrt(factors)[:, None]
        few = 2 * self.k + 30
        if d <= max(_DENSE, few):
            matrix = drawn.varying * (root * root.T) + np.diag(constant) + noise
            top = np.linalg.eigh(matrix)[1][:, ::-1][:, : self.k]
            return zeta_of(top.T, self.guess.eigenvalues)

        def product(v: FloatArray) -> FloatArray:
            columns = v.reshape(d, -1)
            out = root * drawn.times(root * columns) + constant[:, None] * columns
            return out if isinstance(noise, float) else out + noise @ columns

        operator = LinearOperator((d, d), matvec=product, dtype=np.float64)
        start = np.random.default_rng(4).standard_normal(d)
        vectors = eigsh(operator, self.k, which="LA", ncv=few, tol=1e-4, v0=start)[1]
        return zeta_of(np.linalg.qr(vectors)[0].T, self.guess.eigenvalues)
