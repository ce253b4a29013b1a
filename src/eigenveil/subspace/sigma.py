"""Releases of Sigma itself, and where to clip them once noise is small beside what the sample leaves open.

BestClip({Sigma_q}, k, n_hat):
  1  from the radii of all looks: E min(||A_i||, R_q)^2, and with it how far a sample of n_hat units moves Sigma_q
  2  price_q <- the energy that this, and the noise that will be left, cost the first k directions
  3  for every look r that clips less: what q's directions lose by Sigma_r, beyond what noise and the sample
     explain, is clip bias                                                      # after Hausman's test
  4  the q with the smallest price_q + bias_q, if that is clearly less than at the usual one, else that; and with
     it the looks at which no bias is seen and the sample costs about as much
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.subspace.tracking import TINY

CLIPS = (0.03, 0.5, 0.75, 0.99)
"""The shares of units that the looks leave whole."""
CLEARLY = 0.8
"""Prices are rough, so another clip than the usual must promise to lose no more than this share as much."""
ALIKE = 1.2
"""Looks count with the best one unless the sample moves their directions by more than this times as much."""


@dataclass(frozen=True)
class Sigma:
    """A release of Sigma itself: noise on its diagonal, smaller by sqrt(2) off it, its cost, and its clip."""

    matrix: FloatArray
    noise: float
    share: float
    radius: float
    quantile: float

    def noise_with(self, more: float) -> float:
        """The noise after such a share more was spent on another one like it, and both count."""
        return self.noise * math.sqrt(self.share / (self.share + more))

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, at least 0, and eigenvectors as columns, largest first."""
        values, vectors = np.linalg.eigh(self.matrix)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]

    def spread(self, squared_norm: float) -> float:
        """v, if entries ij of A_i have variance v lambda_i lambda_j (1 + [i = j]), from E ||A_i||^2.

        It is 1 for Gaussian rows, 1/r for r of them.
        """
        values = self.spectrum[0]
        pure = max(float(np.sum(self.matrix**2)) - self.matrix.size * self.noise**2 / 2, 0.0)
        return max(squared_norm - pure, 0.0) / max(float(values.sum()) ** 2 + pure, TINY)


def together(releases: Sequence[Sigma]) -> Sigma:
    """All as one, on the scale and with the clip of the first.

    Clipping shortens a release as a whole. What tells of directions is its scale over its noise: weights are
    scale/noise^2.
    """
    first = releases[0]
    pure = max(float(np.sum(first.matrix**2)), TINY)
    scales = np.array([1.0, *(max(float(np.sum(first.matrix * one.matrix)) / pure, 0.0) for one in releases[1:])])
    weights = scales / np.array([one.noise for one in releases]) ** 2
    total = float(scales @ weights)
    matrix: FloatArray = np.tensordot(weights / total, [one.matrix for one in releases], axes=1)
    share = sum(one.share for one in releases)
    return Sigma(matrix, total**-0.5, share, first.radius, first.quantile)


def price(
    values: FloatArray, k: int, *, noise: float, spread: float, n_hat: float, truth: FloatArray | None = None
) -> tuple[float, float]:
    """Shares of the energy of the first k directions that noise costs, and that a sample of n_hat units does.

    `values` are the eigenvalues of Sigma as it was clipped, by which directions turn; `truth` those that energy is
    counted in, if they are others: clipping draws them together.
    """
    wanted, others = values[:k, None], values[None, k:]
    truth = values if truth is None else truth
    costs = gaps(truth, k) / gaps(values, k) ** 2 / max(float(truth[:k].sum()), TINY)
    return float(np.sum(noise**2 / 2 * costs)), float(np.sum(spread * wanted * others * costs) / n_hat)


def gaps(values: FloatArray, k: int) -> FloatArray:
    """How far the first k eigenvalues lie above each of the others, but no closer than can be told apart."""
    found: FloatArray = np.maximum(values[:k, None] - values[None, k:], least_gap(values))
    return found


def least_gap(values: FloatArray) -> float:
    """Eigenvalues are not told apart closer than this."""
    return max(0.02 * float(values[0]), TINY)


def best_clip(looks: Sequence[Sigma], k: int, *, usual: int, n_hat: float, left: float) -> tuple[int, list[int]]:
    """Which look to repeat with the share that is left, and which to count with it, as no bias of theirs is seen.

    `looks` clip less and less, and `usual` is one of them.
    """
    # 1
    norms = np.maximum.accumulate([look.radius for look in looks])
    spreads = [
        look.spread(_squared_norm([one.quantile for one in looks], norms, float(norm)))
        for look, norm in zip(looks, norms, strict=True)
    ]
    # 2
    truth = looks[usual].spectrum[0]
    now, then = (
        [
            price(look.spectrum[0], k, noise=look.noise_with(more), spread=spread, n_hat=n_hat, truth=truth)
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
    biases = [bias(q) for q in range(len(looks))]
    totals = [sum(then[q]) + biases[q] for q in range(len(looks))]
    best = min(range(len(looks)), key=totals.__getitem__)
    best = best if totals[best] <= CLEARLY * totals[usual] else usual
    most = ALIKE * then[best][1]
    return best, [q for q in range(len(looks)) if q == best or (not biases[q] and then[q][1] <= most)]


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
