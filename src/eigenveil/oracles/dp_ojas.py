"""DP-Ojas: Oja's algorithm on clipped, noised gradients.

DP-Ojas({A_i}; P, T, beta, eta):
  1  w <- P z/||P z||, z uniform on the sphere
  2  n_hat <- number of units: public under replace where units have fixed places, or a noisy count
  3  beta <- given as public, or the radius that holds half of the ||A_i w||, bought
  4  sigma <- noise that makes all T steps together as private as asked
  5  for t = 1..T:
  6     g <- (sum over the units of step t of clip_beta(A_i w) + N(0, sigma^2 I)) / (n_hat/T)
  7     w <- P (w + eta_t g), at length 1
  8  return w

Which units step t has: those of one of T disjoint parts ("disjoint", sigma = beta/mu), a fresh Poisson sample
of rate 1/T ("poisson", sigma by privacy loss distributions), or, as printed and not private, the t-th unit
alone (T = n_hat, sigma = 2 beta C' ln(n/delta)/(epsilon sqrt(n))).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Literal

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.kernels.fixed_point import clip_to_grid, padded_width, squared_norms
from eigenveil.mechanisms import Grant, noisy_count, radius_search
from eigenveil.mechanisms.exact_noise import gaussian_integers
from eigenveil.mechanisms.sampled_noise import sampled_noise
from eigenveil.mechanisms.veil import check_sensitivity, grid_exponent
from eigenveil.oracles.steps import Answer, Rates, rate_at, step
from eigenveil.privacy import Purpose, split_mu
from eigenveil.privacy.gaussian import check_delta, check_epsilon
from eigenveil.privacy.poisson import poisson_noise_multiplier
from eigenveil.schedules import HarmonicSchedule
from eigenveil.units import Units

_COUNT_SHARE, _CLIP_SHARE = 0.01, 0.09
MOST_STEPS = 30
_BOUGHT_RATE = 10.0
Sum = Callable[[FloatArray, int], IntArray]
"""The clipped sum of one step at w, in whole steps of 2^exponent."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """The noise as printed, which no proof covers: epsilon, delta and the constant C' of its formula."""

    epsilon: float
    delta: float
    C: float = 1.0

    def multiplier(self, n: int) -> float:
        """2 alpha: the standard deviation of the noise over beta.

        Examples
        --------
        >>> round(Printed(epsilon=1.0, delta=1e-6).multiplier(10_000), 3)
        0.461
        """
        check_epsilon(self.epsilon), check_delta(self.delta)
        return 2 * self.C * math.log(n / self.delta) / (self.epsilon * math.sqrt(n))


