"""ModifiedDP-PCA as printed: Oja's algorithm on gradients from PrivMean, with a range from PrivRange.

ModifiedDP-PCA({A_i}, i = 1..m; P, eta, B, tau):
  1  w <- P z/||P z||, z uniform on the sphere; C <- 0
  2  for t = 1..T = floor(m/B), on the next B units by position, with gradients g_i = P A_i P w:
  3     L <- PrivRange(the first half of {g_i}, tau/(2T)), or a top eigenvalue given in advance
  4     g <- PrivMean(the same half, or the other half, L, tau/(2T))
          or, in place of PrivMean, their mean clipped at sqrt(d L/2) around C     # not in the paper
  5     if L or g is bottom: w stays, and the step is counted
  6     w <- P (w + eta_t g), normalised to length 1
          C <- prediction of the mean gradient at the new w from all pairs (w, g) so far
  7  return w
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
    check_word,
    declare_batch_size,
    declared_rates,
    predict_gradient,
    step,
)
from eigenveil.engines import RangePlan
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import Given, clipped_mean
from eigenveil.mechanisms.paper.gradients import check_tau, need_fixed_places
from eigenveil.mechanisms.paper.priv_mean import priv_mean
from eigenveil.mechanisms.paper.priv_range import priv_range
from eigenveil.privacy import Ledger, Purpose
from eigenveil.schedules import HarmonicSchedule
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class LiteralDPPCA:
    """The paper's adaptive oracle with its own primitives. They use positions, so it supports *replace* only.

    Parameters
    ----------
    range_finder : "privrange" or float
        PrivRange, or a top eigenvalue fixed in advance (for PrivMean only).
    mean_estimator : {"privmean", "tracked"}
        PrivMean, or the mean clipped around a tracked centre, at the radius that PrivRange implies.
    batch_size : int, optional
        B, the number of units in a batch. By default floor(sqrt(m)), as in the paper's experiments.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... By default 1/(1 + t) for PrivMean, and power steps otherwise.
    tau : float
        Probability with which a clip may fail (the paper's zeta = 0.01).
    K, a, C1 : float
        Constants of PrivMean and PrivRange.
    halves : {"shared", "disjoint"}
        Whether the range finder and the mean estimator both use the first half of a batch, at half the cost each,
        or each uses its own half.

    Formal guarantees
    -----------------
    *Replace.* Batches are disjoint, so the whole run costs as much as one batch. Let (epsilon, delta) be the total
    that was passed to `aside`. PrivRange costs (epsilon/2, delta/2). PrivMean costs the same if it uses the same
    units ("shared"), or (epsilon, delta) on its own units ("disjoint", or a range given in advance). A clipped
    mean costs the mu of the rest, and the number of units is public. *Add-remove* is refused, and so are people
    who are identified by ids.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, fewer than B          the random start, since there is no batch
    bottom                          the iterate stays; counted in the diagnostics
    nan, inf, norm overflows        as in the mechanisms
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    Those of PrivRange and PrivMean, and bottom is handled. With disjoint halves PrivRange gets (epsilon/2,
    delta/2), not the full (epsilon, delta) that its own units would allow, since the ledger bounds Gaussian and
    other losses separately. The clipped mean in place of PrivMean is not in the paper.

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
                "mean_estimator='tracked' needs range_finder='privrange' here, got a number fixed in advance.",
                hint="Use TrackedDPPCA, which takes a fixed radius and needs no positions.",
            )
        check_batch_size(self.batch_size)
        check_rates(self.learning_rates)

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the part of (epsilon, delta) to set aside for histograms. The rest is for Gaussian noise."""
        share = 0.75 if self._shares_units else 0.5
        return share * epsilon, share * delta

    def __call__(self, units: Units) -> OracleAnswer:
        """Return the top component of the units, with all of their budget."""
        name = "PrivMean" if self.mean_estimator == "privmean" else "PrivRange"
        need_fixed_places(units.veil, name, fixed_places=units.operator.fixed_places)
        # 1
        w = units.random_start(1)
        C, past = np.zeros(w.shape), list[Past]()
        ranges: list[float | None] = []
        # 2
        batches = self._batches(units)
        rates = self._rates(len(batches), units.veil.ledger)
        for eta, batch in zip(rates, batches, strict=True):
            first, other = self._halves(batch)
            # 3
            L = self._buy_range(first, w, len(batches))
            # 4
            found, g = (None, None) if L is None else self._buy_mean(other, w, C, L, len(batches))
            ranges.append(found)
            # 5
            if found is None or g is None:
                continue
            # 6
            moved = step(units, w, g, eta)
            past.append(Past(w[:, 0], g[:, 0], found))
            C, w = predict_gradient(past, moved[:, 0])[:, None], moved
        # 7
        still = sum(found is None for found in ranges)
        return OracleAnswer(w[:, 0], {"rounds": len(batches), "stood_still": still, "ranges": tuple(ranges)})

    @property
    def _finds_range(self) -> bool:
        return self.range_finder == "privrange"

    @property
    def _shares_units(self) -> bool:
        return self.mean_estimator == "privmean" and self._finds_range and self.halves == "shared"

    def _batches(self, units: Units) -> Sequence[Units]:
        """Return T = floor(m/B) batches of B units by position, each with its own budget."""
        plan = units.plan if isinstance(units.plan, RangePlan) else units.by_position().plan
        assert isinstance(plan, RangePlan), "by_position makes one"
        m = plan.last - plan.first
        B = math.isqrt(m) if self.batch_size is None else self.batch_size
        if self.batch_size is not None:
            declare_batch_size(self.batch_size, units.veil.ledger)
        T = m // B if B else 0
        return replace(units, plan=replace(plan, last=plan.first + T * B)).split(T) if T else ()

    def _halves(self, batch: Units) -> tuple[Units, Units]:
        """Return the units for the range finder and the units for the mean estimator."""
        if not self._finds_range:
            return batch, batch
        if self.halves == "disjoint":
            first, second = batch.split(2)
            return first, second
        assert isinstance(batch.plan, RangePlan), "batches are ranges of positions"
        half = (batch.plan.last - batch.plan.first) // 2
        first = replace(batch, plan=replace(batch.plan, last=batch.plan.first + half))
        return first, first

    def _buy_range(self, batch: Units, w: FloatArray, T: int) -> float | None:
        """Buy the top eigenvalue of the gradients' covariance; None is bottom."""
        if isinstance(self.range_finder, float | int):
            note = f"given as public: {self.range_finder!r}"
            batch.veil.ledger.declare("range", note=note, purpose=Purpose.BOUND)
            return float(self.range_finder)
        share = 2 / 3 if self._shares_units else 1.0
        return priv_range(
            batch.block(w),
            epsilon=share * batch.budget.epsilon_aside,
            delta=share * batch.budget.delta_aside,
            tau=self.tau / (2 * T),
            veil=batch.veil,
            C1=self.C1,
        )

    def _buy_mean(
        self, batch: Units, w: FloatArray, C: FloatArray, L: float, T: int
    ) -> tuple[float | None, FloatArray | None]:
        """Buy the mean gradient, and return the range that was used with it; both None at bottom."""
        if self.mean_estimator == "tracked":
            return _buy_clipped_mean(batch, w, C, radius=math.sqrt(batch.d * L / 2))
        share = 2 / 3 if self._shares_units else 2.0
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

    def _rates(self, T: int, ledger: Ledger) -> Sequence[float | None]:
        if self.learning_rates is not None:
            return declared_rates(self.learning_rates, T, ledger)
        schedule = HarmonicSchedule()
        return [schedule(t) if self.mean_estimator == "privmean" else None for t in range(1, T + 1)]


def _buy_clipped_mean(batch: Units, w: FloatArray, C: FloatArray, *, radius: float) -> tuple[float, FloatArray]:
    """Buy the mean gradient, clipped around C at a public radius."""
    population = batch.block(w)
    n_hat, mu = buy_count(batch, population, "ModifiedDP-PCA: units in the batch")
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
