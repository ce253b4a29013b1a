"""A radius around a public centre that holds a given number of units."""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.noisy import Radius
from eigenveil.mechanisms.veil import Grant, Veil
from eigenveil.privacy.entries import Purpose

EDGES: FloatArray = 2.0 ** (np.arange(-512, 512) / 4)
"""The public grid of radii: 2^-128 to 2^127.75 in steps of 2^(1/4)."""

_SAFE = 4.5
"""Standard deviations of a count's noise that the target of a radius search stays away from n_hat."""


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
    """The smallest edge at which a noisy count of units with norm(a_i - centre) <= edge reaches `target`.

    1. pay for exactly log2(size of edges) counts, 10 by default, whichever way the search goes
    2. that many times: ask the middle edge; noisy count >= target: go left, else go right

    The data are read once, for the counts at all edges.

    Parameters
    ----------
    population : Population
        The units.
    centre : array
        Public.
    target : float
        How many units the radius is to hold.
    mu : float
        What the search may cost.
    edges : array
        Public: ascending numbers above 0, 2^j of them, j >= 1. Where about the radius lies is known, few edges
        ask for fewer counts, each with less noise.

    Formal guarantees
    -----------------
    *Both relations:* a unit's computed norm depends on that unit alone, so it adds 0 or 1 to a count, and a
    count moves by at most 1 between neighbours. Each of the j = log2(size) adaptively chosen counts gets noise
    of standard deviation sqrt(j)/mu; together they are mu-GDP. Edges are public, so j is.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        whatever noise says; the largest edge without noise
    one unit, all equal             the edge just above the common norm, if noise allows
    zero norms                      the smallest edge, 2^-128 by default
    norms above the largest edge    the largest edge, 2^127.75 by default
    nan, inf, norm overflows        such a unit is in no count
    target is nan or infinite       refused (it is a public number)
    edges not as said above         refused (they are public)
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
    queries = queries_over(edges)
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=queries, releases=queries, purpose=purpose)
    found = first_enough(population.counts_within(centre, edges)[None], target=target, grant=grant)
    return Radius(float(edges[found[0]]), count_noise(mu, edges=edges))


def first_enough(counts: IntArray, *, target: float, grant: Grant) -> IntArray:
    """For every row of counts the first place at which a noisy one reaches `target`, by binary search.

    All rows take a step together; each step is one release of the grant, with a draw for every row.
    """
    rows, places = counts.shape
    low, high = np.zeros(rows, dtype=np.int64), np.full(rows, places - 1)
    for _ in range(queries_over(counts[0])):
        middle = (low + high) // 2
        enough = grant.release(grant.on_grid(counts[np.arange(rows), middle])) >= target
        low = np.where(enough, low, np.minimum(middle + 1, high))
        high = np.where(enough, middle, high)
    return low


def count_noise(mu: float, *, edges: FloatArray = EDGES) -> float:
    """Standard deviation of the noise on each count of a radius search that costs `mu`, before it is bought.

    Examples
    --------
    >>> count_noise(0.5, edges=EDGES[:16])
    4.0
    """
    return math.sqrt(queries_over(edges)) / mu


def reachable_quantile(wanted: float, *, n_hat: float, mu: float, edges: FloatArray = EDGES) -> float:
    """The largest quantile up to `wanted` whose radius search is not fooled by noise; at least the median.

    A search for q n_hat units runs away to the largest edge when noise hides that they are all there, so
    (1 - q) n_hat is kept above 4.5 standard deviations of a count.

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
    """How many counts a search over these edges takes: log2 of their number."""
    return edges.size.bit_length() - 1


def _check(edges: FloatArray) -> None:
    """Raise where these edges cannot be searched."""
    queries = queries_over(edges)
    right_size = edges.ndim == 1 and queries >= 1 and edges.size == 1 << queries
    if not (right_size and np.all(np.isfinite(edges)) and edges[0] > 0 and np.all(np.diff(edges) > 0)):
        raise InvalidInputError(
            f"edges must be 2^j (j at least 1) strictly ascending finite numbers above 0, got {edges.size}.",
            hint="Take a slice of radius.EDGES of 2, 4, 8, ... edges.",
        )
