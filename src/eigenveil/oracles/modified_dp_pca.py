"""ModifiedDP-PCA: Oja's algorithm whose gradient is a private mean that adapts to the spread of the gradients.

ModifiedDP-PCA({A_i}; P, eta, B, tau; range finder, mean estimator):
  1  w <- P z/||P z||, z uniform on the sphere; C <- 0
  2  for t = 1..T, on the next disjoint batch {A_i}, with gradients g_i = P A_i P w:
  3     L <- range finder({g_i})                        # PrivRange, a number fixed in advance, or a radius search
  4     g <- mean estimator({g_i}, L, tau/(2T))         # PrivMean, or the tracked mean around C
  5     L or g is bottom: w stays, the step is counted
  6     w' <- P (w + eta_t g) (or P g where no rates are given), at length 1
  7     C <- the best public guess of the mean gradient at w', from all pairs (w, g) so far; w <- w'
  8  return w
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines import RangePlan
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import to_single
from eigenveil.mechanisms import AtQuantile, Given, clipped_mean, noisy_count
from eigenveil.mechanisms.gradients import check_tau, need_fixed_places
from eigenveil.mechanisms.priv_mean import priv_mean
from eigenveil.mechanisms.priv_range import priv_range
from eigenveil.mechanisms.radius import count_noise
from eigenveil.mechanisms.veil import check_sensitivity
from eigenveil.oracles.steps import Answer, Rates, rate_at, step
from eigenveil.privacy import Purpose, split_mu
from eigenveil.schedules import HarmonicSchedule
from eigenveil.units import Units

MeanEstimator = Literal["tracked", "privmean"]
RangeFinder = Literal["tracked", "privrange"] | float

_COUNT_SHARE, _RADIUS_SHARE = 0.02, 0.06
_QUIET = 7.0
"""How many times the noise of a count a batch has to be, so that the radius search is not lost."""
MOST_ROUNDS = 8
_ERROR = 0.05
"""Errors of a private gradient over its radius: about sqrt(d)/(mu n), near 1/20 where rounds are worth having."""


@dataclass(frozen=True, kw_only=True)
class ModifiedDPPCA:
    """The paper's adaptive oracle, with the mean estimator and the range finder as parameters.

    Parameters
    ----------
    mean_estimator : {"tracked", "privmean"}
        The tracked mean (practical, both relations), or the paper's PrivMean (literal, replace only).
    range_finder : {"tracked", "privrange"} or float
        The tracked mean's own radius search, the paper's PrivRange, or a threshold fixed in advance: a radius
        for the tracked mean, a top eigenvalue for PrivMean.
    batch_size : int, optional
        B. If left out: floor(sqrt(m)) for PrivMean, as in the paper's experiments; for the tracked mean up to 8
        rounds, of which the last has half of the units, and fewer where n_hat says that a radius search would
        drown.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... If left out: 1/(1 + t) for PrivMean, power steps for the tracked mean.
    tau : float
        The probability with which a clip may fail (the paper's zeta = 0.01).
    K, a, C1 : float
        Constants of PrivMean and PrivRange.
    halves : {"shared", "disjoint"}
        Literal: range finder and PrivMean both get the first half of a batch, at half the cost each; or a half
        each.

    Formal guarantees
    -----------------
    Batches are disjoint, so the whole costs what one batch costs. *Tracked:* mu-GDP under both relations: a
    count, a radius, a sum. *PrivRange and PrivMean:* replace only; with (epsilon, delta) the total that `aside`
    was asked with, PrivRange costs (epsilon/2, delta/2) and PrivMean the same ("shared"; they meet the same
    units), or PrivMean costs (epsilon, delta) on units of its own ("disjoint").

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        noise (tracked), or the random start (bottom every time)
    fewer units than B              the random start: there is no batch
    bottom                          the iterate stays; counted in diagnostics
    nan, inf, norm overflows        as in the mechanisms
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    None in the literal form but those of PrivRange and PrivMean, and that bottom is handled. With disjoint
    halves PrivRange gets (epsilon/2, delta/2), not the full (epsilon, delta) its own units would allow: the
    ledger bounds Gaussian and other losses apart. The tracked form is ours: one radius search instead of D
    histograms, so that it learns from hundreds of units and not only from tens of thousands. PrivMean cannot be
    had with the radius search: it needs the top eigenvalue, and a radius tells the sum of all.

    References
    ----------
    The paper, label modified-dp-pca; Liu, Kong, Jain & Oh 2022, arXiv 2205.13709, algorithm 3.
    """

    mean_estimator: MeanEstimator = "tracked"
    range_finder: RangeFinder = "tracked"
    batch_size: int | None = None
    learning_rates: Rates | None = None
    tau: float = 0.01
    K: float = 1.0
    a: float = 1.0
    C1: float = 1.0
    halves: Literal["shared", "disjoint"] = "shared"

    def __post_init__(self) -> None:
        check_tau(self.tau)
        for name, value, known in (
            ("mean_estimator", self.mean_estimator, ("tracked", "privmean")),
            ("halves", self.halves, ("shared", "disjoint")),
        ):
            if value not in known:
                raise InvalidInputError(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}.")
        self._check_range_finder()
        if self.batch_size is not None and not (isinstance(self.batch_size, int) and self.batch_size >= 1):
            raise InvalidInputError(f"batch_size must be a whole number of at least 1, got {self.batch_size!r}.")

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """What of (epsilon, delta) the budget has to set aside for histograms; the rest is for Gaussian noise."""
        if self.mean_estimator == "tracked":
            share = 0.5 if self.range_finder == "privrange" else 0.0
        else:
            share = 0.75 if self._both_meet_the_same_units else 0.5
        return share * epsilon, share * delta

    def __call__(self, units: Units) -> Answer:
        """The top direction of the units, as privately as their budget says."""
        if self.literal:
            name = "PrivMean" if self.mean_estimator == "privmean" else "PrivRange"
            need_fixed_places(units.veil, name, fixed_places=units.operator.fixed_places)
        # 1
        w = units.random_start(1)
        C = np.zeros(w.shape)
        past: list[Past] = []
        ranges: list[float | None] = []
        # 2
        batches = self._batches(units, w)
        for t, batch in enumerate(batches, start=1):
            # 3, 4
            found, g = self._mean(batch, w, C, len(batches))
            ranges.append(found)
            # 5
            if found is None or g is None:
                continue
            # 6
            moved = step(units, w, g, self._rate(t))
            # 7
            past.append(Past(w[:, 0], g[:, 0], found))
            C, w = guess(past, moved[:, 0])[:, None], moved
        # 8
        still = sum(found is None for found in ranges)
        return Answer(w[:, 0], {"rounds": len(batches), "stood_still": still, "ranges": tuple(ranges)})

    # -- batches ---------------------------------------------------------------------------------

    @property
    def literal(self) -> bool:
        """Whether one of the paper's own primitives is used, which work on places."""
        return self.mean_estimator == "privmean" or self.range_finder == "privrange"

    @property
    def _both_meet_the_same_units(self) -> bool:
        printed = self.mean_estimator == "privmean" and self.range_finder == "privrange"
        return printed and self.halves == "shared"

    def _batches(self, units: Units, w: FloatArray) -> Sequence[Units]:
        """Disjoint batches, each with a budget of its own."""
        if self.literal:
            return self._batches_of_places(units)
        whole, rest = _after_count(units, w)
        if self.batch_size is not None:
            return rest.split(max(1, round(whole / self.batch_size)))
        rounds = rounds_for(whole, mu=rest.budget.mu)
        if rounds == 1:
            return (rest,)
        early, last = rest.split(2)
        return (*early.split(rounds - 1), last)

    def _batches_of_places(self, units: Units) -> Sequence[Units]:
        """T = floor(m/B) batches of B units, by place."""
        plan = units.plan if isinstance(units.plan, RangePlan) else units.by_position().plan
        assert isinstance(plan, RangePlan), "by_position makes one"
        m = plan.last - plan.first
        B = math.isqrt(m) if self.batch_size is None else self.batch_size
        T = m // B if B else 0
        return replace(units, plan=replace(plan, last=plan.first + T * B)).split(T) if T else ()

    def _rate(self, t: int) -> float | None:
        if self.learning_rates is not None:
            return rate_at(self.learning_rates, t)
        return rate_at(HarmonicSchedule(), t) if self.mean_estimator == "privmean" else None

    # -- one round -------------------------------------------------------------------------------

    def _mean(self, batch: Units, w: FloatArray, C: FloatArray, T: int) -> tuple[float | None, FloatArray | None]:
        """The range (None: bottom) and the mean (None: bottom) of one batch."""
        if not self.literal:
            return self._tracked(batch, w, C)
        for_range, for_mean = self._halves(batch)
        L = self._range(for_range, w, T)
        if L is None:
            return None, None
        if self.mean_estimator == "tracked":
            return self._clipped(for_mean, w, C, radius=math.sqrt(batch.d * L / 2))
        share = 2 / 3 if self._both_meet_the_same_units else 2.0
        g = priv_mean(
            for_mean.block(w),
            top_eigenvalue=L,
            epsilon=share * batch.budget.epsilon_aside,
            delta=share * batch.budget.delta_aside,
            tau=self.tau / (2 * T),
            veil=for_mean.veil,
            K=self.K,
            a=self.a,
        )
        return (None if g is None else L), g

    def _range(self, batch: Units, w: FloatArray, T: int) -> float | None:
        if isinstance(self.range_finder, float | int):
            batch.veil.ledger.declare(
                "range", note=f"given as public: {self.range_finder!r}", purpose=Purpose.BOUND
            )
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

    def _halves(self, batch: Units) -> tuple[Units, Units]:
        """The units for the range finder and those for the mean estimator."""
        if self.range_finder != "privrange":
            return batch, batch
        if self.halves == "disjoint":
            first, second = batch.split(2)
            return first, second
        assert isinstance(batch.plan, RangePlan), "literal batches are ranges of places"
        half = (batch.plan.last - batch.plan.first) // 2
        first = replace(batch, plan=replace(batch.plan, last=batch.plan.first + half))
        return first, first

    def _tracked(self, batch: Units, w: FloatArray, C: FloatArray) -> tuple[float | None, FloatArray | None]:
        if self.range_finder != "tracked":
            return self._clipped(batch, w, C, radius=float(self.range_finder))
        population = batch.block(w)
        n_hat, mu_rest = _count(batch, population, "ModifiedDP-PCA: units in the batch")
        mu_radius, mu_sum = split_mu(mu_rest, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
        rule = AtQuantile(mu=mu_radius)
        mean = clipped_mean(
            population,
            centre=to_single(C),
            n_hat=n_hat,
            radius=rule,
            mu=mu_sum,
            veil=batch.veil,
            what="ModifiedDP-PCA",
            purpose=Purpose.COMPONENTS,
        )
        return mean.radius, mean.value

    @staticmethod
    def _clipped(batch: Units, w: FloatArray, C: FloatArray, *, radius: float) -> tuple[float, FloatArray]:
        """The tracked mean at a radius already known."""
        population = batch.block(w)
        n_hat, mu_sum = _count(batch, population, "ModifiedDP-PCA: units in the batch")
        rule = Given(radius)
        mean = clipped_mean(
            population,
            centre=C,
            n_hat=n_hat,
            radius=rule,
            mu=mu_sum,
            veil=batch.veil,
            what="ModifiedDP-PCA",
            purpose=Purpose.COMPONENTS,
        )
        return radius, mean.value

    def _check_range_finder(self) -> None:
        finder = self.range_finder
        if isinstance(finder, float | int) and not isinstance(finder, bool):
            check_sensitivity(finder)
        elif finder not in ("tracked", "privrange"):
            raise InvalidInputError(
                f"range_finder must be 'tracked', 'privrange' or a number fixed in advance, got {finder!r}."
            )
        elif finder == "tracked" and self.mean_estimator == "privmean":
            raise InvalidInputError(
                "PrivMean needs the top eigenvalue of the gradients' spread; a radius tells the sum of all.",
                hint="Use range_finder='privrange', or give the top eigenvalue as a number.",
            )


@dataclass(frozen=True)
class Past:
    """A direction, the private mean gradient there, and how wrong that may be, up to a factor."""

    w: FloatArray
    g: FloatArray
    error: float


def guess(past: Sequence[Past], w: FloatArray) -> FloatArray:
    """What the mean gradient at w should be: a combination of the private gradients at earlier directions.

    Gradients are linear in the direction, so c with w = sum c_j w_j gives sum c_j g_j. What the w_j do not
    reach counts with the size of the gradients, and what the g_j get wrong with their errors; c makes the sum
    of squares least.

    Examples
    --------
    >>> one, two = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    >>> A = np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> guess([Past(one, A @ one, 1e-9), Past(two, A @ two, 1e-9)], np.array([0.0, 1.0])).round(6)
    array([1., 2.])
    """
    W = np.stack([one.w for one in past], axis=1)
    size = max(float(np.linalg.norm(past[-1].g)), 1e-300)
    penalty = np.diag([_ERROR * one.error / size for one in past])
    system = np.concatenate([W, penalty])
    c = np.linalg.lstsq(system, np.concatenate([w, np.zeros(len(past))]), rcond=None)[0]
    combined: FloatArray = np.stack([one.g for one in past], axis=1) @ c
    return combined if np.all(np.isfinite(combined)) else np.zeros_like(w)


def rounds_for(n_hat: float, *, mu: float) -> int:
    """How many rounds the units are enough for, so that the radius search of each early batch is quiet.

    Examples
    --------
    >>> [rounds_for(n, mu=0.5) for n in (100, 1000, 5000, 100_000)]
    [1, 3, 8, 8]
    """
    noise = count_noise(mu * math.sqrt(_RADIUS_SHARE))
    return 1 + min(MOST_ROUNDS - 1, max(0, int(n_hat / 2 / (_QUIET * noise))))


def _after_count(units: Units, w: FloatArray) -> tuple[float, Units]:
    """The number of units, for a small share, and the units with the rest of the budget."""
    n_hat, mu_rest = _count(units, units.block(w), "ModifiedDP-PCA: number of units")
    return n_hat, replace(units, budget=replace(units.budget, mu=mu_rest))


def _count(units: Units, population: Population, what: str) -> tuple[float, float]:
    """The number of units, and what is left of mu; it costs nothing where it is public."""
    share = 0.0 if units.number_is_public else _COUNT_SHARE
    mu_count, mu_rest = split_mu(units.budget.mu, [share, 1 - share])
    return noisy_count(population, mu=mu_count, veil=units.veil, what=what).value, mu_rest
