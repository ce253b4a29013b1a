"""The tracked private mean: noise shrinks with the spread of the units around a centre already public.

TrackedMean({a_i}, C, n_hat, q, mu_r, mu_s):
  1  R <- smallest edge of the public grid at which the noisy count of ||a_i - C|| <= edge reaches q n_hat
  2  S <- sum_i clip_R(a_i - C) + N(0, (R/mu_s)^2 I)
  3  return C + S / n_hat
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import to_single
from eigenveil.mechanisms.clipped_sum import noisy_clipped_sum
from eigenveil.mechanisms.radius import radius_search
from eigenveil.mechanisms.veil import Veil


@dataclass(frozen=True)
class MeanRelease:
    """A private mean, and the radius it was clipped at (a release too)."""

    mean: FloatArray
    radius: float


def tracked_mean(
    population: Population,
    *,
    centre: FloatArray,
    n_hat: float,
    mu_radius: float,
    mu_sum: float,
    veil: Veil,
    quantile: float = 0.5,
    what: str = "tracked mean",
) -> MeanRelease:
    """The mean of the units' tensors, estimated around `centre`.

    Parameters
    ----------
    population : Population
        Units with a vector, a matrix or a symmetric matrix each.
    centre : array
        Public: 0, or an earlier release. The better it is, the less noise.
    n_hat : float
        Public: a noisy count bought once for these units, or their number where it is public. Taken as 1
        if smaller.
    mu_radius, mu_sum : float
        What the radius and the sum may cost.
    quantile : float in (0, 1]
        Which share of the units the radius is to hold: the median by default.

    Formal guarantees
    -----------------
    Both relations; sensitivities as in `radius_search` and `noisy_clipped_sum`. The whole is
    sqrt(mu_radius^2 + mu_sum^2)-GDP by composition, since the sum sees the radius only as a public number;
    dividing and adding public numbers is post-processing.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        the centre plus noise of an arbitrary radius
    one unit, n_hat below 1         n_hat is taken as 1
    all equal to the centre         the centre, with noise of order 2^-128
    zero radius                     cannot be: the smallest edge is 2^-128
    huge, nan, inf                  as in `radius_search` and `noisy_clipped_sum`
    ==============================  ==================================================================

    References
    ----------
    docs/privacy.md has the argument in one place.
    """
    if not 0 < quantile <= 1:
        raise InvalidInputError(f"quantile must lie in (0, 1], got {quantile!r}.")
    n_hat = max(float(n_hat), 1.0)
    centre = to_single(np.asarray(centre, dtype=np.float64))  # as populations may round it
    # 1
    radius = radius_search(
        population,
        centre=centre,
        target=quantile * n_hat,
        mu=mu_radius,
        veil=veil,
        what=f"{what}: radius",
    )
    # 2
    total = noisy_clipped_sum(population, centre=centre, radius=radius, mu=mu_sum, veil=veil, what=f"{what}: sum")
    # 3
    return MeanRelease(mean=centre + total / n_hat, radius=radius)
