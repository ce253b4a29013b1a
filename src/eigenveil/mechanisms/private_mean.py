"""The private mean of rows: the tracked mean, run twice, so that its centre has found the rows."""

from __future__ import annotations

import math

import numpy as np

from eigenveil.engines.population import Population
from eigenveil.mechanisms.radius import QUERIES
from eigenveil.mechanisms.tracked_mean import MeanRelease, tracked_mean
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.budget import split_mu

_FIRST_SHARE, _RADIUS_SHARE = 0.2, 0.2
_SAFE = 4.5
"""Standard deviations of a count's noise that the target of a radius search stays away from n_hat."""


def private_mean(
    population: Population, *, n_hat: float, mu: float, veil: Veil, quantile: float = 0.9
) -> MeanRelease:
    """The mean of the units' vectors (or matrices), from no knowledge of where they lie.

    1. a fifth of mu^2: the tracked mean around 0, clipped at the median
    2. the rest: the tracked mean around that, clipped at `quantile`, or lower where the noise of the
       counts is large against n_hat (never below the median)

    The first round pays for the distance of the rows from 0, the second only for their spread.

    Formal guarantees
    -----------------
    Both relations; two tracked means in sequence, mu-GDP together. The quantile of the second is a function of
    public numbers. Edge cases as in `tracked_mean`.
    """
    first, second = split_mu(mu, [_FIRST_SHARE, 1 - _FIRST_SHARE])
    release = MeanRelease(mean=np.zeros(population.shape), radius=math.inf)
    for round_mu, wanted, what in ((first, 0.5, "mean, rough"), (second, quantile, "mean")):
        mu_radius, mu_sum = split_mu(round_mu, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
        release = tracked_mean(
            population,
            centre=release.mean,
            n_hat=n_hat,
            mu_radius=mu_radius,
            mu_sum=mu_sum,
            veil=veil,
            quantile=reachable_quantile(wanted, n_hat=n_hat, mu_radius=mu_radius),
            what=what,
        )
    return release


def reachable_quantile(wanted: float, *, n_hat: float, mu_radius: float) -> float:
    """The largest quantile up to `wanted` whose radius search is not fooled by noise; at least the median.

    A search for q n_hat units runs away to the largest edge when noise hides that they are all there, so
    (1 - q) n_hat is kept above 4.5 standard deviations of a count.

    Examples
    --------
    >>> reachable_quantile(0.9, n_hat=1e6, mu_radius=0.1)
    0.9
    >>> reachable_quantile(0.9, n_hat=400.0, mu_radius=0.1)
    0.6442...
    >>> reachable_quantile(0.9, n_hat=10.0, mu_radius=0.1)
    0.5
    """
    noise = math.sqrt(QUERIES) / mu_radius
    return min(wanted, max(0.5, 1 - _SAFE * noise / max(n_hat, 1.0)))
