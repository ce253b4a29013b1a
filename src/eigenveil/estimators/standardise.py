"""What is bought, or declared, about columns before an algorithm starts: a mean and scales.

Standardise({A_i}, mu):
  0  rows are divided by scales and a mean is subtracted, where these are declared public; if a mean is to be
     bought and bounds of the columns are public, their middle is subtracted, and the mean looked for around it
  1  n_hat <- n if declared public, else a noisy count                              # 1 % of mu^2
  2  if a mean is to be bought and the algorithm does not buy it: a private mean     # 8 %
  3  if scales are to be bought: per column, a private mean (if one is asked for), then the clipped mean of the
       squares around it, with a d-th of mu^2 each; scale <- its root               # 8 % for each of the two
       (all columns are read in the same passes)
  4  return the rows less mean, divided by scale, with what is left of mu
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.columns import column_groups
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.rescaling import rescaled
from eigenveil.kernels import to_single
from eigenveil.mechanisms.column_means import ColumnMeans
from eigenveil.mechanisms.radius import EDGES
from eigenveil.operators import PeopleOperator, RowsOperator, made_of_rows
from eigenveil.privacy import Purpose, split_mu
from eigenveil.subspace.counting import COUNT_SHARE, MEAN_SHARE, buy_mean, buy_number
from eigenveil.units import Units

SCALE_SHARE = 0.08
_RADIUS_SHARE, _QUANTILE = 0.2, 0.99
_NO_SPREAD = 2.0**-100
"""A column whose mean square comes out below has, as far as can be told, no spread at all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Standard:
    """What rows are to be centred and scaled by.

    Parameters
    ----------
    mean, scale : array of shape (d,), optional
        Public ones.
    middle : array of shape (d,), optional
        The middle of public bounds of the columns.
    buy_mean, buy_scale : bool
        Whether to buy them.
    n : int, optional
        The number of units, if public.
    """

    mean: FloatArray | None = None
    scale: FloatArray | None = None
    middle: FloatArray | None = None
    buy_mean: bool = False
    buy_scale: bool = False
    n: int | None = None

    def most_passes(self, d: int) -> int:
        """How often `standardise` reads the data at most.

        A count; for a mean, two radii and two sums; for a scale, one of each. Radii of thousands of columns take a
        pass for every group of them.
        """
        if self.buy_scale:
            groups = len(list(column_groups(d, EDGES.size)))
            return 1 + (1 + groups) * (1 + 2 * self.buy_mean)
        return 5 if self.buy_mean else 0

    def in_own_units(self, found: FloatArray, scale: FloatArray | None) -> FloatArray:
        """A mean of the rows that an algorithm gets as one of the rows that came in."""
        mean = found if scale is None else found * scale
        return mean if self.middle is None else mean + self.middle


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardised:
    """Units as an algorithm gets them, and what was done to them: all of it released or declared.

    Parameters
    ----------
    units : Units
        With what is left of the budget.
    mean, scale : array of shape (d,), optional
        What was subtracted from the rows, in their own units, and what they were divided by.
    n_hat : float, optional
        The noisy count, where one was bought.
    """

    units: Units
    mean: FloatArray | None
    scale: FloatArray | None
    n_hat: float | None = None


def standardise(units: Units, standard: Standard) -> Standardised:
    """Centre and scale rows, by what is declared or bought from the units' own budget.

    Formal guarantees
    -----------------
    Both relations. A count, a private mean and clipped means in sequence, with the sensitivities proven there:
    together sqrt(1 % + 8 % + 8 %) mu-GDP at most, and what is left is the mu that makes the whole mu-GDP. Per
    column (`ColumnMeans`): each of the d columns is asked with sqrt(1/d) of that mu, which adds up to it; whose
    row is bad in which column does not matter, since a unit adds at most 1 to a count and R to a sum in each.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no spread in a column           scale 1
    mean square not above 0         scale 1
    no units, few units             noise; scales are positive and finite all the same
    heavy tails                     squares are clipped, so scales are low, by as much in all columns of one shape
    ==============================  ==================================================================
    """
    # 0
    units = _with_declared(units, standard)
    if not (standard.buy_mean or standard.buy_scale):
        return Standardised(units=units, mean=standard.mean, scale=standard.scale)
    operator = rows_of(units)  # refused before anything is charged
    ask = standard.n is None and not units.number_is_public
    shares = [COUNT_SHARE * ask, MEAN_SHARE * standard.buy_mean, SCALE_SHARE * standard.buy_scale]
    mu_count, mu_mean, mu_scale, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    n_hat = buy_number(units, n=standard.n, mu=mu_count).good.value
    mean, scale = standard.mean, standard.scale
    if standard.buy_scale:
        # 3
        found, scale = _mean_and_scale(
            units, n_hat=n_hat, mu_mean=mu_mean if standard.buy_mean else None, mu_scale=mu_scale
        )
        units = replace(units, operator=rescaled(operator, scale))
        units = units.shifted(found) if standard.buy_mean else units
    else:
        # 2
        found, units = buy_mean(units, n_hat=n_hat, mu=mu_mean)
    if standard.buy_mean:
        mean = standard.in_own_units(found, scale)
    # 4
    units = replace(units, budget=replace(units.budget, mu=mu))
    return Standardised(units=units, mean=mean, scale=scale, n_hat=n_hat)


def _with_declared(units: Units, standard: Standard) -> Units:
    """Step 0."""
    declared = (
        ("column scales", standard.scale, Purpose.SCALE),
        ("mean", standard.mean, Purpose.MEAN),
        ("column bounds", standard.middle, Purpose.BOUND),
    )
    for what, given, purpose in declared:
        if given is not None:
            units.veil.ledger.declare(what, note="declared by the caller", purpose=purpose)
    operator = units.operator
    if standard.scale is not None:
        operator = rescaled(rows_of(units), standard.scale)
    for subtracted in (standard.mean, standard.middle):
        if subtracted is not None:
            operator = operator.shifted(subtracted if standard.scale is None else subtracted / standard.scale)
    return replace(units, operator=operator)


def _mean_and_scale(
    units: Units, *, n_hat: float, mu_mean: float | None, mu_scale: float
) -> tuple[FloatArray, FloatArray]:
    """Step 3: the mean of the rows once they are divided by the scales (0 if none is bought), and the scales.

    A column's noise is in proportion to that column's own spread.
    """
    parts, mean = math.sqrt(units.d), np.zeros(units.d)
    if mu_mean is not None:
        bought = ColumnMeans(n_hat=n_hat, mu=mu_mean / parts, veil=units.veil).private(units.columns())
        mean = np.asarray(to_single(bought))
        units = units.shifted(mean)
    squares = ColumnMeans(n_hat=n_hat, mu=mu_scale / parts, veil=units.veil).clipped(
        units.columns(squared=True),
        np.zeros(units.d),
        _QUANTILE,
        radius_share=_RADIUS_SHARE,
        what="column scale",
        purpose=Purpose.SCALE,
    )
    spread = np.where(squares > _NO_SPREAD, np.sqrt(np.maximum(squares, 0.0)), 1.0)
    scale = np.asarray(to_single(spread), dtype=np.float64)
    return np.asarray(to_single(mean / scale), dtype=np.float64), scale


def rows_of(units: Units) -> RowsOperator | PeopleOperator:
    """The operator of units that are made of rows, else explain."""
    if not made_of_rows(units.operator):
        raise InvalidInputError(
            "units given as matrices have no rows, so they have no mean to take off and no columns to scale.",
            hint="Use center=False and scale=None, or give rows or people.",
        )
    return units.operator
