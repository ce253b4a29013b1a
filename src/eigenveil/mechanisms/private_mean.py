"""The private mean of rows: the tracked mean, run twice, so that its centre has found the rows."""

from __future__ import annotations

import math

import numpy as np

from eigenveil.engines.population import Population
from eigenveil.mechanisms.tracked_mean import MeanRelease, tracked_mean
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.budget import split_mu

_FIRST_SHARE, _RADIUS_SHARE = 0.2, 0.06


def private_mean(
    population: Population, *, n_hat: float, mu: float, veil: Veil, quantile: float = 0.9
) -> MeanRelease:
    """The mean of the units' vectors (or matrices), from no knowledge of where they lie.

    1. a fifth of mu^2: the tracked mean around 0, clipped at the median
    2. the rest: the tracked mean around that, clipped at `quantile`

    The first round pays for the distance of the rows from 0, the second only for their spread.

    Formal guarantees
    -----------------
    Both relations; two tracked means in sequence, mu-GDP together. Edge cases as in `tracked_mean`.
    """
    first, second = split_mu(mu, [_FIRST_SHARE, 1 - _FIRST_SHARE])
    release = MeanRelease(mean=np.zeros(population.shape), radius=math.inf)
    for round_mu, q, what in ((first, 0.5, "mean, rough"), (second, quantile, "mean")):
        mu_radius, mu_sum = split_mu(round_mu, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
        release = tracked_mean(
            population,
            centre=release.mean,
            n_hat=n_hat,
            mu_radius=mu_radius,
            mu_sum=mu_sum,
            veil=veil,
            quantile=q,
            what=what,
        )
    return release
