"""ModifiedDP-PCA as printed: Oja's algorithm with gradients from PrivMean, at the range that PrivRange finds.

ModifiedDP-PCA({A_i}, i = 1..m; P, eta, B, tau):
  1  w <- P z/||P z||, z uniform on the sphere; C <- 0
  2  for t = 1..T = floor(m/B), on the next B units by place, with gradients g_i = P A_i P w:
  3     L <- PrivRange(the first half of {g_i}, tau/(2T)), or a top eigenvalue given in advance
  4     g <- PrivMean(the same half, or the other one, L, tau/(2T))
          or, in place of PrivMean, the mean of them clipped at sqrt(d L/2) around C     # ours
  5     L or g is bottom: w stays, the step is counted
  6     w <- P (w + eta_t g), at length 1
          C <- the best guess of the mean gradient at the new w, from all pairs (w, g) so far
  7  return w
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines import RangePlan
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import Given, clipped_mean
from eigenveil.mechanisms.gradients import check_tau, need_fixed_places
from eigenveil.mechanisms.priv_mean import priv_mean
from eigenveil.mechanisms.priv_range import priv_range
from eigenveil.oracles.steps import (
    Answer,
    Past,
    Rates,
    check_batch_size,
    check_range,
    check_word,
    count_units,
    guess,
    rate_at,
    step,
)
from eigenveil.privacy import Purpose
from eigenveil.schedules import HarmonicSchedule
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class LiteralDPPCA:
    """The paper's adaptive oracle, with its own primitives. They work on places, so it is for *replace* only.

    Parameters
    ----------
    range_finder : "privrange" or float
        PrivRange, or a top eigenvalue fixed in advance (for PrivMean only).
    mean_estimator : {"privmean", "tracked"}
        PrivMean, or the mean clipped around a tracked centre, at the radius that PrivRange implies.
    batch_size : int, optional
        B; floor(sqrt(m)) if left out, as in the paper's experiments.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... If left out: 1/(1 + t) for PrivMean, power steps else.
    tau : float
        The probability with which a clip may fail (the paper's zeta = 0.01).
    K, a, C1 : float
        Constants of PrivMean and PrivRange.
    halves : {"shared", "disjoint"}
        Range finder and mean estimator both get the first half of a batch, at half the cost each; or a half each.

    Formal guarantees
    -----------------
    *Replace.* Batches are disjoint, so the whole costs what one batch costs. With (epsilon, delta) the total that
    `aside` was asked with, PrivRange costs (epsilon/2, delta/2), and PrivMean the same ("shared"; they meet the
    same units), or (epsilon, delta) on units of its own ("disjoint", or a range given in advance). A clipped mean
    costs the mu of the rest, and the number of units is public. *Add-remove* is refused, and so are people found
    by their ids.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, fewer than B          the random start: there is no batch
    bottom                          the iterate stays; counted in diagnostics
    nan, inf, norm overflows        as in the mechanisms
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    Those of PrivRange and PrivMean, and that bottom is handled. With disjoint halves PrivRange gets (epsilon/2,
    delta/2), not the full (epsilon, delta) its own units would allow: the ledger bounds Gaussian and other losses
    apart. The clipped mean in place of PrivMean is ours.

    References
    ----------
    The paper, label modified-dp-pca; Liu, Kong, Jain & Oh 2022, arXiv 2205.13709, algorithm 3.
    """

    range_finder: Literal["privrange"] | float = "privrange"
    mean_estimator: Literal["privmean", "tracked"] = "privmean"
    batch_size: int | None = None
    learning_rates: Rates | None = None
    tau: float = 0.01
    K: float = 1.0
    a: float = 1.0
    C1: float = 1.0
    halves: Literal["shared", "disjoint"] = "shared"

    def __post_init__(self) -> None:
        check_tau(self.tau)
        check_word("mean_estimator", self.mean_estimator, ("tracked", "privmean"))
        check_word("halves", self.halves, ("shared", "disjoint"))
        check_range(self.range_finder, words=("privrange",))
        if not self._finds_range and self.mean_estimator == "tracked":
            raise InvalidInputError(
                "a clipped mean at a radius given in advance needs no place: use TrackedDPPCA."
            )
        check_batch_size(self.batch_size)

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """What of (epsilon, delta) the budget has to set aside for histograms; the rest is for Gaussian noise."""
        share = 0.75 if self._both_meet_the_same_units else 0.5
        return share * epsilon, share * delta

    def __call__(self, units: Units) -> Answer:
        """The top direction of the units, as privately as their budget says."""
        name = "PrivMean" if self.mean_estimator == "privmean" else "PrivRange"
        need_fixed_places(units.veil, name, fixed_places=units.operator.fixed_places)
        # 1
        w = units.random_start(1)
        C, past = np.zeros(w.shape), list[Past]()
        ranges: list[float | None] = []
        # 2
        batches = self._batches(units)
        for t, batch in enumerate(batches, start=1):
            first, other = self._halves(batch)
            # 3
            L = self._range(first, w, len(batches))
            # 4
            found, g = (None, None) if L is None else self._mean(other, w, C, L, len(batches))
            ranges.append(found)
            # 5
            if found is None or g is None:
                continue
            # 6
            moved = step(units, w, g, self._rate(t))
            past.append(Past(w[:, 0], g[:, 0], found))
            C, w = guess(past, moved[:, 0])[:, None], moved
        # 7
        still = sum(found is None for found in ranges)
        return Answer(w[:, 0], {"rounds": len(batches), "stood_still": still, "ranges": tuple(ranges)})

    @property
    def _finds_range(self) -> bool:
        return self.range_finder == "privrange"

    @property
    def _both_meet_the_same_units(self) -> bool:
        return self.mean_estimator == "privmean" and self._finds_range and self.halves == "shared"

    def _batches(self, units: Units) -> Sequence[Units]:
        """T = floor(m/B) batches of B units, by place, each with a budget of its own."""
        plan = units.plan if isinstance(units.plan, RangePlan) else units.by_position().plan
        assert isinstance(plan, RangePlan), "by_position makes one"
        m = plan.last - plan.first
        B = math.isqrt(m) if self.batch_size is None else self.batch_size
        T = m // B if B else 0
        return replace(units, plan=replace(plan, last=plan.first + T * B)).split(T) if T else ()

    def _halves(self, batch: Units) -> tuple[Units, Units]:
        """The units for the range finder and those for the mean estimator."""
        if not self._finds_range:
            return batch, batch
        if self.halves == "disjoint":
            first, second = batch.split(2)
            return first, second
        assert isinstance(batch.plan, RangePlan), "batches are ranges of places"
        half = (batch.plan.last - batch.plan.first) // 2
        first = replace(batch, plan=replace(batch.plan, last=batch.plan.first + half))
        return first, first

    def _range(self, batch: Units, w: FloatArray, T: int) -> float | None:
        """The top eigenvalue of the gradients' spread; None is bottom."""
        if isinstance(self.range_finder, float | int):
            note = f"given as public: {self.range_finder!r}"
            batch.veil.ledger.declare("range", note=note, purpose=Purpose.BOUND)
            return float(self.range_finder)
        share = 2 / 3 if self._both_meet_the_same_units else 1.0
        return priv_range(
            batch.block(w),
            epsilon=share * batch.budget.epsilon_aside,
            delta=share * batch.budget.delta_aside,
            tau=self.tau / (2 * T),
            veil=batch.veil,
            C1=self.C1,
        )

    def _mean(
        self, batch: Units, w: FloatArray, C: FloatArray, L: float, T: int
    ) -> tuple[float | None, FloatArray | None]:
        """The range as it was used, and the mean gradient; both None at bottom."""
        if self.mean_estimator == "tracked":
            return _clipped(batch, w, C, radius=math.sqrt(batch.d * L / 2))
        share = 2 / 3 if self._both_meet_the_same_units else 2.0
        g = priv_mean(
            batch.block(w),
            top_eigenvalue=L,
            epsilon=share * batch.budget.epsilon_aside,
            delta=share * batch.budget.delta_aside,
            tau=self.tau / (2 * T),
            veil=batch.veil,
            K=self.K,
            a=self.a,
        )
        return (None if g is None else L), g

    def _rate(self, t: int) -> float | None:
        if self.learning_rates is not None:
            return rate_at(self.learning_rates, t)
        return rate_at(HarmonicSchedule(), t) if self.mean_estimator == "privmean" else None


def _clipped(batch: Units, w: FloatArray, C: FloatArray, *, radius: float) -> tuple[float, FloatArray]:
    """The mean gradient, clipped around C at a radius already public."""
    population = batch.block(w)
    n_hat, mu = count_units(batch, population, "ModifiedDP-PCA: units in the batch")
    mean = clipped_mean(
        population,
        centre=C,
        n_hat=n_hat,
        radius=Given(radius),
        mu=mu,
        veil=batch.veil,
        what="ModifiedDP-PCA",
        purpose=Purpose.COMPONENTS,
    )
    return mean.radius, mean.value
