"""Releases of Sigma itself, and where to clip them once noise is small beside what the sample leaves open.

BestClip({Sigma_q}, k, n_hat):
  1  from the radii of all looks: E min(||A_i||, R_q)^2, and with it how far a sample of n_hat units moves Sigma_q
  2  price_q <- the energy that this, and the noise that will be left, cost the first k directions
  3  for every look r that clips less: what q's directions lose by Sigma_r, beyond what noise and the sample
     explain, is clip bias                                                      # after Hausman's test
  4  the q with the smallest price_q + bias_q, if that is clearly less than at the usual one, else that
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenveil.engines.population import FloatArray
from eigenveil.subspace.tracking import TINY

CLIPS = (0.03, 0.5, 0.9, 0.99)
"""The shares of units that the looks leave whole."""
CLEARLY = 0.8
"""Prices are rough, so another clip than the usual must promise to lose no more than this share as much."""


@dataclass(frozen=True)
class Sigma:
    """A release of Sigma itself: noise on its diagonal, smaller by sqrt(2) off it, its cost, and its clip."""

    matrix: FloatArray
    noise: float
    share: float
    radius: float
    quantile: float

    def and_also(self, other: Sigma) -> Sigma:
        """The two as one, weighed by their precisions."""
        mine, its = self.noise**-2, other.noise**-2
        matrix = (self.matrix * mine + other.matrix * its) / (mine + its)
        return Sigma(matrix, (mine + its) ** -0.5, self.share + other.share, self.radius, self.quantile)

    def noise_with(self, more: float) -> float:
        """The noise after such a share more was spent on another one like it, and both count."""
        return self.noise * math.sqrt(self.share / (self.share + more))

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, at least 0, and eigenvectors as columns, largest first."""
        values, vectors = np.linalg.eigh(self.matrix)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]

    def spread(self, squared_norm: float) -> float:
        """v, if entries of A_i have variance v lambda_i lambda_j: 1 for Gaussian rows, 1/r for r of them."""
        values = self.spectrum[0]
        pure = max(float(np.sum(self.matrix**2)) - self.matrix.size * self.noise**2 / 2, 0.0)
        return max(squared_norm - pure, 0.0) / max(float(values.sum()) ** 2, TINY)


def price(values: FloatArray, k: int, *, noise: float, spread: float, n_hat: float) -> tuple[float, float]:
    """Shares of the energy of the first k directions that noise costs, and that a sample of n_hat units does."""
    wanted, others = values[:k, None], values[None, k:]
    gaps = np.maximum(wanted - others, max(0.02 * float(values[0]), TINY))
    energy = max(float(values[:k].sum()), TINY)
    return (
        float(np.sum(noise**2 / 2 / gaps) / energy),
        float(np.sum(spread * wanted * others / gaps) / n_hat / energy),
    )


def best_clip(looks: Sequence[Sigma], k: int, *, usual: int, n_hat: float, left: float) -> int:
    """Which look to repeat with the share that is left; `looks` clip less and less, and `usual` is one of them."""
    # 1
    norms = np.maximum.accumulate([look.radius for look in looks])
    spreads = [
        look.spread(_squared_norm([one.quantile for one in looks], norms, float(norm)))
        for look, norm in zip(looks, norms, strict=True)
    ]
    # 2
    now, then = (
        [
            price(look.spectrum[0], k, noise=look.noise_with(more), spread=spread, n_hat=n_hat)
            for look, spread in zip(looks, spreads, strict=True)
        ]
        for more in (0.0, left)
    )
    # 3
    chance = luck(len(looks[0].matrix), k)

    def bias(q: int) -> float:
        worst = 0.0
        for r in range(q + 1, len(looks)):
            explained = now[q][0] + now[r][0] + abs(now[q][1] - now[r][1])
            worst = max(worst, _lost(looks[q], looks[r], k) - chance * explained)
        return worst

    # 4
    totals = [sum(then[q]) + bias(q) for q in range(len(looks))]
    best = min(range(len(looks)), key=totals.__getitem__)
    return best if totals[best] <= CLEARLY * totals[usual] else usual


def luck(d: int, k: int) -> float:
    """Sums of k (d - k) squares of noise hardly ever pass their mean by more than this factor: 3 deviations."""
    return 1 + 3 * math.sqrt(2 / max(k * (d - k), 1))


def _lost(look: Sigma, other: Sigma, k: int) -> float:
    """The share of energy that one look's first k directions lose by another's Sigma."""
    values, directions = other.spectrum[0], look.spectrum[1][:, :k]
    best = max(float(values[:k].sum()), TINY)
    return 1 - float(np.sum(directions * (other.matrix @ directions))) / best


def _squared_norm(quantiles: Sequence[float], norms: FloatArray, radius: float) -> float:
    """The mean of min(norm, radius)^2, for norms with these quantiles (and none above the last)."""
    at = np.array([0.0, *quantiles, 1.0])
    value = np.array([norms[0] ** 2 / norms[min(1, len(norms) - 1)], *norms, norms[-1]])
    squares = np.minimum(value, radius) ** 2
    low, high = np.maximum(squares[:-1], TINY), np.maximum(squares[1:], TINY)
    even = np.isclose(low, high)
    means = np.where(even, low, (high - low) / np.where(even, 1.0, np.log(high / low)))  # as exponentials between
    return float(np.sum(means * np.diff(at)))
