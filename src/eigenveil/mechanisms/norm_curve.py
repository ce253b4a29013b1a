"""A noisy curve of the distances of units from a public centre, from which a clipping radius can be chosen.

NormCurve({a_i}, C, n_hat, mu):
  1  find the radius that contains 3/4 of the units, by the search of `radius_search`       # 40 % of mu^2
       (few units: find two neighbouring bins of its histogram with most units)
  2  noisy counts of units below, between and beyond 33 edges of the search grid around it  # 60 %
       (few units: 10 edges in these two bins and above)
  3  share of the units beyond each edge: the average, by precision, of the sum of the counts beyond it and of
     n_hat minus the sum of the counts below it; 0 where noise dominates; non-increasing in the radius
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.population import Population
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.mechanisms.radius import BIN, EDGES, buy_histogram, buy_search, count_noise, in_bins
from eigenveil.privacy.budget import split_mu
from eigenveil.privacy.entries import Purpose

ANCHOR, ANCHOR_SHARE = 0.75, 0.4
"""The share of the units within the anchor, which is the radius of step 1, and the share of mu^2 that its search
costs. The first exceeds 1/2, so that the curve is useful even if half of the units are 0."""

BELOW, ABOVE = 12, 20
"""Number of edges below and above the anchor at which units are counted: from 1/8 of the anchor to 32 times it."""

COARSE, STEP = 0.03, 4
"""Units are few if the noise on a count of step 2 is more than this share of n_hat. The single counts of a search
would then say little. So one histogram takes their place, with bins of a factor of 16, and the edges of step 2 are
this many steps of the grid apart (a factor of 2): a sum of fewer counts has less noise. Between them, shares are
interpolated."""

SEEN = 2.0
"""A tail is treated as empty if its count is below this many standard deviations of its noise."""


@dataclass(frozen=True, eq=False)
class NormCurve:
    """A released curve of norms.

    Parameters
    ----------
    edges : array
        Radii, ascending.
    beyond : array
        The share of the units beyond each radius; non-increasing.
    excess : array
        The mean of max(norm - radius, 0) at each radius.
    count_noise : float
        Standard deviation of the noise on each count of a radius search that costs as much as the curve.
    noise : array
        Approximate standard deviation of the noise on `beyond`, before it was made non-increasing: the noise of
        n_hat is taken to be that of one count.
    """

    edges: FloatArray
    beyond: FloatArray
    excess: FloatArray
    count_noise: float
    noise: FloatArray

    @property
    def median(self) -> float:
        """The first edge that contains half of the units, up to noise; the last edge if none does."""
        place = int(np.count_nonzero(self.beyond > 0.5)) if self.beyond.any() else BELOW
        return float(self.edges[min(place, self.edges.size - 1)])

    @property
    def excess_at_median(self) -> float:
        """The excess at the radius beyond which half of the units lie."""
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
    """Buy a noisy curve of norm(a_i - centre) over units.

    Parameters
    ----------
    population : Population
        The units.
    centre : array
        Public centre.
    n_hat : float
        Public, approximate number of valid units. Any others in it look like units beyond the last edge.
    mu : float
        Cost of the curve.

    Formal guarantees
    -----------------
    *Anchor:* as in `radius_search`; for few units its histogram alone, bought with the whole mu of the anchor.
    *Counts:* the computed norm of a unit depends on that unit alone. It places the unit below the first edge,
    between one pair of edges, or beyond the last one. Adding, removing or emptying a unit changes one count by 1:
    L2 sensitivity 1. Replacing a unit changes two counts by 1: L2 sensitivity sqrt(2). Each count gets noise of
    standard deviation sensitivity/mu. Whether units are few depends on public numbers only, and the edges on
    releases. By composition, the anchor and the counts together are mu-GDP. Everything else is post-processing.
    The data are read once, for the counts at all edges.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             a curve dominated by noise
    all units equal                 all of them lie between two edges
    nan, inf, norm overflows        such a unit is in no count, and must not be in `n_hat`
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
    sensitivity = veil.relation.distance_between_histograms
    few = sensitivity / mu_counts > COARSE * n_hat
    anchor = _buy_few if few else _buy_anchor
    find_near = anchor(veil, mu_anchor, n_hat=n_hat, what=f"{what}: anchor", purpose=purpose)
    draws = 2 * BIN // STEP + 3 if few else BELOW + ABOVE + 2
    for_counts = veil.gaussian(
        f"{what}: counts", mu=mu_counts, sensitivity=sensitivity, draws=draws, purpose=purpose
    )
    within = population.counts_within(centre, np.append(EDGES, np.inf))
    # 1
    near = find_near(within)
    # 2
    places = np.arange(EDGES.size)[near]
    edges = EDGES[places]
    counts = for_counts.release(for_counts.on_grid(np.diff(np.append(within[places], within[-1]), prepend=0)))
    # 3
    from_above, from_below = np.cumsum(counts[:0:-1])[::-1], n_hat - np.cumsum(counts[:-1])
    # each sum has the noise of as many bins; that of n_hat counts as one more
    bins_above, bins_below = np.arange(edges.size, 0, -1.0), np.arange(2.0, edges.size + 2)
    tails = (from_above * bins_below + from_below * bins_above) / (bins_above + bins_below)
    noise = sensitivity / mu_counts * np.sqrt(1 / (1 / bins_above + 1 / bins_below))
    seen = np.logical_and.accumulate(tails > SEEN * noise)
    beyond = np.maximum.accumulate(np.where(seen, tails, 0.0)[::-1])[::-1] / n_hat
    beyond = np.minimum(beyond, 1.0)
    every = np.arange(places[0], places[-1] + 1)  # shares at the edges between those at which units were counted
    edges, beyond, noise = EDGES[every], np.interp(every, places, beyond), np.interp(every, places, noise)
    pieces = (beyond[1:] + beyond[:-1]) / 2 * np.diff(edges)
    last = beyond[-1] * edges[-1]  # assume that units beyond the last edge are twice as far away
    excess = np.append(np.cumsum(pieces[::-1])[::-1], 0.0) + last
    return NormCurve(edges, beyond, excess, count_noise(mu), noise / n_hat)


def _buy_anchor(
    veil: Veil, mu: float, *, n_hat: float, what: str, purpose: Purpose
) -> Callable[[IntArray], slice]:
    """Pay for the search of step 1. Return the function that makes it, and gives the edges of step 2."""
    search = buy_search(veil, mu, what=what, purpose=purpose)

    def near(within: IntArray) -> slice:
        anchor = search.first_enough(within, target=ANCHOR * n_hat)
        return slice(max(anchor - BELOW, 0), min(anchor + ABOVE + 1, EDGES.size))

    return near


def _buy_few(
    veil: Veil,
    mu: float,
    *,
    n_hat: float,  # noqa: ARG001
    what: str,
    purpose: Purpose,
) -> Callable[[IntArray], slice]:
    """Pay for the histogram that replaces the search if units are few. Return a function as `_buy_anchor` does."""
    histogram = buy_histogram(veil, mu, edges=EDGES, what=what, purpose=purpose)

    def near(within: IntArray) -> slice:
        noisy = histogram.release(histogram.on_grid(in_bins(within)))[:-1]
        first = int(np.argmax(noisy[1:] + noisy[:-1])) * BIN
        return slice(max(first - 1, 0), min(first + 2 * BIN + STEP, EDGES.size), STEP)

    return near
