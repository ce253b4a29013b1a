"""Counts and sums of many columns, each column by itself: one release for all of them.

ColumnCounts({x_ij}, edges, mu):
  1  N_jb <- number of units whose x_ij lies in bin b by its size, for every column j and all bins
  2  return N + noise of standard deviation sqrt(columns)/mu on every count

ColumnSums({x_ij}, R, mu):
  1  S_j <- sum_i clip(x_ij / R_j, 1) for every column j
  2  return R_j (S_j + noise of standard deviation sqrt(columns)/mu)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eigenveil._typing import FloatArray
from eigenveil.engines.columns import ColumnPopulation
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """Released counts.

    Parameters
    ----------
    value : array of shape (columns, edges)
        Up to the first edge, and between each and the next; neither whole nor cut at 0.
    noise : float
        Standard deviation of the noise on each.
    """

    value: FloatArray
    noise: float


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Released sums.

    Parameters
    ----------
    value, noise : array of shape (columns,)
        Sums of clipped numbers, and the standard deviation of the noise on each.
    """

    value: FloatArray
    noise: FloatArray


def column_counts(
    population: ColumnPopulation,
    edges: FloatArray,
    *,
    mu: float,
    veil: Veil,
    what: str = "column counts",
    note: str = "",
    purpose: Purpose = Purpose.OTHER,
) -> ColumnCounts:
    """How many units lie in which bin, for every column.

    Parameters
    ----------
    population : ColumnPopulation
        The columns.
    edges : array
        Public: ascending numbers above 0.
    mu : float
        What it may cost.
    what, note, purpose : str, str, Purpose
        What the ledger calls it.

    Formal guarantees
    -----------------
    A unit adds 1 to one count of each column at most, and which one depends on that unit and on public numbers
    alone (`ColumnPopulation`). With p columns, *add-remove* and *empty-slot:* at most p counts move by 1: L2
    sensitivity sqrt(p). *Replace:* at most 2 p counts move by 1: sqrt(2 p). Noise of standard deviation
    sensitivity/mu on every count: mu-GDP. Counts are integers: nothing is rounded. The number of bins costs
    nothing.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        noise around 0
    exact zeros                     up to the first edge
    beyond the last edge            counted nowhere
    nan, inf, a square overflows    such a row is left out; a unit with no other one is counted nowhere
    ==============================  ==================================================================

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil.engines import SampledPopulation
    >>> from eigenveil.operators import MeanRows, samples
    >>> from eigenveil.privacy import Budget, Ledger
    >>> veil = Veil(Ledger(Budget.from_mu(10.0)))
    >>> rows = samples.rows(np.tile([3.0, -500.0], (10_000, 1)))
    >>> columns = ColumnPopulation(SampledPopulation(rows, MeanRows()), np.arange(2))
    >>> found = column_counts(columns, np.array([1.0, 10.0, 1000.0]), mu=10.0, veil=veil)
    >>> np.round(found.value, -2).astype(int).tolist(), round(found.noise, 3)
    ([[0, 10000, 0], [0, 0, 10000]], 0.141)
    """
    p = population.columns.size
    moved = 2 * p if veil.relation is Relation.REPLACE else p
    sensitivity = root_up(moved)
    grant = veil.gaussian(what, mu=mu, sensitivity=sensitivity, draws=p * edges.size, note=note, purpose=purpose)
    counts = population.counts_between(edges)
    return ColumnCounts(grant.release(grant.on_grid(counts)), sensitivity / mu)


def column_sums(
    population: ColumnPopulation,
    radii: FloatArray,
    *,
    mu: float,
    veil: Veil,
    what: str = "column sums",
    note: str = "",
    purpose: Purpose = Purpose.OTHER,
) -> ColumnSums:
    """The sum of every column's numbers, each clipped to the column's radius.

    Parameters
    ----------
    population : ColumnPopulation
        The columns.
    radii : array of shape (columns,)
        Public, between 2^-500 and 2^500.
    mu : float
        What it may cost.
    what, note, purpose : str, str, Purpose
        What the ledger calls it.

    Formal guarantees
    -----------------
    In units of the radii, a unit adds whole grid steps that come to at most 1 in every column, exactly
    (`EntrySums`), and it does so from its own rows and public numbers. With p columns it adds a vector of L2 norm
    sqrt(p) at most: sensitivity sqrt(p), or 2 sqrt(p) under *replace*. Noise of standard deviation sensitivity/mu
    on every sum: mu-GDP. Multiplying by the radii is post-processing.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units                        noise around 0
    huge                            clipped like any other
    nan, inf, a square overflows    such a row is left out; a unit with no other one adds 0
    ==============================  ==================================================================
    """
    reach = root_up(population.columns.size)
    sensitivity = veil.relation.distance_between_sums(reach)
    grant = veil.gaussian(what, mu=mu, sensitivity=sensitivity, draws=radii.size, note=note, purpose=purpose)
    sums = population.clipped_sums(radii, grant.exponent)
    return ColumnSums(radii * grant.release(sums), radii * (sensitivity / mu))


def root_up(number: int) -> float:
    """A float not below the root of a whole number.

    Examples
    --------
    >>> root_up(9)
    3.0
    """
    root = math.isqrt(number)
    return float(root) if root * root == number else math.nextafter(math.sqrt(number), math.inf)
