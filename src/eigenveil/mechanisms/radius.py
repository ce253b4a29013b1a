"""Private search for the radius around a public centre that contains a given number of units."""

from __future__ import annotations

import math

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.noise.noisy import Radius
from eigenveil.mechanisms.noise.veil import Grant, Veil
from eigenveil.privacy.entries import Purpose

EDGES: FloatArray = 2.0 ** (np.arange(-512, 512) / 4)
"""The public grid of radii: 2^-128 to 2^127.75 in steps of 2^(1/4)."""

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

    1. Pay for exactly log2(size of edges) counts, 10 by default, whatever the outcome of the search.
    2. Repeat that many times: take the noisy count at the middle edge. If it is at least `target`, continue in the
       left half, otherwise in the right half.

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
        known, fewer edges need fewer counts, and each count has less noise.

    Formal guarantees
    -----------------
    *Both relations:* the computed norm of a unit depends on that unit alone. The unit therefore adds 0 or 1 to a
    count, and a count changes by at most 1 between neighbouring datasets. Each of the j = log2(size) adaptively
    chosen counts gets noise of standard deviation sqrt(j)/mu; together they are mu-GDP. Edges are public, and
    therefore j is public.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        depends on noise alone; without noise, the largest edge
    one unit, all equal             the edge just above the common norm, unless noise hides it
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
    queries = queries_over(edges)
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=queries, releases=queries, purpose=purpose)
    found = first_enough(population.counts_within(centre, edges), target=target, grant=grant)
    return Radius(float(edges[found]), count_noise(mu, edges=edges))


def first_enough(counts: IntArray, *, target: float, grant: Grant) -> int:
    """Return the first index at which a noisy count reaches `target`, by binary search.

    Each step of the search is one release of the grant, with one draw.
    """
    low, high = 0, counts.size - 1
    for _ in range(queries_over(counts)):
        middle = (low + high) // 2
        noisy = grant.release(grant.on_grid(counts[[middle]]))[0]
        if noisy >= target:
            high = middle
        else:
            low = min(middle + 1, high)
    return low


def count_noise(mu: float, *, edges: FloatArray = EDGES) -> float:
    """Return the standard deviation of the noise on each count of a radius search that costs `mu`.

    It is known before the search is bought.

    Examples
    --------
    >>> count_noise(0.5, edges=EDGES[:16])
    4.0
    """
    return math.sqrt(queries_over(edges)) / mu


def reachable_quantile(wanted: float, *, n_hat: float, mu: float, edges: FloatArray = EDGES) -> float:
    """Return the largest quantile up to `wanted` whose radius search is robust to noise; at least the median.

    A search for q n_hat units ends at the largest edge if noise hides that all of them are within a smaller one.
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
    """Return the number of counts that a search over these edges takes: log2 of the number of edges."""
    return edges.size.bit_length() - 1


def _check(edges: FloatArray) -> None:
    """Raise if a search over these edges is not possible."""
    queries = queries_over(edges)
    right_size = edges.ndim == 1 and queries >= 1 and edges.size == 1 << queries
    if not (right_size and np.all(np.isfinite(edges)) and edges[0] > 0 and np.all(np.diff(edges) > 0)):
        raise InvalidInputError(
            f"edges must be 2^j (j at least 1) strictly ascending finite numbers above 0, got "
            f"an array of size {edges.size}.",
            hint="Take a slice of radius.EDGES of 2, 4, 8, ... edges.",
        )
