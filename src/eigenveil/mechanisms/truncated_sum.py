"""The sum of what lies around a public centre, each coordinate cut off at the same reach, and noised."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import ExplicitPopulation
from eigenveil.mechanisms.gradients import gradients
from eigenveil.mechanisms.veil import Veil, check_sensitivity
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
    """Sum over units of a_i - centre, every entry cut to [-reach, reach], plus Gaussian noise.

    Formal guarantees
    -----------------
    Entries become whole grid steps of size at most floor(reach/step), so a unit adds integers of Euclidean norm at
    most sqrt(size) reach, and integers add without error: the L2 sensitivity is that (*add-remove*) or twice that
    (*replace*), rounded up. Noise of standard deviation sensitivity/mu on every entry: mu-GDP.

    ==============================  ======================================================
    edge case                       answer
    ==============================  ======================================================
    no units                        noise around 0
    one unit, all equal, huge       cut off like any other
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
