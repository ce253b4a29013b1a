"""A radius around a public centre that holds a given number of units."""

from __future__ import annotations

import numpy as np

from eigenveil.engines.population import FloatArray, Population
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.veil import Veil

EDGES: FloatArray = 2.0 ** (np.arange(-512, 512) / 4)
"""The public grid of radii: 2^-128 to 2^127.75 in steps of 2^(1/4)."""

QUERIES = 10
"""Noisy counts in one search: exactly log2 of the number of edges."""


def radius_search(
    population: Population,
    *,
    centre: FloatArray,
    target: float,
    mu: float,
    veil: Veil,
    what: str = "radius",
) -> float:
    """The smallest edge at which a noisy count of units with norm(a_i - centre) <= edge reaches `target`.

    1. pay for exactly 10 counts, whichever way the search goes
    2. ten times: ask the middle edge; noisy count >= target: go left, else go right

    The data are read once, for the counts at all edges.

    Formal guarantees
    -----------------
    *Both relations:* a unit's computed norm depends on that unit alone, so it adds 0 or 1 to a count, and a
    count moves by at most 1 between neighbours. Each of the 10 adaptively chosen counts gets noise of
    standard deviation sqrt(10)/mu; together they are mu-GDP.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        whatever noise says; the largest edge without noise
    one unit, all equal             the edge just above the common norm, if noise allows
    zero norms                      the smallest edge, 2^-128
    norms above the largest edge    the largest edge, 2^127.75
    nan, inf, norm overflows        such a unit is in no count
    target is nan or infinite       refused (it is a public number)
    ==============================  ==================================================================
    """
    if not np.isfinite(target):
        raise InvalidInputError(f"target must be a finite number, got {target!r}.")
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=QUERIES, releases=QUERIES)
    counts = population.counts_within(centre, EDGES)
    low, high = 0, EDGES.size - 1
    for _ in range(QUERIES):
        middle = (low + high) // 2
        enough = grant.release(grant.on_grid([counts[middle]]))[0] >= target
        low, high = (low, middle) if enough else (min(middle + 1, high), high)
    return float(EDGES[low])
