"""ModifiedDP-PCA in a practical form: power steps on a mean gradient that is clipped around a tracked centre.

TrackedDP-PCA({A_i}; P, eta):
  1  w <- P z/||P z||, z uniform on the sphere; C <- 0
  2  n_hat <- noisy count; T <- as many rounds as n_hat allows, at most 8; T disjoint batches, the last one with
     half of the units
  3  for each batch {A_i}, with gradients g_i = P A_i P w:
  4     n_t <- noisy count; R <- noisy median of the ||g_i - C||, by a radius search
  5     g <- C + (sum_i clip_R(g_i - C) + noise)/n_t
  6     w' <- P g, or P (w + eta_t g) if rates are given, normalised to length 1
  7     C <- prediction of the mean gradient at w' from all pairs (w, g) so far; w <- w'
  8  return w
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.oracles.steps import (
    OracleAnswer,
    Past,
    Rates,
    buy_count,
    check_batch_size,
    check_range,
    check_rates,
    declare_batch_size,
    declared_rates,
    predict_gradient,
    step,
)
from eigenveil.kernels import to_single
from eigenveil.mechanisms import AtQuantile, Given, NoisyMean, clipped_mean
from eigenveil.mechanisms.radius import count_noise
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import Units

MOST_ROUNDS = 8
_RADIUS_SHARE = 0.06
_QUIET = 7.0
"""Minimal size of a batch, as a multiple of the noise of a count, for a reliable radius search."""


@dataclass(frozen=True, kw_only=True)
class TrackedDPPCA:
    """The paper's adaptive oracle with a radius search in place of PrivRange and PrivMean, for both relations.

    Parameters
    ----------
    range_finder : "tracked" or float
        A radius search in every batch, or a radius fixed in advance.
    batch_size : int, optional
        Approximate number of units in a batch. By default there are up to 8 rounds, the last one with half of the
        units, and fewer if n_hat is too small for reliable radius searches.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... By default power steps.

    Formal guarantees
    -----------------
    *Both relations.* The whole run is mu-GDP with the mu of the units' budget. It buys a count of all units, and
    then a count, a radius and a sum in every batch. Batches are disjoint, so together they cost as much as one of
    them. Under *replace* counts are free where units have fixed positions. The number of rounds follows from the
    first count.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             noise, after one round
    nan, inf, norm overflows        as in the mechanisms
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    One radius search replaces D histograms, so that hundreds of units suffice instead of tens of thousands. The
    centre tracks the gradients, so that noise shrinks from round to round.

    References
    ----------
    The paper, label modified-dp-pca, for the printed form; see `literal_dp_pca`.
    """

    range_finder: Literal["tracked"] | float = "tracked"
    batch_size: int | None = None
    learning_rates: Rates | None = None

    def __post_init__(self) -> None:
        check_range(self.range_finder, words=("tracked",))
        check_batch_size(self.batch_size)
        check_rates(self.learning_rates)

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return (0, 0): all noise is Gaussian, so nothing of (epsilon, delta) is set aside."""
        del epsilon, delta
        return 0.0, 0.0

    def __call__(self, units: Units) -> OracleAnswer:
        """Return the top component of the units, with all of their budget."""
        # 1
        w = units.random_start(1)
        C, past = np.zeros(w.shape), list[Past]()
        # 2
        batches = self._buy_batches(units, w)
        rates: Sequence[float | None] = [None] * len(batches)
        if self.learning_rates is not None:
            rates = declared_rates(self.learning_rates, len(batches), units.veil.ledger)
        # 3
        for eta, batch in zip(rates, batches, strict=True):
            # 4, 5
            g = self._buy_mean(batch, w, C)
            # 6
            moved = step(units, w, g.value, eta)
            # 7
            past.append(Past(w[:, 0], g.value[:, 0], g.radius))
            C, w = predict_gradient(past, moved[:, 0])[:, None], moved
        # 8
        ranges = tuple(one.error for one in past)
        return OracleAnswer(w[:, 0], {"rounds": len(batches), "stood_still": 0, "ranges": ranges})

    def _buy_batches(self, units: Units, w: FloatArray) -> Sequence[Units]:
        """Buy a count of the units, and return disjoint batches, each with its own budget."""
        n_hat, mu = buy_count(units, units.block(w), "ModifiedDP-PCA: number of units")
        rest = replace(units, budget=replace(units.budget, mu=mu))
        if self.batch_size is not None:
            declare_batch_size(self.batch_size, units.veil.ledger)
            return rest.split(max(1, round(n_hat / self.batch_size)))
        rounds = rounds_for(n_hat, mu=mu)
        if rounds == 1:
            return (rest,)
        early, last = rest.split(2)
        return (*early.split(rounds - 1), last)

    def _buy_mean(self, batch: Units, w: FloatArray, C: FloatArray) -> NoisyMean:
        """Buy the mean gradient, clipped around C."""
        population = batch.block(w)
        n_hat, mu = buy_count(batch, population, "ModifiedDP-PCA: units in the batch")
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
    """Return the number of rounds for which the radius search of each early batch is reliable.

    Examples
    --------
    >>> [rounds_for(n, mu=0.5) for n in (100, 1000, 5000, 100_000)]
    [1, 3, 8, 8]
    """
    noise = count_noise(mu * math.sqrt(_RADIUS_SHARE))
    return 1 + min(MOST_ROUNDS - 1, max(0, int(n_hat / 2 / (_QUIET * noise))))
