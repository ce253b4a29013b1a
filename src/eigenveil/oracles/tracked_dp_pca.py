"""ModifiedDP-PCA in a practical form: power steps whose gradient is a mean clipped around a tracked centre.

TrackedDP-PCA({A_i}; P, eta):
  1  w <- P z/||P z||, z uniform on the sphere; C <- 0
  2  n_hat <- noisy count; T <- as many rounds as n_hat is enough for, 8 at most; T disjoint batches, the last one
     with half of the units
  3  for each batch {A_i}, with gradients g_i = P A_i P w:
  4     n_t <- noisy count; R <- a radius that holds half of the ||g_i - C||, by a noisy search
  5     g <- C + (sum_i clip_R(g_i - C) + noise)/n_t
  6     w' <- P g, or P (w + eta_t g) where rates are given, at length 1
  7     C <- the best guess of the mean gradient at w', from all pairs (w, g) so far; w <- w'
  8  return w
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.kernels import to_single
from eigenveil.mechanisms import AtQuantile, Given, NoisyMean, clipped_mean
from eigenveil.mechanisms.radius import count_noise
from eigenveil.oracles.steps import (
    Answer,
    Past,
    Rates,
    check_batch_size,
    check_range,
    count_units,
    guess,
    rate_at,
    step,
)
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import Units

MOST_ROUNDS = 8
_RADIUS_SHARE = 0.06
_QUIET = 7.0
"""How many times the noise of a count a batch has to be, so that the radius search is not lost."""


@dataclass(frozen=True, kw_only=True)
class TrackedDPPCA:
    """The paper's adaptive oracle with one radius search in place of PrivRange and PrivMean. For both relations.

    Parameters
    ----------
    range_finder : "tracked" or float
        A radius search in every batch, or a radius fixed in advance.
    batch_size : int, optional
        About how many units a batch has. If left out: up to 8 rounds, of which the last has half of the units, and
        fewer where n_hat says that a radius search would drown.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... If left out: power steps.

    Formal guarantees
    -----------------
    *Both relations.* The whole is mu-GDP, with mu that of the units' budget: a count of all units, and then
    disjoint batches, which together cost what one of them costs: a count, a radius, a sum. Under *replace* counts
    are free where units have fixed places. How many rounds there are follows from the first count.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             noise; one round
    nan, inf, norm overflows        as in the mechanisms
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    One radius search instead of D histograms, so that it learns from hundreds of units and not only from tens of
    thousands; a centre that follows the gradients, so that noise shrinks from round to round.

    References
    ----------
    The paper, label modified-dp-pca, for the form as printed; see `literal_dp_pca`.
    """

    range_finder: Literal["tracked"] | float = "tracked"
    batch_size: int | None = None
    learning_rates: Rates | None = None

    def __post_init__(self) -> None:
        check_range(self.range_finder, words=("tracked",))
        check_batch_size(self.batch_size)

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """All noise is Gaussian: nothing of (epsilon, delta) is set aside."""
        del epsilon, delta
        return 0.0, 0.0

    def __call__(self, units: Units) -> Answer:
        """The top direction of the units, as privately as their budget says."""
        # 1
        w = units.random_start(1)
        C, past = np.zeros(w.shape), list[Past]()
        # 2
        batches = self._batches(units, w)
        # 3
        for t, batch in enumerate(batches, start=1):
            # 4, 5
            g = self._mean(batch, w, C)
            # 6
            eta = None if self.learning_rates is None else rate_at(self.learning_rates, t)
            moved = step(units, w, g.value, eta)
            # 7
            past.append(Past(w[:, 0], g.value[:, 0], g.radius))
            C, w = guess(past, moved[:, 0])[:, None], moved
        # 8
        ranges = tuple(one.error for one in past)
        return Answer(w[:, 0], {"rounds": len(batches), "stood_still": 0, "ranges": ranges})

    def _batches(self, units: Units, w: FloatArray) -> Sequence[Units]:
        """Disjoint batches, each with a budget of its own."""
        n_hat, mu = count_units(units, units.block(w), "ModifiedDP-PCA: number of units")
        rest = replace(units, budget=replace(units.budget, mu=mu))
        if self.batch_size is not None:
            return rest.split(max(1, round(n_hat / self.batch_size)))
        rounds = rounds_for(n_hat, mu=mu)
        if rounds == 1:
            return (rest,)
        early, last = rest.split(2)
        return (*early.split(rounds - 1), last)

    def _mean(self, batch: Units, w: FloatArray, C: FloatArray) -> NoisyMean:
        """The mean gradient, clipped around C."""
        population = batch.block(w)
        n_hat, mu = count_units(batch, population, "ModifiedDP-PCA: units in the batch")
        rule: AtQuantile | Given
        if self.range_finder == "tracked":
            mu_radius, mu = split_mu(mu, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
            rule, centre = AtQuantile(mu=mu_radius), to_single(C)
        else:
            rule, centre = Given(float(self.range_finder)), C
        return clipped_mean(
            population,
            centre=centre,
            n_hat=n_hat,
            radius=rule,
            mu=mu,
            veil=batch.veil,
            what="ModifiedDP-PCA",
            purpose=Purpose.COMPONENTS,
        )


def rounds_for(n_hat: float, *, mu: float) -> int:
    """How many rounds the units are enough for, so that the radius search of each early batch is quiet.

    Examples
    --------
    >>> [rounds_for(n, mu=0.5) for n in (100, 1000, 5000, 100_000)]
    [1, 3, 8, 8]
    """
    noise = count_noise(mu * math.sqrt(_RADIUS_SHARE))
    return 1 + min(MOST_ROUNDS - 1, max(0, int(n_hat / 2 / (_QUIET * noise))))
