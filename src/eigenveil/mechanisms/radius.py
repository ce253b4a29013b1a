"""Private search for the radius around a public centre that contains a given number of units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.noise.noisy import Radius
from eigenveil.mechanisms.noise.veil import Grant, Veil
from eigenveil.privacy.budget import split_mu
from eigenveil.privacy.entries import Purpose

EDGES: FloatArray = 2.0 ** (np.arange(-512, 512) / 4)
"""The public grid of radii: 2^-128 to 2^127.75 in steps of 2^(1/4)."""

BIN = 16
"""Number of edges in a bin of the histogram that a search over many edges starts with: a factor of 16 in size."""

NEAR = 2 * BIN
"""Number of edges that the counts of such a search choose from: those of a bin, and half a bin on either side."""

_OCCUPIED = 3.5
"""A bin counts as occupied if its noisy count exceeds this many standard deviations of the noise. Among 65 empty
bins, one exceeds it in 1.5 % of searches."""

_SAFE = 4.5
"""The target of a radius search stays below n_hat by this many standard deviations of the noise on a count."""


def radius_search(
    population: Population,
    *,
    centre: FloatArray,
    target: float,
    mu: float,
    veil: Veil,
    what: str = "radius",
    edges: FloatArray = EDGES,
    purpose: Purpose = Purpose.OTHER,
) -> Radius:
    """Find the smallest edge at which a noisy count of units with norm(a_i - centre) <= edge reaches `target`.

    1. With more than 32 edges, half of mu^2 buys a noisy histogram of the norms, with 16 edges per bin. The search
       continues among the 32 edges in and around the bin in which the number of units reaches `target`.
    2. The rest of mu^2 buys exactly log2(number of remaining edges) counts, 5 by default, whatever the outcome of
       the search.
    3. Repeat that many times: take the noisy count at the middle edge. If it is at least `target`, continue in the
       left half, otherwise in the right half.

    Without step 1, one wrong answer of an early count would lead the search away by any power of 2.

    The data are read once, for the counts at all edges.

    Parameters
    ----------
    population : Population
        The units.
    centre : array
        Public centre.
    target : float
        Number of units that the radius should contain.
    mu : float
        Cost of the search.
    edges : array
        Public, strictly ascending numbers above 0; their number is 2^j with j >= 1. If the radius is roughly
        known, at most 32 edges need no histogram and fewer counts, and each count has less noise.

    Formal guarantees
    -----------------
    The computed norm of a unit depends on that unit alone. *Histogram:* the norm places the unit in at most one
    bin. Adding, removing or emptying a unit changes one bin by 1: L2 sensitivity 1. Replacing a unit changes two
    bins by 1: L2 sensitivity sqrt(2). Each bin gets noise of standard deviation sensitivity * sqrt(2)/mu. *Counts,
    all relations:* the unit adds 0 or 1 to a count, and a count changes by at most 1 between neighbouring
    datasets. Each of the j adaptively chosen counts gets noise of standard deviation sqrt(2 j)/mu, or sqrt(j)/mu
    without a histogram. Which edges remain is a function of the noisy histogram. By composition, the histogram and
    the counts together are mu-GDP. Edges are public, and therefore the number of bins and j are public.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             depends on noise alone
    all equal                       the edge just above the common norm, unless noise hides it
    norms spread over many bins     bins with few units each are treated as empty: the result can be far off
    zero norms                      the smallest edge, 2^-128 by default
    norms above the largest edge    the largest edge, 2^127.75 by default
    nan, inf, norm overflows        such a unit is in no count
    target is nan or infinite       refused (it is a public number)
    edges not as described above    refused (they are public)
    ==============================  ==================================================================

    Examples
    --------
    >>> from eigenveil.engines import TensorPopulation
    >>> from eigenveil.privacy import Budget, Ledger
    >>> veil = Veil(Ledger(Budget.from_mu(5.0)))
    >>> population = TensorPopulation(np.full((1000, 1), 3.0))
    >>> near = 2.0 ** np.arange(8)
    >>> radius_search(population, centre=np.zeros(1), target=500, mu=5.0, veil=veil, edges=near).value
    4.0
    >>> veil.ledger.entries[0].draws
    3
    """
    if not np.isfinite(target):
        raise InvalidInputError(f"target must be a finite number, got {target!r}.")
    _check(edges)
    search = buy_search(veil, mu, edges=edges, what=what, purpose=purpose)
    found = search.first_enough(population.counts_within(centre, np.append(edges, np.inf)), target=target)
    return Radius(float(edges[found]), count_noise(mu, edges=edges))


@dataclass(frozen=True, eq=False)
class PaidSearch:
    """A radius search that is paid for, and can be made once. Its guarantees are those of `radius_search`.

    Parameters
    ----------
    histogram : Grant, optional
        Noise of the histogram of step 1; None for a search over at most 32 edges.
    counts : Grant
        Noise of the counts of step 3.
    """

    histogram: Grant | None
    counts: Grant

    def first_enough(self, within: IntArray, *, target: float) -> int:
        """Return the first edge at which a noisy count reaches `target`.

        `within` has the number of units within each edge, and the number of all units with a finite norm.
        """
        if self.histogram is None:
            return self._halved(within[:-1], target=target)
        # 1
        middle = self._place(within, target=target, histogram=self.histogram) * BIN + BIN // 2
        start = min(max(middle - NEAR // 2, 0), within.size - 1 - NEAR)
        return start + self._halved(within[start : start + NEAR], target=target)

    def _place(self, within: IntArray, *, target: float, histogram: Grant) -> int:
        """Return the bin in which the number of units reaches `target`, from a noisy histogram.

        Only bins whose noisy counts stand out from the noise count as occupied. The result is the first of them up
        to which all of them together contain `target` units; the last one, if there is none; and the bin with the
        largest noisy count, if no bin is occupied. The bin after the last edge has the units beyond it.
        """
        noisy = histogram.release(histogram.on_grid(in_bins(within)))
        occupied = np.flatnonzero(noisy > _OCCUPIED * histogram.scale)
        if not occupied.size:
            return int(np.argmax(noisy))
        reached = np.cumsum(noisy[occupied]) >= target
        return int(occupied[np.argmax(reached)] if reached.any() else occupied[-1])

    def _halved(self, within: IntArray, *, target: float) -> int:
        """Return the first edge at which a noisy count reaches `target`, by binary search (step 3).

        Each step of the search is one release of the grant, with one draw.
        """
        low, high = 0, within.size - 1
        for _ in range(queries_over(within)):
            middle = (low + high) // 2
            noisy = self.counts.release(self.counts.on_grid(within[[middle]]))[0]
            if noisy >= target:
                high = middle
            else:
                low = min(middle + 1, high)
        return low


def buy_search(
    veil: Veil, mu: float, *, edges: FloatArray = EDGES, what: str = "radius", purpose: Purpose = Purpose.OTHER
) -> PaidSearch:
    """Pay `mu` for a radius search over `edges`, before the data are read.

    There are two charges. If the second is refused, the first remains, although nothing was released.
    """
    mu_histogram, mu_counts = _split(mu, edges)
    histogram = None
    if mu_histogram:
        histogram = buy_histogram(veil, mu_histogram, edges=edges, what=what, purpose=purpose)
    queries = queries_over(edges)
    counts = veil.gaussian(what, mu=mu_counts, sensitivity=1.0, draws=queries, releases=queries, purpose=purpose)
    return PaidSearch(histogram, counts)


def buy_histogram(veil: Veil, mu: float, *, edges: FloatArray, what: str, purpose: Purpose) -> Grant:
    """Pay `mu` for the histogram of step 1 of `radius_search`, before the data are read."""
    return veil.gaussian(
        f"{what}, histogram",
        mu=mu,
        sensitivity=veil.relation.distance_between_histograms,
        draws=edges.size // BIN + 1,
        purpose=purpose,
    )


def in_bins(within: IntArray) -> IntArray:
    """Return the number of units in each bin of the histogram, and beyond the last edge.

    `within` has the number of units within each edge, and the number of all units with a finite norm.
    """
    return np.diff(np.append(within[BIN - 1 : -1 : BIN], within[-1]), prepend=0)


def count_noise(mu: float, *, edges: FloatArray = EDGES) -> float:
    """Return the standard deviation of the noise on each count of a radius search that costs `mu`.

    It is known before the search is bought.

    Examples
    --------
    >>> count_noise(0.5, edges=EDGES[:16])
    4.0
    """
    return math.sqrt(queries_over(edges)) / _split(mu, edges)[1]


def reachable_quantile(wanted: float, *, n_hat: float, mu: float, edges: FloatArray = EDGES) -> float:
    """Return the largest quantile up to `wanted` whose radius search is robust to noise; at least the median.

    A search for q n_hat units ends at the largest edge, or the largest of the 32 that remain after the histogram,
    if noise hides that all of them are within a smaller one.
    Therefore (1 - q) n_hat is kept above 4.5 standard deviations of the noise on a count.

    Examples
    --------
    >>> reachable_quantile(0.9, n_hat=1e6, mu=0.1)
    0.9
    >>> reachable_quantile(0.9, n_hat=400.0, mu=0.1)
    0.6442...
    >>> reachable_quantile(0.9, n_hat=10.0, mu=0.1)
    0.5
    """
    return min(wanted, max(0.5, 1 - _SAFE * count_noise(mu, edges=edges) / max(n_hat, 1.0)))


def queries_over(edges: FloatArray | IntArray) -> int:
    """Return the number of counts of a search over these edges: log2 of how many of them the counts choose from.

    Examples
    --------
    >>> queries_over(EDGES), queries_over(EDGES[:16])
    (5, 4)
    """
    return min(edges.size, NEAR).bit_length() - 1


def _split(mu: float, edges: FloatArray) -> tuple[float, float]:
    """Return the costs of the histogram and of the counts of a search that costs `mu`."""
    histogram, counts = split_mu(mu, [float(edges.size > NEAR), 1.0])
    return histogram, counts


def _check(edges: FloatArray) -> None:
    """Raise if a search over these edges is not possible."""
    right_size = edges.ndim == 1 and edges.size >= 2 and edges.size.bit_count() == 1
    if not (right_size and np.all(np.isfinite(edges)) and edges[0] > 0 and np.all(np.diff(edges) > 0)):
        raise InvalidInputError(
            f"edges must be 2^j (j at least 1) strictly ascending finite numbers above 0, got "
            f"an array of size {edges.size}.",
            hint="Take a slice of radius.EDGES of 2, 4, 8, ... edges.",
        )
