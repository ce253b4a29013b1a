"""The clipped mean: find a radius around a public centre, clip, add noise, divide.

ClippedMean({a_i}, C, n_hat, rule, mu):
  1  R <- the radius rule: a noisy search, or a number that is public already
  2  S <- sum_i clip_R(a_i - C) + N(0, (sensitivity/mu)^2 I)
  3  return C + S / n_hat

Its noise shrinks with the spread of the units around a centre already public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.clipped_sum import noisy_clipped_sum, sum_noise
from eigenveil.mechanisms.noisy import NoisyMean
from eigenveil.mechanisms.radius import EDGES, radius_search
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


@dataclass(frozen=True)
class Found:
    """A public radius, the share of the units that was searched for, and the radius which that search found."""

    radius: float
    kept: float = math.nan
    seen: float = math.nan

    def find(self, search: Search) -> Found:  # noqa: ARG002
        """As a rule: the radius that was found before."""
        return self


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """What a radius is needed for.

    Parameters
    ----------
    population, centre, n_hat, veil
        As in `clipped_mean`.
    noise : float
        What the mean will have on an entry for every 1 of the radius.
    what, purpose : str, Purpose
        What the ledger calls the search, and what it is for.
    """

    population: Population
    centre: FloatArray
    n_hat: float
    noise: float
    veil: Veil
    what: str
    purpose: Purpose

    def at(self, quantile: float, *, mu: float, edges: FloatArray) -> float:
        """The radius that holds a share of the units, searched for with `mu`."""
        found = radius_search(
            self.population,
            centre=self.centre,
            target=quantile * self.n_hat,
            mu=mu,
            veil=self.veil,
            what=self.what,
            edges=edges,
            purpose=self.purpose,
        )
        return found.value


class RadiusRule(Protocol):
    """How a clipped mean comes by its radius."""

    def find(self, search: Search) -> Found:
        """A radius around the centre. What a rule learns of units it pays for through the veil."""


@dataclass(frozen=True)
class Given:
    """A radius that is public already: declared, or an earlier release, that was to hold `kept` of the units."""

    radius: float
    kept: float = math.nan

    def find(self, search: Search) -> Found:  # noqa: ARG002
        """The radius as it is, for free."""
        return Found(self.radius, self.kept, math.nan if math.isnan(self.kept) else self.radius)


@dataclass(frozen=True, kw_only=True, eq=False)
class AtQuantile:
    """The radius that holds a share of the units: the median by default, searched for with `mu`."""

    mu: float
    quantile: float = 0.5
    edges: FloatArray = field(default_factory=lambda: EDGES)

    def __post_init__(self) -> None:
        if not 0 < self.quantile <= 1:
            raise InvalidInputError(f"quantile must lie in (0, 1], got {self.quantile!r}.")

    def find(self, search: Search) -> Found:
        """One noisy search."""
        found = search.at(self.quantile, mu=self.mu, edges=self.edges)
        return Found(found, self.quantile, found)


def clipped_mean(
    population: Population,
    *,
    centre: FloatArray,
    n_hat: float,
    radius: RadiusRule,
    mu: float,
    veil: Veil,
    what: str = "clipped mean",
    what_sum: str | None = None,
    purpose: Purpose = Purpose.OTHER,
) -> NoisyMean:
    """The mean of the units' tensors, clipped around `centre`.

    Parameters
    ----------
    population : Population
        Units with a vector, a matrix or a symmetric matrix each.
    centre : array
        Public: 0, or an earlier release. The better it is, the less noise. Populations may read it in single
        precision, so an answer is exact around one that `to_single` leaves as it is.
    n_hat : float
        Public: a noisy count bought once for these units, or their number where it is public. Taken as 1
        if smaller.
    radius : RadiusRule
        `AtQuantile(mu=...)`, `Given(number)`, or a rule of your own.
    mu : float
        What the sum may cost; the rule says what the radius costs.
    what, what_sum : str
        What the ledger calls it: "<what>: radius" for a search, and `what_sum` for the sum, or "<what>: sum".
    purpose : Purpose
        What the ledger says they are for.

    Formal guarantees
    -----------------
    Both relations; sensitivities as in `radius_search` and `noisy_clipped_sum`. With `AtQuantile` the whole is
    sqrt(radius.mu^2 + mu^2)-GDP by composition, since the sum sees the radius only as a public number; with
    `Given` it is mu-GDP. Dividing by and adding public numbers is post-processing; so are `noise` and `offset`.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        the centre plus noise of an arbitrary radius
    one unit, n_hat below 1         n_hat is taken as 1
    all equal to the centre         the centre, with noise of order 2^-128
    zero radius                     no search finds it: the smallest edge is 2^-128; refused if given
    huge, nan, inf                  as in `radius_search` and `noisy_clipped_sum`
    ==============================  ==================================================================

    References
    ----------
    docs/privacy.md has the argument in one place.
    """
    n_hat = max(float(n_hat), 1.0)
    # 1
    per_radius = mean_noise(1.0, mu=mu, n_hat=n_hat, relation=veil.relation)
    search = Search(
        population=population,
        centre=centre,
        n_hat=n_hat,
        noise=per_radius,
        veil=veil,
        what=f"{what}: radius",
        purpose=purpose,
    )
    found = radius.find(search)
    # 2
    name = f"{what}: sum" if what_sum is None else what_sum
    total = noisy_clipped_sum(
        population, centre=centre, radius=found.radius, mu=mu, veil=veil, what=name, purpose=purpose
    )
    # 3
    residual, noise = total.value / n_hat, total.noise / n_hat
    size = population.shape[0] * (population.shape[0] + 1) // 2 if population.symmetric else residual.size
    with np.errstate(over="ignore"):
        signal = max(0.0, float(np.sum(residual**2)) - size * noise**2)
    return NoisyMean(
        value=centre + residual,
        noise=noise,
        radius=found.radius,
        kept=found.kept,
        seen=found.seen,
        offset=math.sqrt(signal) / found.radius,
    )


def mean_noise(radius: float, *, mu: float, n_hat: float, relation: Relation) -> float:
    """The noise that a clipped mean will have on an entry (`NoisyMean.noise`), before it is bought.

    Examples
    --------
    >>> mean_noise(3.0, mu=0.5, n_hat=100.0, relation=Relation.REPLACE)
    0.12
    """
    return sum_noise(radius, mu=mu, relation=relation) / n_hat
