"""DP-Ojas: Oja's algorithm on clipped gradients with noise.

DP-Ojas({A_i}; P, T, beta, eta):
  1  w <- P z/||P z||, z uniform on the sphere
  2  n_hat <- number of units: public under replace if units have fixed positions, else a noisy count
  3  beta <- declared public, or a bought median of the ||A_i w||
  4  sigma <- noise for which all T steps together stay within the budget
  5  for t = 1..T:
  6     g <- (sum over the units of step t of clip_beta(A_i w) + N(0, sigma^2 I)) / (n_hat/T)
  7     w <- P (w + eta_t g), normalised to length 1
  8  return w

The units of step t are one of T disjoint parts ("disjoint", sigma = beta/mu), a fresh Poisson sample of rate 1/T
("poisson", sigma by privacy loss distributions), or, as printed and not private, the t-th unit alone (T = n_hat,
sigma = 2 beta C' ln(n/delta)/(epsilon sqrt(n))).
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
from eigenveil.algorithms.oracles.steps import OracleAnswer, Rates, check_rates, declared_rates, step
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.kernels.fixed_point import clip_to_grid, padded_width, squared_norms
from eigenveil.mechanisms import Grant, noisy_count, radius_search
from eigenveil.mechanisms.noise.exact_noise import gaussian_integers
from eigenveil.mechanisms.noise.sampled_noise import sampled_noise
from eigenveil.mechanisms.noise.veil import check_sensitivity, grid_exponent
from eigenveil.privacy import Ledger, Purpose, split_mu
from eigenveil.privacy.gaussian import check_delta, check_epsilon
from eigenveil.privacy.poisson import poisson_noise_multiplier
from eigenveil.schedules import HarmonicSchedule
from eigenveil.units import Units

_COUNT_SHARE, _CLIP_SHARE = 0.01, 0.09
MOST_STEPS = 30
_BOUGHT_RATE = 10.0
Sum = Callable[[FloatArray, int], IntArray]
"""Clipped sum of one step at w, as integer multiples of 2^exponent."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """Printed noise, which no proof covers, with epsilon, delta and the constant C' of its formula."""

    epsilon: float
    delta: float
    C: float = 1.0

    def multiplier(self, n: int) -> float:
        """Return 2 alpha, the standard deviation of the noise divided by beta.

        Examples
        --------
        >>> round(Printed(epsilon=1.0, delta=1e-6).multiplier(10_000), 3)
        0.461
        """
        check_epsilon(self.epsilon), check_delta(self.delta)
        return 2 * self.C * math.log(n / self.delta) / (self.epsilon * math.sqrt(n))


