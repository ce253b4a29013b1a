"""The private mean of rows, in two rounds: a rough centre first, then the mean around it."""

from __future__ import annotations

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.kernels import to_single
from eigenveil.mechanisms.clipped_mean import AtQuantile, clipped_mean
from eigenveil.mechanisms.noisy import NoisyMean
from eigenveil.mechanisms.radius import reachable_quantile
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.budget import split_mu
from eigenveil.privacy.entries import Purpose

FIRST_SHARE, RADIUS_SHARE = 0.2, 0.2
"""Shares of mu^2: for the first round, and in each round for its radius."""


def private_mean(
    population: Population, *, n_hat: float, mu: float, veil: Veil, quantile: float = 0.9
) -> NoisyMean:
    """The mean of the units' vectors (or matrices), from no knowledge of where they lie.

    1. a fifth of mu^2: the mean clipped around 0, at the median
    2. the rest: the mean clipped around that, at `quantile`, or lower where the noise of the counts is large
       against n_hat (never below the median)

    The first round pays for the distance of the rows from 0, the second only for their spread.

    Formal guarantees
    -----------------
    Both relations; two clipped means in sequence, mu-GDP together. The quantile of the second is a function of
    public numbers. Edge cases as in `clipped_mean`.
    """
    first, second = split_mu(mu, [FIRST_SHARE, 1 - FIRST_SHARE])

    def around(centre: FloatArray, wanted: float, round_mu: float, what: str) -> NoisyMean:
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
    rough = around(np.zeros(population.shape), 0.5, first, "mean, rough")
    # 2
    return around(to_single(rough.value), quantile, second, "mean")