@dataclass(frozen=True, kw_only=True)
class DPOjas:
    """Oja's algorithm with valid noise; a stochastic ePCA oracle.

    Parameters
    ----------
    clip : float, optional
        beta, public: gradients are shortened to this norm. Bought from the budget if left out.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, ..., on mean gradients. If left out: the paper's 1/(1 + t) where `clip` is given, and
        10/(beta (1 + t)) where it is bought.
    sampling : {"disjoint", "poisson"}
        Which units a step has.
    steps : int, optional
        T. If left out: as many disjoint parts as leave the noise of a step below half of a clipped gradient, at
        most 30; or n_hat Poisson rounds.
    printed : Printed, optional
        Run as printed, without a valid guarantee: marks the ledger "not private".

    Formal guarantees
    -----------------
    *Disjoint:* a unit is in one part (by its own coin, or its place under replace), so the T sums, one after
    the other, are one Gaussian release of sensitivity beta (add-remove) or 2 beta (replace): all of mu goes
    into it, without amplification and for any T. *Poisson:* dp-accounting's privacy loss distributions for T
    rounds of rate 1/T, fixed before the first; paid from what the budget has set aside. Count and clip are
    Gaussian releases before that.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        noise: some direction in Im(P)
    one unit, all equal             nothing special
    huge                            clipped
    nan, inf, norm overflows        such a unit adds 0
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    The printed noise multiplier is proven only for epsilon = O(sqrt(ln(n/delta)/n)), and at the experiments'
    epsilon = 1 it is too small; it runs only as `printed`. Steps may have more than one unit, and then use
    their mean. beta, which the paper takes from the unknown distribution, is public or bought. n in the printed
    formula is the number of units at hand.

    References
    ----------
    The paper, labels algo-dp-ojas and thm-utility-dp-ojas; Liu, Kong & Oh 2022, arXiv 2111.06578.
    """

    clip: float | None = None
    learning_rates: Rates | None = None
    sampling: Literal["disjoint", "poisson"] = "disjoint"
    steps: int | None = None
    printed: Printed | None = None

    def __post_init__(self) -> None:
        if self.sampling not in ("disjoint", "poisson"):
            raise InvalidInputError(f"sampling must be 'disjoint' or 'poisson', got {self.sampling!r}.")
        if self.clip is not None:
            check_sensitivity(self.clip)
        if self.steps is not None and not (isinstance(self.steps, int) and self.steps >= 1):
            raise InvalidInputError(f"steps must be a whole number of at least 1, got {self.steps!r}.")
        if self.printed is not None and (self.clip is None or self.steps is not None):
            raise InvalidInputError(
                "the printed form needs a public clip, and has as many steps as there are units."
            )

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """What of (epsilon, delta) the budget has to set aside for Poisson steps; the rest buys count and clip."""
        share = 0.9 if self.sampling == "poisson" else 0.0
        return share * epsilon, share * delta

    def __call__(self, units: Units) -> Answer:
        """The top direction of the units, as privately as their budget says."""
        mu_count, mu_clip, mu_sums = self._shares(units)
        # 1
        w = units.random_start(1)
        # 2
        n_hat = self._count(units, w, mu_count)
        # 3
        beta = self._beta(units, w, n_hat, mu_clip)
        # 4
        T = self._steps(units, n_hat, mu_sums)
        grant, sums = self._noise_and_sums(units, T, beta, mu_sums)
        size = 1.0 if self.printed is not None else n_hat / T
        rates = self._rates(beta)
        # 5
        for t, total in enumerate(sums, start=1):
            # 6
            g = grant.release(total(w, grant.exponent)) / size
            # 7
            w = step(units, w, g, rate_at(rates, t))
        # 8
        noise = grant.scale / beta
        return Answer(w[:, 0], {"steps": T, "clip": beta, "units_per_step": size, "noise_over_clip": noise})

    def _shares(self, units: Units) -> tuple[float, float, float]:
        """Shares of mu for the count, the clip and the sums."""
        count = 0.0 if units.number_is_public else _COUNT_SHARE
        clip = 0.0 if self.clip is not None else _CLIP_SHARE
        sums = 0.0 if self.sampling == "poisson" else 1 - count - clip
        if self.printed is not None or not count + clip + sums:
            return 0.0, 0.0, 0.0
        mu_count, mu_clip, mu_sums = split_mu(units.budget.mu, [count, clip, sums])
        return mu_count, mu_clip, mu_sums

    def _count(self, units: Units, w: FloatArray, mu: float) -> float:
        population = units.block(w)
        if self.printed is not None:
            return float(population.slots())
        counted = noisy_count(population, mu=mu, veil=units.veil, what="DP-Ojas: number of units")
        return max(1.0, counted.value)

    def _beta(self, units: Units, w: FloatArray, n_hat: float, mu: float) -> float:
        if self.clip is not None:
            units.veil.ledger.declare(
                "DP-Ojas: clip", note=f"given as public: {self.clip!r}", purpose=Purpose.BOUND
            )
            return float(self.clip)
        return radius_search(
            units.block(w),
            centre=np.zeros(w.shape),
            target=n_hat / 2,
            mu=mu,
            veil=units.veil,
            what="DP-Ojas: clip",
            purpose=Purpose.BOUND,
        ).value

    def _steps(self, units: Units, n_hat: float, mu: float) -> int:
        if self.steps is not None:
            return self.steps
        if self.printed is not None or self.sampling == "poisson":
            return max(1, round(n_hat))
        quiet = 2 * math.sqrt(units.d) / mu  # units in a step whose noise is half of their clipped sum
        return min(MOST_STEPS, max(1, int(n_hat / quiet)))

    def _rates(self, beta: float) -> Rates:
        if self.learning_rates is not None:
            return self.learning_rates
        if self.clip is not None:
            return HarmonicSchedule()
        return lambda t: _BOUGHT_RATE / (beta * (1 + t))

    def _noise_and_sums(self, units: Units, T: int, beta: float, mu: float) -> tuple[Grant, Iterator[Sum]]:
        """The grant that all steps draw from, and the steps."""
        draws = T * units.d
        if self.printed is not None:
            return _printed_grant(units, self.printed, T, beta), _one_by_one(units, beta)
        if self.sampling == "poisson":
            grant = _poisson_grant(units, T, beta)
            return grant, (_sum_of(sample, beta) for sample in islice(units.sampled(1 / T), T))
        grant = units.veil.gaussian(
            "DP-Ojas",
            mu=mu,
            sensitivity=units.veil.relation.distance_between_sums(beta),
            draws=draws,
            note=f"{T} steps over disjoint parts: each unit is in one",
            purpose=Purpose.COMPONENTS,
        )
        return grant, (_sum_of(part, beta) for part in units.batches(T))


