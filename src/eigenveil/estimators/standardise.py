"""Centre and scale the rows before an algorithm runs, by declared or bought means and scales.

Standardise({A_i}, mu):
  0  rows are divided by scales and a mean is subtracted, where these are declared public; if a mean is to be
     bought and bounds of columns are public, their middle is subtracted, and the mean looked for around it
  1  n_hat <- n if declared public, else a noisy count                              # 1 % of mu^2
  2  if scales are to be bought: rough locations and widths of the columns          # 16 % for 2 and 4
  3  if a mean is to be bought, and the algorithm does not buy it: a private mean of the rows, whose columns
     now have similar widths                                                        # 8 %
  4  if scales are to be bought: the noisy mean of squares, all columns together; scale <- root of the variance
  5  return the rows minus mean, divided by scale, with the rest of mu
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.algorithms.column_scales import ColumnScales, buy_rough_moments, buy_scales, most_passes
from eigenveil.algorithms.counting import COUNT_SHARE, MEAN_SHARE, buy_count, buy_mean
from eigenveil.algorithms.release_warnings import ReleaseWarning, scale_warnings
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import to_single
from eigenveil.mechanisms import private_mean
from eigenveil.operators import PeopleOperator, RowsOperator, made_of_rows
from eigenveil.operators.rescaled import rescaled
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import Units

SCALE_SHARE = 0.16
"""Share of mu^2 for scales, if they are bought."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Standard:
    """How rows are centred and scaled.

    Parameters
    ----------
    mean, scale : array of shape (d,), optional
        Public mean and scales; the scale is 1 for columns without a declared one.
    middle, half : array of shape (d,), optional
        Midpoints and half widths of public bounds of the columns: 0 and infinity without bounds.
    private : array of int
        Columns whose scales are bought.
    buy_mean : bool
        Whether to buy a mean.
    n : int, optional
        The number of units, if public.
    names : sequence of str, optional
        Names of the columns, where they have any.
    declared : sequence of str, optional
        Labels of the columns with declared scales, if not all columns have one.
    bounded : sequence of str, optional
        The same for bounds.
    flags : sequence of str
        Labels of columns that are bounded by 0 and 1 by their type or encoding.
    """

    mean: FloatArray | None = None
    scale: FloatArray | None = None
    middle: FloatArray | None = None
    half: FloatArray | None = None
    private: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    buy_mean: bool = False
    n: int | None = None
    names: Sequence[str] | None = None
    declared: Sequence[str] | None = None
    bounded: Sequence[str] | None = None
    flags: Sequence[str] = ()

    @property
    def buy_scale(self) -> bool:
        """Whether any scale is bought."""
        return self.private.size > 0

    @property
    def most_passes(self) -> int:
        """Upper bound on passes of `standardise`: a count; for a mean two radii and two sums; scales."""
        scales = most_passes(centred=self.buy_mean) if self.buy_scale else 0
        return (1 if self.buy_mean or self.buy_scale else 0) + 4 * self.buy_mean + scales

    def labels(self, columns: IntArray) -> list[str]:
        """Return names of columns, or their positions if they have no names."""
        return [str(int(j)) if self.names is None else repr(self.names[j]) for j in columns]

    def in_own_units(self, found: FloatArray, scale: FloatArray | None) -> FloatArray:
        """Convert a mean of the standardised rows into the units of the original rows."""
        mean = found if scale is None else found * scale
        return mean if self.middle is None else mean + self.middle


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardised:
    """Standardised units, and how they were standardised; everything is released or declared.

    Parameters
    ----------
    units : Units
        The units, with the rest of the budget.
    mean, scale : array of shape (d,), optional
        Subtracted mean, in the units of the data, and scales.
    scale_errors : array of shape (d,), optional
        Relative standard errors of the scales, if any were bought; 0 for public or unknown scales.
    n_hat : float, optional
        The noisy count, if one was bought.
    warnings : tuple of ReleaseWarning
        Warnings about the scales.
    """

    units: Units
    mean: FloatArray | None
    scale: FloatArray | None
    scale_errors: FloatArray | None = None
    n_hat: float | None = None
    warnings: tuple[ReleaseWarning, ...] = ()


