"""Noisy counts of valid units, of units within a radius, and of invalid units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.mechanisms.noise.noisy import Noisy
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


def noisy_count(population: Population, *, mu: float, veil: Veil, what: str = "number of units") -> Noisy:
    """Release the number of valid units, plus Gaussian noise of standard deviation 1/mu.

    Formal guarantees
    -----------------
    *Add-remove:* a unit adds 0 or 1, so the sensitivity is exactly 1 (nothing is rounded: counts are integers, and
    1 is a multiple of the grid); mu-GDP. *Replace, units in fixed places:* the number of slots is the same in all
    neighbouring datasets. It is returned without noise and costs nothing, and the ledger records that the relation
    makes it public. *Replace, people found by their ids:* a person may become one without an id or without a valid
    row, or vice versa, so the number changes by at most 1, as under add-remove.

    ==============================  ================================================
    edge case                       result
    ==============================  ================================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       no special case
    nan, inf, norm overflows        not counted; a slot (replace, fixed places)
    ==============================  ================================================
    """
    if veil.relation is Relation.REPLACE and population.fixed_places:
        veil.ledger.declare(what, note="public under replace", purpose=Purpose.COUNT)
        return Noisy(float(population.slots()), 0.0)
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=1, purpose=Purpose.COUNT)
    return Noisy(float(grant.release(grant.on_grid([population.count()]))[0]), 1 / mu)


def noisy_count_within(
    population: Population,
    *,
    centre: FloatArray,
    radius: float,
    mu: float,
    veil: Veil,
    what: str = "units within a radius",
    purpose: Purpose = Purpose.OTHER,
) -> Noisy:
    """Release the number of units with norm(a_i - centre) <= radius, plus Gaussian noise of scale 1/mu.

    Formal guarantees
    -----------------
    *All relations:* centre and radius are public, and the computed norm of a unit depends on that unit alone. A
    unit therefore adds 0 or 1, and the count changes by at most 1: mu-GDP.

    ==============================  ================================================
    edge case                       result
    ==============================  ================================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       no special case
    nan, inf, norm overflows        not counted
    ==============================  ================================================
    """
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=1, purpose=purpose)
    within = grant.release(grant.on_grid(population.counts_within(centre, np.array([radius]))))
    return Noisy(float(within[0]), 1 / mu)


@dataclass(frozen=True)
class Census:
    """Noisy counts of valid and invalid units. They are not rounded, and may be negative.

    Parameters
    ----------
    good : Noisy
        Number of valid units, which are included in sums and counts.
    bad : Noisy
        Number of invalid units, which are not finite or whose norm overflows. They are excluded from all sums and
        counts.
    """

    good: Noisy
    bad: Noisy


def noisy_census(population: Population, *, mu: float, veil: Veil, what: str = "good and bad units") -> Census:
    """Release noisy counts of valid and invalid units.

    Each count gets Gaussian noise of standard deviation sensitivity/mu. The sensitivity is 1 or sqrt(2), as shown
    below.

    Formal guarantees
    -----------------
    A unit is either valid or invalid. Which of the two depends on that unit alone (`Population`).

    *Add-remove:* adding a unit adds 1 to one of the two counts and does not change the other. The pair changes by
    exactly 1 in L2: sensitivity 1, mu-GDP. `good` has the same noise that `noisy_count` alone would have for this
    mu.

    *Replace, units in fixed places:* the number of slots is public, and the same in all neighbouring datasets, but
    the new unit may be invalid where the old one was valid. Noise is added only to the number of invalid units,
    which changes by at most 1: sensitivity 1, mu-GDP. `good` is the number of slots minus this noisy number, which
    is post-processing.

    *Empty-slot, and replace for people found by their ids:* a unit may change from valid to invalid, from invalid
    to valid, or disappear from both counts, or appear in one. The pair changes by at most sqrt(2) in L2, which is
    the sensitivity. Each count gets noise of standard deviation sqrt(2)/mu: mu-GDP. The number of slots of a
    population is not treated as public here: a person without any row, or without any row that has an id, has no
    slot.

    Nothing is rounded: counts are integers, and 1 is a multiple of the grid.

    ==============================  ================================================
    edge case                       result
    ==============================  ================================================
    no units                        noise around 0 and 0 (may be negative)
    one unit, all equal, huge       no special case
    nan, inf, norm overflows        an invalid unit; the result has the same shape
    ==============================  ================================================

    Examples
    --------
    >>> from eigenveil.engines import TensorPopulation
    >>> from eigenveil.privacy import Budget, Ledger
    >>> veil = Veil(Ledger(Budget.from_mu(10.0)))
    >>> rows = np.ones((100, 2))
    >>> rows[:20, 0] = np.nan
    >>> census = noisy_census(TensorPopulation(rows), mu=10.0, veil=veil)
    >>> abs(census.good.value - 80) < 1, abs(census.bad.value - 20) < 1, census.bad.scale
    (True, True, 0.1)
    """
    if veil.relation is Relation.REPLACE and population.fixed_places:
        grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=1, purpose=Purpose.COUNT)
        veil.ledger.declare("number of slots", note="public under replace", purpose=Purpose.COUNT)
        good, slots = population.tally()
        bad = float(grant.release(grant.on_grid([slots - good]))[0])
        return Census(good=Noisy(slots - bad, 1 / mu), bad=Noisy(bad, 1 / mu))
    sensitivity = 1.0 if veil.relation is Relation.ADD_REMOVE else math.nextafter(math.sqrt(2.0), 2.0)
    grant = veil.gaussian(what, mu=mu, sensitivity=sensitivity, draws=2, purpose=Purpose.COUNT)
    good, slots = population.tally()
    pair = grant.release(grant.on_grid([good, slots - good]))
    noise = sensitivity / mu
    return Census(good=Noisy(float(pair[0]), noise), bad=Noisy(float(pair[1]), noise))