@dataclass(frozen=True, kw_only=True)
class DPOjas:
    """Oja's algorithm with valid noise, as a stochastic ePCA oracle.

    Parameters
    ----------
    clip : float, optional
        beta, the public norm at which gradients are clipped. By default it is bought.
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, ..., for mean gradients. By default the paper's 1/(1 + t) if `clip` is given, and
        10/(beta (1 + t)) if it is bought.
    sampling : {"disjoint", "poisson"}
        Whether the units of a step are a disjoint part or a Poisson sample.
    steps : int, optional
        T, the number of steps. By default as many disjoint parts as keep the noise of a step below half of a
        clipped gradient, at most 30; or n_hat Poisson rounds.
    printed : Printed, optional
        Run as printed, without a valid guarantee. The ledger is marked "not private".

    Formal guarantees
    -----------------
    *Disjoint:* a unit is in one part (by its own coin, or by its position under replace). So the T sums in
    sequence are one Gaussian release of sensitivity beta (add-remove) or 2 beta (replace). All of the remaining mu
    goes into it, without amplification and for any T. *Poisson:* dp-accounting's privacy loss distributions for T
    rounds of rate 1/T, which are fixed before the first round. They are paid from the part of the budget that is
    set aside. Count and clip are Gaussian releases before that.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        noise: a random direction in Im(P)
    one unit, all equal             no special case
    huge                            clipped
    nan, inf, norm overflows        such a unit adds 0
    ==============================  ==================================================================

    Deviations from the paper
    -------------------------
    The printed noise multiplier is proven only for epsilon = O(sqrt(ln(n/delta)/n)). At the experiments'
    epsilon = 1 it is too small, so it runs only with `printed`. A step may have more than one unit, and then uses
    their mean. beta, which the paper takes from the unknown distribution, is public or bought. n in the printed
    formula is the number of units that the oracle receives.

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
        check_rates(self.learning_rates)
        if self.printed is not None and (self.clip is None or self.steps is not None):
            raise InvalidInputError(
                f"the printed form needs a public clip and no steps, got {self.clip!r} and {self.steps!r}.",
                hint="It makes one step per unit. Pass clip, and leave steps out.",
            )

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the part of (epsilon, delta) to set aside for Poisson steps. The rest buys count and clip."""
        share = 0.9 if self.sampling == "poisson" else 0.0
        return share * epsilon, share * delta

    def __call__(self, units: Units) -> OracleAnswer:
        """Return the top component of the units, with all of their budget."""
        mu_count, mu_clip, mu_sums = self._shares(units)
        # 1
        w = units.random_start(1)
        # 2
        n_hat = self._buy_count(units, w, mu_count)
        # 3
        beta = self._buy_beta(units, w, n_hat, mu_clip)
        # 4
        T = self._steps(units, n_hat, mu_sums)
        rates = self._rates(beta, T, units.veil.ledger)
        grant, sums = self._buy_noise(units, T, beta, mu_sums)
        size = 1.0 if self.printed is not None else n_hat / T
        # 5
        for eta, total in zip(rates, sums, strict=False):  # the printed form may have no unit
            # 6
            g = grant.release(total(w, grant.exponent)) / size
            # 7
            w = step(units, w, g, eta)
        # 8
        noise = grant.scale / beta
        return OracleAnswer(w[:, 0], {"steps": T, "clip": beta, "units_per_step": size, "noise_over_clip": noise})

    def _shares(self, units: Units) -> tuple[float, float, float]:
        """Return the mu of the count, of the clip and of the sums."""
        count = 0.0 if units.number_is_public else _COUNT_SHARE
        clip = 0.0 if self.clip is not None else _CLIP_SHARE
        sums = 0.0 if self.sampling == "poisson" else 1 - count - clip
        if self.printed is not None or not count + clip + sums:
            return 0.0, 0.0, 0.0
        mu_count, mu_clip, mu_sums = split_mu(units.budget.mu, [count, clip, sums])
        return mu_count, mu_clip, mu_sums

    def _buy_count(self, units: Units, w: FloatArray, mu: float) -> float:
        population = units.block(w)
        if self.printed is not None:
            return float(population.slots())
        counted = noisy_count(population, mu=mu, veil=units.veil, what="DP-Ojas: number of units")
        return max(1.0, counted.value)

    def _buy_beta(self, units: Units, w: FloatArray, n_hat: float, mu: float) -> float:
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
            note = f"given as public: {self.steps}"
            units.veil.ledger.declare("DP-Ojas: steps", note=note, purpose=Purpose.COMPONENTS)
            return self.steps
        if self.printed is not None or self.sampling == "poisson":
            return max(1, round(n_hat))
        quiet = 2 * math.sqrt(units.d) / mu  # units for which the noise is half of their clipped sum
        return min(MOST_STEPS, max(1, int(n_hat / quiet)))

    def _rates(self, beta: float, T: int, ledger: Ledger) -> list[float]:
        """Return the rates of all steps, before the steps are paid for: a rate may be bad."""
        if self.learning_rates is not None:
            return declared_rates(self.learning_rates, T, ledger)
        if self.clip is not None:
            return [HarmonicSchedule()(t) for t in range(1, T + 1)]
        return [_BOUGHT_RATE / (beta * (1 + t)) for t in range(1, T + 1)]

    def _buy_noise(self, units: Units, T: int, beta: float, mu: float) -> tuple[Grant, Iterator[Sum]]:
        """Charge for all steps. Return the grant that they draw from, and their sums."""
        draws = T * units.d
        if self.printed is not None:
            return _printed_grant(units, self.printed, T, beta), _one_by_one(units, beta)
        if self.sampling == "poisson":
            grant = _buy_poisson_grant(units, T, beta)
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
    few = replace(units, engine=LocalEngine(threads=1)) if local else units  # threads slow down small sums
    return lambda w, exponent: few.block(w).clipped_sum(np.zeros(w.shape), beta, exponent)


def _one_by_one(units: Units, beta: float) -> Iterator[Sum]:
    def of_one(A: Callable[[FloatArray], FloatArray]) -> Sum:
        return lambda w, exponent: _clip_gradient(A(w), beta, exponent)

    return map(of_one, units.singly())


def _clip_gradient(g: FloatArray, beta: float, exponent: int) -> IntArray:
    """Return a gradient clipped to norm beta, in grid steps, as a population does but without its large blocks."""
    row = np.zeros((1, padded_width(g.size)))
    row[0, : g.size] = g.ravel()
    steps = clip_to_grid(row, squared_norms(row), size=g.size, radius=beta, exponent=exponent)
    whole: IntArray = steps[0, : g.size].astype(np.int64).reshape(g.shape)
    return whole


def _buy_poisson_grant(units: Units, T: int, beta: float) -> Grant:
    epsilon, delta = units.budget.epsilon_aside, units.budget.delta_aside
    if not (epsilon > 0 and delta > 0):
        raise InvalidInputError(
            "Poisson steps are paid from the part of the budget that is set aside, but nothing is set aside.",
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