def standardise(units: Units, standard: Standard) -> Standardised:
    """Centre and scale rows, by declared values or by values bought from the budget of the units.

    Formal guarantees
    -----------------
    Both relations. A count, `look`, a private mean and `measure` in sequence, with the sensitivities proven there:
    together sqrt(1 % + 8 % + 16 %) mu-GDP at most. The rest of mu makes the whole run mu-GDP. Columns whose
    scales are not bought add nothing to the cost of the scales.

    A row that is invalid in any column is excluded from all counts and sums, as it is from Sigma.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no spread, or too few units     a scale that is rather too large, at least 1 or half the width of its bounds;
                                    a warning names the column
    no units, few units             the same for all columns
    heavy tails                     squares are clipped, so scales are low; a warning names the column
    ==============================  ==================================================================
    """
    # 0
    units = _with_declared(units, standard)
    if not (standard.buy_mean or standard.buy_scale):
        return Standardised(units=units, mean=standard.mean, scale=standard.scale)
    rows_of(units)  # refused before anything is charged
    ask = standard.n is None and not units.number_is_public
    shares = [COUNT_SHARE * ask, MEAN_SHARE * standard.buy_mean, SCALE_SHARE * standard.buy_scale]
    mu_count, mu_mean, mu_scale, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    n_hat = buy_count(units, n=standard.n, mu=mu_count).value
    mean, scale, bought = standard.mean, standard.scale, None
    if standard.buy_scale:
        # 2, 3, 4
        mu_mean = mu_mean if standard.buy_mean else 0.0
        found, bought = _mean_and_scales(units, standard, n_hat=n_hat, mu_mean=mu_mean, mu_scale=mu_scale)
        own = np.ones(units.d)
        own[bought.columns] = bought.scale
        found = np.asarray(to_single(found / own), dtype=np.float64)
        units = replace(units, operator=rescaled(rows_of(units), own))
        units = units.shifted(found) if standard.buy_mean else units
        scale = own if scale is None else scale * own
    else:
        # 3
        found, units = buy_mean(units, n_hat=n_hat, mu=mu_mean)
    if standard.buy_mean:
        mean = standard.in_own_units(found, scale)
    # 5
    return Standardised(
        units=replace(units, budget=replace(units.budget, mu=mu)),
        mean=mean,
        scale=scale,
        scale_errors=None if bought is None else _all_columns(bought, units.d),
        n_hat=n_hat,
        warnings=() if bought is None else tuple(scale_warnings(bought, standard.labels(bought.columns))),
    )


def _with_declared(units: Units, standard: Standard) -> Units:
    """Step 0."""
    declared = (
        ("column scales", standard.scale, standard.declared, Purpose.SCALE),
        ("mean", standard.mean, None, Purpose.MEAN),
        ("column bounds", standard.middle, standard.bounded, Purpose.BOUND),
    )
    for what, given, which, purpose in declared:
        if given is not None and (which is None or len(which)):
            note = "declared by the caller" + ("" if which is None else f": {', '.join(which)}")
            units.veil.ledger.declare(what, note=note, purpose=purpose)
    if standard.flags:
        note = f"0 and 1, by type: {', '.join(standard.flags)}"
        units.veil.ledger.declare("column bounds", note=note, purpose=Purpose.BOUND)
    operator = units.operator
    if standard.scale is not None:
        operator = rescaled(rows_of(units), standard.scale)
    for subtracted in (standard.mean, standard.middle):
        if subtracted is not None:
            operator = operator.shifted(subtracted if standard.scale is None else subtracted / standard.scale)
    return replace(units, operator=operator)


def _mean_and_scales(
    units: Units, standard: Standard, *, n_hat: float, mu_mean: float, mu_scale: float
) -> tuple[FloatArray, ColumnScales]:
    """Steps 2 to 4: buy the mean of the rows (0 if none is bought) and the scales."""
    columns, all_of_them = standard.private, standard.private.size == units.d
    note = "" if all_of_them else f"columns {', '.join(standard.labels(columns))}"
    half = np.full(columns.size, np.inf) if standard.half is None else standard.half[columns]
    # 2
    rough, mu_left = buy_rough_moments(
        units, columns, half=half, centred=standard.buy_mean, n_hat=n_hat, mu=mu_scale, note=note
    )
    centre, spread = np.zeros(units.d), np.ones(units.d)
    centre[columns], spread[columns] = rough.centre, to_single(rough.spread)
    near = units.shifted(centre)
    near = replace(near, operator=rescaled(rows_of(near), spread))
    # 3
    mean = None
    if standard.buy_mean:
        mean = private_mean(near.vectors(), n_hat=rough.n, mu=mu_mean, veil=units.veil)
        centre = centre + np.asarray(to_single(mean.value)) * spread
    # 4
    return centre, buy_scales(near, rough, mu=mu_left, mean=mean)


def _all_columns(bought: ColumnScales, d: int) -> FloatArray:
    errors = np.zeros(d)
    errors[bought.columns] = bought.error
    return errors


def rows_of(units: Units) -> RowsOperator | PeopleOperator:
    """Return the operator of units that consist of rows, or raise."""
    if not made_of_rows(units.operator):
        raise InvalidInputError(
            "units given as matrices have no rows, so they cannot be centred or scaled.",
            hint="Use center=False and scale=None, or give rows or people.",
        )
    return units.operator
