"""The clipped mean: find a radius around a public centre, clip, sum, add noise, divide.

ClippedMean({a_i}, C, n_hat, rule, mu):
  1  R <- radius from the radius rule: a noisy search, or a number that is already public
  2  S <- sum_i clip_R(a_i - C) + N(0, (sensitivity/mu)^2 I)
  3  return C + S / n_hat

The closer the units lie to the public centre, the smaller the noise.
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
from eigenveil.mechanisms.noise.noisy import NoisyMean
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.mechanisms.radius import EDGES, radius_search
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


@dataclass(frozen=True)
class Found:
    """A public radius (`radius`), the share of units searched for (`kept`), and the radius found (`seen`)."""

    radius: float
    kept: float = math.nan
    seen: float = math.nan

    def find(self, search: Search) -> Found:  # noqa: ARG002
        """Return the radius that was found before; this makes the result of one rule a rule for the next mean."""
        return self


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """The setting of a radius search, passed to a `RadiusRule`.

    Parameters
    ----------
    population, centre, n_hat, veil
        As in `clipped_mean`.
    noise : float
        Standard deviation of the noise on an entry of the mean, if the radius is 1. It is proportional to the
        radius.
    what, purpose : str, Purpose
        Label and purpose of the search in the ledger.
    """

    population: Population
    centre: FloatArray
    n_hat: float
    noise: float
    veil: Veil
    what: str
    purpose: Purpose

    def at(self, quantile: float, *, mu: float, edges: FloatArray) -> float:
        """Buy, at cost `mu`, the radius that contains the share `quantile` of the units."""
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
    """A rule that chooses the clipping radius of a clipped mean."""

    def find(self, search: Search) -> Found:
        """Return a radius around the centre. A rule pays through the veil for everything it learns about units."""


@dataclass(frozen=True)
class Given:
    """A radius that is already public: declared, or released earlier to contain the share `kept` of the units."""

    radius: float
    kept: float = math.nan

    def find(self, search: Search) -> Found:  # noqa: ARG002
        """Return the given radius, at no cost."""
        return Found(self.radius, self.kept, math.nan if math.isnan(self.kept) else self.radius)


@dataclass(frozen=True, kw_only=True, eq=False)
class AtQuantile:
    """The radius that contains the share `quantile` of the units (by default the median), found at cost `mu`."""

    mu: float
    quantile: float = 0.5
    edges: FloatArray = field(default_factory=lambda: EDGES)

    def __post_init__(self) -> None:
        if not 0 < self.quantile <= 1:
            raise InvalidInputError(f"quantile must lie in (0, 1], got {self.quantile!r}.")

    def find(self, search: Search) -> Found:
        """Buy the radius by one noisy search."""
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
    """Release the mean of the tensors of units, clipped around `centre`.

    Parameters
    ----------
    population : Population
        Units with a vector, a matrix or a symmetric matrix each.
    centre : array
        Public centre: 0, or an earlier release. The closer it is to the units, the less noise is needed.
        Populations may read the centre in single precision, so the result is exact around a centre that
        `to_single` does not change.
    n_hat : float
        Public number of units: a noisy count bought once for these units, or their exact number if it is public.
        Values below 1 are replaced by 1.
    radius : RadiusRule
        `AtQuantile(mu=...)`, `Given(number)`, or your own rule.
    mu : float
        Cost of the sum. The cost of the radius is set by the rule.
    what, what_sum : str
        Labels in the ledger: "<what>: radius" for a search, and `what_sum`, by default "<what>: sum", for the sum.
    purpose : Purpose
        Purpose of both in the ledger.

    Formal guarantees
    -----------------
    Both relations; sensitivities as in `radius_search` and `noisy_clipped_sum`. With `AtQuantile`, the radius and
    the sum together are sqrt(radius.mu^2 + mu^2)-GDP by composition, since the sum depends on the radius only as a
    public number. With `Given`, the mean is mu-GDP. Dividing by public numbers and adding them is post-processing;
    so is the computation of `noise` and `offset`.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        the centre plus noise for an arbitrary radius
    one unit, n_hat below 1         n_hat is replaced by 1
    all equal to the centre         the centre, with noise of order 2^-128
    zero radius                     no search finds it: the smallest edge is 2^-128; refused if given
    huge, nan, inf                  as in `radius_search` and `noisy_clipped_sum`
    ==============================  ==================================================================

    References
    ----------
    docs/privacy.md gives the whole argument in one place.
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
    """Return the noise on an entry of a clipped mean (`NoisyMean.noise`); it is known before the mean is bought.

    Examples
    --------
    >>> mean_noise(3.0, mu=0.5, n_hat=100.0, relation=Relation.REPLACE)
    0.12
    """
    return sum_noise(radius, mu=mu, relation=relation) / n_hat
