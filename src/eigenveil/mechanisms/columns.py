"""Noisy counts and sums of every column, in one release for all columns.

ColumnCounts({x_ij}, edges, mu):
  1  N_jb <- number of units for which |x_ij| lies in bin b, for every column j and every bin b
  2  return N + noise of standard deviation sqrt(columns)/mu on every count

ColumnSums({x_ij}, R, mu):
  1  S_j <- sum_i clip(x_ij / R_j, 1) for every column j
  2  return R_j (S_j + noise of standard deviation sqrt(columns)/mu)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.relation import Relation


class NumbersByColumn(Protocol):
    """One number per unit and column: of real units (`ColumnPopulation`), or of simulated ones."""

    @property
    def columns(self) -> IntArray:
        """The columns, in the order of the answers."""

    def counts_between(self, edges: FloatArray, *, signed: bool = False) -> IntArray:
        """Return, for each column, how many numbers have an absolute value in each interval of the edges."""

    def clipped_sums(self, radii: FloatArray, exponent: int) -> IntArray:
        """Return the sum of each column, with numbers clipped to its radius, in units of 2^exponent radii."""


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """Released counts of units per column and bin.

    Parameters
    ----------
    value : array of shape (columns, edges)
        Noisy counts: up to the first edge, then between consecutive edges. They are not rounded, and may be
        negative.
    noise : float
        Standard deviation of the noise on each count.
    """

    value: FloatArray
    noise: float

    def together(self, which: BoolArray) -> ColumnCounts:
        """Return the counts of some columns added up, as one column: post-processing."""
        return ColumnCounts(self.value[which].sum(axis=0, keepdims=True), self.noise * math.sqrt(which.sum()))


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Released sums of columns.

    Parameters
    ----------
    value, noise : array of shape (columns,)
        Noisy sums of clipped numbers, and the standard deviation of the noise on each sum.
    """

    value: FloatArray
    noise: FloatArray


def column_counts(
    population: NumbersByColumn,
    edges: FloatArray,
    *,
    mu: float,
    veil: Veil,
    signed: bool = False,
    what: str = "column counts",
    note: str = "",
    purpose: Purpose = Purpose.OTHER,
) -> ColumnCounts:
    """Release noisy counts of units in every bin of every column.

    Parameters
    ----------
    population : NumbersByColumn
        The columns.
    edges : array
        Public, ascending numbers above 0.
    mu : float
        Cost of the release.
    signed : bool
        Whether negative numbers are counted apart; their counts follow those of the others.
    what, note, purpose : str, str, Purpose
        Label, note and purpose in the ledger.

    Formal guarantees
    -----------------
    In each column, a unit adds 1 to at most one count. Which count depends on that unit and on public numbers
    alone (`ColumnPopulation`). Let p be the number of columns. *Add-remove* and *empty-slot:* at most p counts
    change by 1: L2 sensitivity sqrt(p). *Replace:* at most 2 p counts change by 1: L2 sensitivity sqrt(2 p). Every
    count gets noise of standard deviation sensitivity/mu: mu-GDP. Counts are integers, so nothing is rounded. The
    cost does not depend on the number of bins.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        noise around 0
    exact zeros                     counted in the first bin
    beyond the last edge            not counted
    nan, inf, a square overflows    such a row is excluded; a unit without any other row is not counted
    ==============================  ==================================================================

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil.engines import ColumnPopulation, SampledPopulation
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
    grant = veil.gaussian(
        what, mu=mu, sensitivity=sensitivity, draws=(1 + signed) * p * edges.size, note=note, purpose=purpose
    )
    counts = population.counts_between(edges, signed=signed)
    return ColumnCounts(grant.release(grant.on_grid(counts)), sensitivity / mu)


def column_sums(
    population: NumbersByColumn,
    radii: FloatArray,
    *,
    mu: float,
    veil: Veil,
    what: str = "column sums",
    note: str = "",
    purpose: Purpose = Purpose.OTHER,
) -> ColumnSums:
    """Release the noisy sum of every column, with each number clipped to the radius of its column.

    Parameters
    ----------
    population : NumbersByColumn
        The columns.
    radii : array of shape (columns,)
        Public clipping radii, between 2^-500 and 2^500.
    mu : float
        Cost of the release.
    what, note, purpose : str, str, Purpose
        Label, note and purpose in the ledger.

    Formal guarantees
    -----------------
    Measured in multiples of the radii, a unit adds at most 1 to every column: a whole number of grid steps,
    exactly (`EntrySums`). Its contribution depends on its own rows and on public numbers alone. With p columns,
    the unit adds a vector of L2 norm at most sqrt(p): sensitivity sqrt(p), or 2 sqrt(p) under *replace*. Every sum
    gets noise of standard deviation sensitivity/mu: mu-GDP. Multiplying by the radii is post-processing.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units                        noise around 0
    huge                            clipped like any other
    nan, inf, a square overflows    such a row is excluded; a unit without any other row adds 0
    ==============================  ==================================================================
    """
    reach = root_up(population.columns.size)
    sensitivity = veil.relation.distance_between_sums(reach)
    grant = veil.gaussian(what, mu=mu, sensitivity=sensitivity, draws=radii.size, note=note, purpose=purpose)
    sums = population.clipped_sums(radii, grant.exponent)
    return ColumnSums(radii * grant.release(sums), radii * (sensitivity / mu))


def root_up(number: int) -> float:
    """Return the square root of a whole number as a float, rounded up.

    Examples
    --------
    >>> root_up(9)
    3.0
    """
    root = math.isqrt(number)
    return float(root) if root * root == number else math.nextafter(math.sqrt(number), math.inf)
