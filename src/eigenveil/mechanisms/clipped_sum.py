"""Noisy sum of units, clipped around a public centre."""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.population import Population
from eigenveil.kernels import Clip
from eigenveil.mechanisms.noise.noisy import NoisySum
from eigenveil.mechanisms.noise.veil import Grant, Veil, gaussian_exponent
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


def noisy_clipped_sum(
    population: Population,
    *,
    centre: FloatArray,
    radius: float,
    mu: float,
    veil: Veil,
    what: str = "clipped sum",
    purpose: Purpose = Purpose.OTHER,
) -> NoisySum:
    """Release the sum over units of clip(a_i - centre, radius), plus Gaussian noise.

    For symmetric matrices, noise is added once to the upper triangle, which is then mirrored. Entries off the
    diagonal count twice in the Frobenius norm, so their noise is smaller by a factor sqrt(2).

    Formal guarantees
    -----------------
    A unit adds integers (in grid steps) whose Euclidean norm is at most `radius`, and integers add without error.
    Therefore the L2 sensitivity is exactly `radius` (*add-remove*) or 2 `radius` (*replace*), with no allowance
    for rounding or summation. Every entry gets noise of standard deviation sensitivity/mu: mu-GDP.

    *Symmetric:* in the coordinates (diagonal, sqrt(2) * upper triangle), the Euclidean norm is the Frobenius norm.
    Noise of standard deviation sigma on each of these coordinates is noise sigma on the diagonal and sigma/sqrt(2)
    above it.

    ==============================  ======================================================
    edge case                       result
    ==============================  ======================================================
    no units                        noise around 0
    one unit, all equal, huge       clipped like any other
    radius 0, negative, inf, nan    refused before anything is charged (a public number)
    nan, inf, norm overflows        such a unit adds 0
    ==============================  ======================================================
    """
    grant = veil.gaussian(
        what,
        mu=mu,
        sensitivity=veil.relation.distance_between_sums(radius),
        draws=_draws(population),
        note="symmetric; noise is smaller by sqrt(2) off the diagonal" if population.symmetric else "",
        purpose=purpose,
    )
    total = population.clipped_sum(centre, radius, grant.exponent)
    value = _released_symmetric(total, grant) if population.symmetric else grant.release(total)
    return NoisySum(value, sum_noise(radius, mu=mu, relation=veil.relation))


def clip_for_sum(population: Population, radius: float, *, mu: float, relation: Relation) -> Clip:
    """Return how `noisy_clipped_sum` will clip and round, for reading the data ahead; uses public numbers."""
    sensitivity = relation.distance_between_sums(radius)
    return Clip(radius, gaussian_exponent(mu=mu, sensitivity=sensitivity, draws=_draws(population)))


def sum_noise(radius: float, *, mu: float, relation: Relation) -> float:
    """Return the noise on an entry of a clipped sum, sensitivity/mu; it is known before the sum is bought."""
    return relation.distance_between_sums(radius) / mu


def _draws(population: Population) -> int:
    """Return the number of entries that get noise."""
    d, size = population.shape[0], math.prod(population.shape)
    return d * (d + 1) // 2 if population.symmetric else size


def _released_symmetric(total: IntArray, grant: Grant) -> FloatArray:
    """Add noise to the diagonal and to the upper triangle, and mirror the upper triangle to the lower one."""
    d = len(total)
    diagonal, upper = np.arange(d), np.triu_indices(d, 1)
    out = np.zeros((d, d))
    out[diagonal, diagonal] = grant.release(total[diagonal, diagonal])
    out[upper] = grant.release(total[upper], weight=math.nextafter(math.sqrt(0.5), 1.0))
    out[upper[1], upper[0]] = out[upper]
    return out
