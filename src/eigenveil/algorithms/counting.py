"""Number of units, as algorithms and estimators buy it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eigenveil.engines import LeftOut, Population
from eigenveil.mechanisms import (
    Census,
    Noisy,
    NoisyLeftOut,
    noisy_census,
    noisy_count,
    noisy_left_out,
)
from eigenveil.privacy import Purpose
from eigenveil.units import PrivateUnits

COUNT_SHARE, LEFT_OUT_SHARE = 0.01, 0.005
"""Shares of mu^2 for the number of units, and for the counts of what is excluded from them."""


def buy_count(units: PrivateUnits, *, n: int | None, mu: float) -> Noisy:
    """Return the number of units, at least 1: declared public, or a noisy count of valid units.

    Parameters
    ----------
    units : Units
        Units to count.
    n : int, optional
        Number of units, if it is declared public.
    mu : float
        Privacy budget of the count.
    """
    if n is not None:
        what = f"number of units, n = {n}"
        units.veil.ledger.declare(what, note="declared by the caller", purpose=Purpose.COUNT)
        return Noisy(float(n), 0.0)
    return _at_least(1.0, noisy_count(_any_population(units), mu=mu, veil=units.veil))


def buy_census(units: PrivateUnits, *, mu: float, population: Population | None = None) -> Census:
    """Return noisy counts of valid units, at least 1, and of invalid units, at least 0.

    Parameters
    ----------
    units : Units
        Units to count.
    mu : float
        Privacy budget of the counts.
    population : Population, optional
        Any population of the units, if one has been read already.
    """
    population = _any_population(units) if population is None else population
    census = noisy_census(population, mu=mu, veil=units.veil)
    return Census(_at_least(1.0, census.good), _at_least(0.0, census.bad))


def buy_left_out(units: PrivateUnits, left_out: LeftOut | None, *, mu: float) -> NoisyLeftOut | None:
    """Buy noisy counts of what is excluded from the units. Return None, at no cost, if nothing can be excluded."""
    return None if left_out is None else noisy_left_out(left_out, mu=mu, veil=units.veil)


def _any_population(units: PrivateUnits) -> Population:
    return units.block(np.eye(units.d, 1))  # one column is fast


def _at_least(least: float, found: Noisy) -> Noisy:
    return replace(found, value=max(least, found.value))
