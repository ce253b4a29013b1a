"""Noisy counts of units: the good ones, those within a radius, and the bad ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.mechanisms.noisy import Noisy
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


def noisy_count(population: Population, *, mu: float, veil: Veil, what: str = "number of units") -> Noisy:
    """The number of good units plus Gaussian noise of standard deviation 1/mu.

    Formal guarantees
    -----------------
    *Add-remove:* a unit adds 0 or 1, so the sensitivity is exactly 1 (no rounding: counts are integers and
    1 is a multiple of the grid); mu-GDP. *Replace, units in fixed places:* the number of slots is the same for all
    neighbours, so it is returned as it is, costs nothing, and the ledger says that the relation makes it public.
    *Replace, people found by their ids:* a person may become one without an id or without a good row, or the other
    way round, so the number moves by at most 1: as under add-remove.

    ==============================  ==========================================
    edge case                       answer
    ==============================  ==========================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       nothing special
    nan, inf, norm overflows        not counted; a slot (replace, fixed places)
    ==============================  ==========================================
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
    """The number of units with norm(a_i - centre) <= radius, plus Gaussian noise of standard deviation 1/mu.

    Formal guarantees
    -----------------
    *All relations:* centre and radius are public, and a unit's computed norm depends on that unit alone, so it
    adds 0 or 1, and the count moves by at most 1: mu-GDP.

    ==============================  ==========================================
    edge case                       answer
    ==============================  ==========================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       nothing special
    nan, inf, norm overflows        not counted
    ==============================  ==========================================
    """
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=1, purpose=purpose)
    within = grant.release(grant.on_grid(population.counts_within(centre, np.array([radius]))))
    return Noisy(float(within[0]), 1 / mu)


@dataclass(frozen=True)
class Census:
    """Noisy numbers of units: neither is whole, and neither is cut at 0.

    Parameters
    ----------
    good : Noisy
        Units that add to sums and counts.
    bad : Noisy
        Units that are not finite, or whose norm overflows, and so add nothing.
    """

    good: Noisy
    bad: Noisy


def noisy_census(population: Population, *, mu: float, veil: Veil, what: str = "good and bad units") -> Census:
    """The numbers of good and of bad units, each plus Gaussian noise of standard deviation 1/mu.

    Formal guarantees
    -----------------
    Whether a unit is bad depends on that unit alone (`Population`), and it is either good or bad.

    *Add-remove:* adding a unit adds 1 to one of the two numbers and leaves the other, so the pair moves by exactly
    1 in L2: sensitivity 1, mu-GDP, and `good` has the noise that `noisy_count` alone would have for this mu.

    *Replace, units in fixed places:* the number of slots is the same for all neighbours and public, but the new
    unit may be bad where the old one was good. Only the number of bad units is noised, which moves by at most 1:
    sensitivity 1, mu-GDP. `good` is what they leave of the slots, post-processing.

    *Empty-slot, and replace for people found by their ids:* a good unit may leave the good ones and join the bad
    ones, the other way round, or appear in neither: the pair moves by at most sqrt(2), which is the sensitivity;
    each gets noise of standard deviation sqrt(2)/mu; mu-GDP. The slots of a population are not taken as public
    here: a person of whom nothing came, or no row with an id, has none.

    No rounding anywhere: counts are integers, and 1 is a multiple of the grid.

    ==============================  ==========================================
    edge case                       answer
    ==============================  ==========================================
    no units                        noise around 0 and 0 (may be negative)
    one unit, all equal, huge       nothing special
    nan, inf, norm overflows        a bad unit; the answer has the same shape
    ==============================  ==========================================

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
