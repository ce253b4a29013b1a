"""How far units lie from a public centre: a noisy curve of their norms, from which a radius can be chosen.

NormCurve({a_i}, C, n_hat, mu):
  1  the norm that holds 3/4 of the units, by the search of `radius_search`         # 40 % of mu^2
     (fewer, down to half, where noise in counts hides that they are there)
  2  noisy counts of units between 33 edges of its grid around it                   # 60 %
  3  share of the units beyond each edge: partial sums from the top, 0 where noise hides them, never rising
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.mechanisms.radius import EDGES, count_noise, first_enough, queries_over, reachable_quantile
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.budget import split_mu
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation

ANCHOR, ANCHOR_SHARE = 0.75, 0.4
"""The share of the units within the norm that edges lie around, and the share of mu^2 that its search takes. Above
1/2, so that the curve is seen also where half of the units are 0."""

BELOW, ABOVE = 12, 20
"""How many edges below and above that norm are counted at: from 1/8 of it to 32 times as much."""

SEEN = 2.0
"""A tail counts as empty below this many standard deviations of its noise."""


@dataclass(frozen=True, eq=False)
class NormCurve:
    """A released curve of norms.

    Parameters
    ----------
    edges : array
        Radii, ascending.
    beyond : array
        The share of the units that lie beyond each of them; never rising.
    excess : array
        The mean of max(norm - radius, 0) at each of them.
    count_noise : float
        Standard deviation of the noise on each count of a radius search that costs as much as the curve.
    """

    edges: FloatArray
    beyond: FloatArray
    excess: FloatArray
    count_noise: float

    @property
    def median(self) -> float:
        """An edge that holds half of the units, as far as noise lets it be seen."""
        place = int(np.argmax(self.beyond <= 0.5)) if self.beyond.any() else min(BELOW, self.edges.size - 1)
        return float(self.edges[place])

    @property
    def excess_at_median(self) -> float:
        """The excess at the radius that half of the units lie beyond."""
        return float(np.interp(0.5, self.beyond[::-1], self.excess[::-1]))


def norm_curve(
    population: Population,
    *,
    centre: FloatArray,
    n_hat: float,
    mu: float,
    veil: Veil,
    what: str = "norms",
    purpose: Purpose = Purpose.OTHER,
) -> NormCurve:
    """Buy the curve of norm(a_i - centre).

    Parameters
    ----------
    population : Population
        The units.
    centre : array
        Public.
    n_hat : float
        Public: how many units there are, about.
    mu : float
        What the curve may cost.

    Formal guarantees
    -----------------
    *Anchor:* as in `radius_search`. *Counts:* a unit's computed norm depends on that unit alone, and puts it
    between one pair of edges at most, or beyond the last. Adding, removing or emptying a unit moves one count by
    1: L2 sensitivity 1. Replacing a unit moves two counts by 1: sqrt(2). Noise of standard deviation
    sensitivity/mu on each count; edges depend on releases only. Both together are mu-GDP by composition; the rest
    is post-processing. The data are read once, for the counts at all edges.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             a curve full of noise
    all units equal                 they lie between two edges
    nan, inf, norm overflows        such a unit is in no count
    ==============================  ==================================================================

    Examples
    --------
    >>> from eigenveil.engines import TensorPopulation
    >>> from eigenveil.privacy import Budget, Ledger
    >>> veil = Veil(Ledger(Budget.from_mu(5.0)))
    >>> population = TensorPopulation(np.arange(1.0, 1001.0)[:, None])
    >>> curve = norm_curve(population, centre=np.zeros(1), n_hat=1000.0, mu=5.0, veil=veil)
    >>> 100 < curve.excess_at_median < 150
    True
    """
    mu_anchor, mu_counts = split_mu(mu, [ANCHOR_SHARE, 1 - ANCHOR_SHARE])
    n_hat = max(float(n_hat), 1.0)
    sensitivity = math.sqrt(2.0) if veil.relation is Relation.REPLACE else 1.0
    queries = queries_over(EDGES)
    for_anchor = veil.gaussian(
        f"{what}: anchor", mu=mu_anchor, sensitivity=1.0, draws=queries, releases=queries, purpose=purpose
    )
    for_counts = veil.gaussian(
        f"{what}: counts", mu=mu_counts, sensitivity=sensitivity, draws=BELOW + ABOVE + 1, purpose=purpose
    )
    within = population.counts_within(centre, np.append(EDGES, np.inf))
    # 1
    share = reachable_quantile(ANCHOR, n_hat=n_hat, mu=mu_anchor)
    anchor = int(first_enough(within[None, :-1], target=share * n_hat, grant=for_anchor)[0])
    # 2
    near = slice(max(anchor - BELOW, 0), min(anchor + ABOVE + 1, EDGES.size))
    edges = EDGES[near]
    counts = for_counts.release(for_counts.on_grid(np.diff(np.append(within[near], within[-1]))))
    # 3
    tails = np.cumsum(counts[::-1])[::-1]
    noise = sensitivity / mu_counts * np.sqrt(np.arange(edges.size, 0, -1.0))
    seen = np.logical_and.accumulate(tails > SEEN * noise)
    beyond = np.maximum.accumulate(np.where(seen, tails, 0.0)[::-1])[::-1] / n_hat
    beyond = np.minimum(beyond, 1.0)
    pieces = (beyond[1:] + beyond[:-1]) / 2 * np.diff(edges)
    last = beyond[-1] * edges[-1]  # units beyond the last edge are taken to be twice as far
    excess = np.append(np.cumsum(pieces[::-1])[::-1], 0.0) + last
    return NormCurve(edges, beyond, excess, count_noise(mu))
