"""Private mean in two rounds: first a rough centre, then the mean clipped around it."""

from __future__ import annotations

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.kernels import to_single
from eigenveil.mechanisms.clipped_mean import AtQuantile, clipped_mean
from eigenveil.mechanisms.noise.noisy import NoisyMean
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.mechanisms.radius import reachable_quantile
from eigenveil.privacy.budget import split_mu
from eigenveil.privacy.entries import Purpose

FIRST_SHARE, RADIUS_SHARE = 0.2, 0.2
"""Shares of mu^2: of the total for the first round, and of each round for its radius."""


def private_mean(
    population: Population, *, n_hat: float, mu: float, veil: Veil, quantile: float = 0.9
) -> NoisyMean:
    """Release the mean of the vectors (or matrices) of units, without prior knowledge of where they lie.

    1. With a fifth of mu^2: the mean clipped around 0, at the median of the norms.
    2. With the rest: the mean clipped around the first mean, at `quantile`. The quantile is lower (but never below
       the median) if the noise on counts is large compared with n_hat.

    The noise of the first round grows with the distance of the rows from 0, the noise of the second round only
    with their spread.

    Formal guarantees
    -----------------
    Both relations; two clipped means in sequence, together mu-GDP. The quantile of the second mean is a function
    of public numbers. Edge cases are as in `clipped_mean`.
    """
    first, second = split_mu(mu, [FIRST_SHARE, 1 - FIRST_SHARE])

    def buy_mean(centre: FloatArray, wanted: float, round_mu: float, what: str) -> NoisyMean:
        mu_radius, mu_sum = split_mu(round_mu, [RADIUS_SHARE, 1 - RADIUS_SHARE])
        reached = reachable_quantile(wanted, n_hat=n_hat, mu=mu_radius)
        rule = AtQuantile(mu=mu_radius, quantile=reached)
        return clipped_mean(
            population,
            centre=centre,
            n_hat=n_hat,
            radius=rule,
            mu=mu_sum,
            veil=veil,
            what=what,
            purpose=Purpose.MEAN,
        )

    # 1
    rough = buy_mean(np.zeros(population.shape), 0.5, first, "mean, rough")
    # 2
    return buy_mean(to_single(rough.value), quantile, second, "mean")
