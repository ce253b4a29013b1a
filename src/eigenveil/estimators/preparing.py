"""What is bought, or declared, about columns before an algorithm starts: a mean and scales.

Prepare({A_i}, mu):
  0  rows are divided by scales and a mean is taken off them, where these are declared public; if a mean is to be
     bought and bounds of the columns are public, their middle is taken off, and the mean looked for around it
  1  n_hat <- n if declared public, else a noisy count                              # 1 % of mu^2
  2  if a mean is to be bought and the algorithm does not buy it: a private mean     # 8 %
  3  if scales are to be bought: per column, a private mean (if one is asked for), then the clipped mean of the
       squares around it, with a d-th of mu^2 each; scale <- its root               # 8 % for each of the two
  4  the algorithm gets the rows less mean, divided by scale, and what is left of mu
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.rescaling import one_column, rescaled
from eigenveil.kernels import to_single
from eigenveil.mechanisms import AtQuantile, clipped_mean, noisy_count, private_mean
from eigenveil.mechanisms.radius import reachable_quantile
from eigenveil.operators import PeopleOperator, RowsOperator, made_of_rows
from eigenveil.privacy import Purpose, split_mu
from eigenveil.subspace.bounds import COUNT_SHARE
from eigenveil.subspace.tracked_pca import MEAN_SHARE
from eigenveil.units import Units

SCALE_SHARE = 0.08
_RADIUS_SHARE, _QUANTILE = 0.2, 0.99
_NO_SPREAD = 2.0**-100
"""A column whose mean square comes out below has, as far as can be told, no spread at all."""


@dataclass(kw_only=True)
class Preparation:
    """Steps 0 to 4; called once with open units. What it found out is kept, all of it released or declared.

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

    Attributes
    ----------
    mean, scale : array of shape (d,), optional
        What was taken off the rows, in their own units, and what they were divided by.
    n_hat : float, optional
        The noisy count, where one was bought.

    Formal guarantees
    -----------------
    Both relations. A count, a private mean and clipped means in sequence, with the sensitivities proven there:
    together sqrt(1 % + 8 % + 8 %) mu-GDP at most, and what is left is the mu that makes the whole mu-GDP. Per
    column: the d columns are asked one after the other, each with sqrt(1/d) of that mu, which adds up to it; whose
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

    mean: FloatArray | None = None
    scale: FloatArray | None = None
    middle: FloatArray | None = None
    buy_mean: bool = False
    buy_scale: bool = False
    n: int | None = None
    n_hat: float | None = None

    def __call__(self, units: Units) -> Units:
        """The units that the algorithm gets."""
        units = self._with_declared(units)
        if not (self.buy_mean or self.buy_scale):
            return units
        ask = self.n is None and not units.number_is_public
        shares = [COUNT_SHARE * ask, MEAN_SHARE * self.buy_mean, SCALE_SHARE * self.buy_scale]
        mu_count, mu_mean, mu_scale, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
        # 1
        self.n_hat = self._count(units, mu_count)
        # 2, 3, 4
        units = self._by_column(units, mu_mean, mu_scale) if self.buy_scale else self._centred(units, mu_mean)
        return replace(units, budget=replace(units.budget, mu=mu))

    def _with_declared(self, units: Units) -> Units:
        """Step 0."""
        declared = (
            ("column scales", self.scale, Purpose.SCALE),
            ("mean", self.mean, Purpose.MEAN),
            ("column bounds", self.middle, Purpose.BOUND),
        )
        for what, given, purpose in declared:
            if given is not None:
                units.veil.ledger.declare(what, note="declared by the caller", purpose=purpose)
        operator = units.operator
        if self.scale is not None:
            operator = rescaled(rows_of(units), self.scale)
        for taken_off in (self.mean, self.middle):
            if taken_off is not None:
                operator = operator.shifted(taken_off if self.scale is None else taken_off / self.scale)
        return replace(units, operator=operator)

    def _count(self, units: Units, mu: float) -> float:
        if self.n is not None:
            units.veil.ledger.declare(
                f"number of units, n = {self.n}", note="declared by the caller", purpose=Purpose.COUNT
            )
            return float(self.n)
        return max(1.0, noisy_count(units.block(np.eye(units.d, 1)), mu=mu, veil=units.veil).value)

    def _centred(self, units: Units, mu: float) -> Units:
        """Step 2."""
        mean = self._mean(units, mu)
        self.mean = self.in_own_units(mean)
        return units.shifted(mean)

    def in_own_units(self, found: FloatArray) -> FloatArray:
        """A mean of the rows that the algorithm gets as one of the rows that came in."""
        mean = found if self.scale is None else found * self.scale
        return mean if self.middle is None else mean + self.middle

    def _by_column(self, units: Units, mu_mean: float, mu_scale: float) -> Units:
        """Step 3: a column's noise is in proportion to that column's own spread."""
        operator, d = rows_of(units), units.d
        mean, scale = np.zeros(d), np.ones(d)
        for column in range(d):
            alone = replace(units, operator=one_column(operator, column))
            if self.buy_mean:
                mean[column] = self._mean(alone, mu_mean / math.sqrt(d))[0]
                alone = alone.shifted(mean[column : column + 1])
            scale[column] = self._spread(alone, mu_scale / math.sqrt(d))
        self.scale = np.asarray(to_single(scale), dtype=np.float64)
        taken_off = to_single(mean / self.scale)
        if self.buy_mean:
            self.mean = self.in_own_units(taken_off)
        with_scale = replace(units, operator=rescaled(operator, self.scale))
        return with_scale.shifted(taken_off) if self.buy_mean else with_scale

    def _mean(self, units: Units, mu: float) -> FloatArray:
        assert self.n_hat is not None
        found = private_mean(units.vectors(), n_hat=self.n_hat, mu=mu, veil=units.veil)
        return np.asarray(to_single(found.value), dtype=np.float64)

    def _spread(self, units: Units, mu: float) -> float:
        """Root of the clipped mean square of one column."""
        assert self.n_hat is not None
        mu_radius, mu_sum = split_mu(mu, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
        quantile = reachable_quantile(_QUANTILE, n_hat=self.n_hat, mu=mu_radius)
        mean = clipped_mean(
            units.matrices(),
            centre=np.zeros((1, 1)),
            n_hat=self.n_hat,
            radius=AtQuantile(mu=mu_radius, quantile=quantile),
            mu=mu_sum,
            veil=units.veil,
            what="column scale",
            purpose=Purpose.SCALE,
        )
        square = float(mean.value[0, 0])
        return math.sqrt(square) if square > _NO_SPREAD else 1.0


def rows_of(units: Units) -> RowsOperator | PeopleOperator:
    """The operator of units that are made of rows, else explain."""
    if not made_of_rows(units.operator):
        raise InvalidInputError(
            "units given as matrices have no rows, so they have no mean to take off and no columns to scale.",
            hint="Use center=False and scale=None, or give rows or people.",
        )
    return units.operator
