"""Noisy sum of units around a public centre, with every coordinate clipped to the same range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.mechanisms.noise.veil import Veil, check_sensitivity
from eigenveil.mechanisms.paper.gradients import gradients
from eigenveil.privacy.entries import Purpose


def noisy_truncated_sum(
    population: ExplicitPopulation,
    *,
    centre: FloatArray,
    reach: float,
    mu: float,
    veil: Veil,
    what: str = "truncated sum",
    purpose: Purpose = Purpose.OTHER,
) -> FloatArray:
    """Release the sum over units of a_i - centre, every entry clipped to [-reach, reach], plus Gaussian noise.

    Formal guarantees
    -----------------
    Entries become whole numbers of grid steps, at most floor(reach/step) in absolute value. A unit therefore adds
    integers of Euclidean norm at most sqrt(size) reach, and integers add without error. The L2 sensitivity is
    sqrt(size) reach (*add-remove*) or 2 sqrt(size) reach (*replace*), rounded up. Every entry gets noise of
    standard deviation sensitivity/mu: mu-GDP.

    ==============================  ======================================================
    edge case                       result
    ==============================  ======================================================
    no units                        noise around 0
    one unit, all equal, huge       clipped like any other
    reach 0, negative, inf, nan     refused before anything is charged (a public number)
    nan, inf, norm overflows        such a unit adds 0
    ==============================  ======================================================
    """
    check_sensitivity(reach)
    size = int(np.prod(population.shape))
    norm = math.sqrt(size) * reach * (1 + 2.0**-50)
    sensitivity = veil.relation.distance_between_sums(norm)
    grant = veil.gaussian(what, mu=mu, sensitivity=sensitivity, draws=size, purpose=purpose)
    most = float(math.floor(Fraction(reach) / Fraction(2) ** grant.exponent))
    g, good = gradients(population)
    steps = np.clip(np.rint(np.ldexp(g - np.ravel(centre), -grant.exponent)), -most, most)
    total = np.where(good[:, None], steps, 0.0).astype(np.int64).sum(axis=0)
    return grant.release(total).reshape(population.shape)