def _sum_of(units: Units, beta: float) -> Sum:
    local = isinstance(units.engine, LocalEngine)
    few = replace(units, engine=LocalEngine(threads=1)) if local else units  # threads cost more than a small sum
    return lambda w, exponent: few.block(w).clipped_sum(np.zeros(w.shape), beta, exponent)


def _one_by_one(units: Units, beta: float) -> Iterator[Sum]:
    def of_one(A: Callable[[FloatArray], FloatArray]) -> Sum:
        return lambda w, exponent: _clipped(A(w), beta, exponent)

    return map(of_one, units.singly())


def _clipped(g: FloatArray, beta: float, exponent: int) -> IntArray:
    """One gradient at norm beta at most, in whole grid steps: what a population does, without its large blocks."""
    row = np.zeros((1, padded_width(g.size)))
    row[0, : g.size] = g.ravel()
    steps = clip_to_grid(row, squared_norms(row), size=g.size, radius=beta, exponent=exponent)
    whole: IntArray = steps[0, : g.size].astype(np.int64).reshape(g.shape)
    return whole


def _poisson_grant(units: Units, T: int, beta: float) -> Grant:
    epsilon, delta = units.budget.epsilon_aside, units.budget.delta_aside
    if not (epsilon > 0 and delta > 0):
        raise InvalidInputError(
            "Poisson steps are paid from what the budget has set aside, and nothing is.",
            hint="Set epsilon_aside and delta_aside, or use sampling='disjoint'.",
        )
    rate = 1 / T
    multiplier = poisson_noise_multiplier(
        rate=rate, rounds=T, epsilon=epsilon, delta=delta, relation=units.veil.relation
    )
    return sampled_noise(
        units.veil,
        "DP-Ojas",
        rate=rate,
        rounds=T,
        noise_multiplier=multiplier,
        delta=delta,
        radius=beta,
        draws=T * units.d,
        purpose=Purpose.COMPONENTS,
    )


def _printed_grant(units: Units, printed: Printed, n: int, beta: float) -> Grant:
    reason = "DP-Ojas with the printed noise, which no proof covers at this epsilon"
    units.veil.ledger.mark_not_private(reason)
    scale = printed.multiplier(n) * beta
    note = f"not private; noise {scale:.4g}, {n} steps"
    units.veil.ledger.declare("DP-Ojas as printed", note=note, purpose=Purpose.COMPONENTS)
    exponent = grid_exponent(scale, sensitivity=beta, size=n * units.d)
    return Grant(units.veil, gaussian_integers, Fraction(scale), exponent, n * units.d)
