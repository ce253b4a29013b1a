"""Private scales of columns: their standard deviations, for columns of any distribution.

BuyScales({x_i}, columns, n_hat, mu):
  Rough moments, for every column:
  1  c <- 0; three times:                                    # only where no bounds are public and a mean is bought
       R <- the distance from c within which 60 % of the units lie, by noisy counts in octaves
       c <- c + noisy mean of clip(x - c, R)
  2  noisy counts of the units by |x - c|, in octaves; bins that may be due to noise count as empty
     E2, E4 <- rough second and fourth moment of the remaining bins
     unknown, if no bin remains, or if their spread is at most a fifth of the last R: then c has not converged,
     and all but a few units may be at one point
     n <- the largest number of units found in one column, if n_hat exceeds it: n_hat may include invalid units
  Scales, for all columns at once:
  3  a <- ((x_1 - c_1)^2 / sqrt(E4_1), ...), a vector per unit; V <- sqrt(E4) times its noisy mean, clipped to
     length r = 2.5 sqrt(columns) + 5, or up to 8 times that if noise is small;
     V <- V - (mean - c)^2, if a mean is known accurately enough
  4  V <- V + max(0, V - E2 - 2 noise): the variance from beyond the counted bins is added once more, for the
     variance from beyond the clip
     V <- V + 2 noise, if V is below 4 noise;  unknown, if E2 < V/5
  5  scale <- sqrt(V); if unknown, a number that is likely too large
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import to_single
from eigenveil.mechanisms.clipped_mean import Given, clipped_mean, mean_noise
from eigenveil.mechanisms.columns import ColumnCounts, column_counts, column_sums
from eigenveil.mechanisms.noise.noisy import NoisyMean
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import Units

EDGES: FloatArray = np.exp2(np.arange(-128, 128) + 0.5)
"""Edges of the octaves. Powers of two, such as the value 1 of a flag, lie in the middle of a bin."""
SHARES, TURNS = (0.31, 0.27), ((0.04, 0.18), (0.04, 0.06), (0.04, 0.06))
"""Shares of mu^2: for counts (step 2) and squares (step 3), and for counts and sum of each turn of step 1. Without
turns, their shares go to the others."""
SURE, LIKELY = 5.5, 3.0
"""Thresholds of a bin, in standard deviations of its noise: SURE for one bin alone, or for the sum with its two
neighbours; LIKELY for a bin next to a sure one."""
_STEPS = 3
"""Largest distance, in bins, of a likely bin from a sure one."""
_HELD = 0.6
_AT_REST = 5.0
_ONE_POINT = 0.8
"""Share of all units in one octave above which they may be at one point, if no centre is searched for."""
_NOISY, _ADDED = 4.0, 2.0
_LITTLE = 0.02
"""Noise, in units of sqrt(E4), up to which the clipping radius of squares is enlarged."""
_HEAVY = 0.2
"""Share of the variance from beyond the counted bins above which a tail is heavy."""
_BEYOND = 5.0
_WELL_KNOWN = 0.2
"""Noise of a mean, in units of a column's spread, up to which the mean is used."""
_UNSURE = 0.5
"""Uncertain share of the variance that was added for the tail."""

_RANGE = 2.0**-126, 2.0**126
"""Range of scales that single precision can represent."""

_SECOND: FloatArray = EDGES**2 * (7 / 12)
_FOURTH: FloatArray = EDGES**4 / 4
_SECOND[0] = _FOURTH[0] = 0.0  # all smaller values count as 0


@dataclass(frozen=True, kw_only=True, eq=False)
class RoughMoments:
    """Rough moments of some columns: releases, and post-processing of releases.

    Parameters
    ----------
    columns : array of int
        Indices of the columns.
    centre : array
        Approximate location of the units in each column.
    second, fourth : array
        Rough second and fourth moments around `centre`; invalid where `unknown`.
    safe : array
        Scale that is likely too large.
    unknown : array of bool
        Columns of which only `safe` is known.
    n : float
        Approximate number of valid units.
    """

    n: float
    columns: IntArray
    centre: FloatArray
    second: FloatArray
    fourth: FloatArray
    safe: FloatArray
    unknown: BoolArray

    @property
    def spread(self) -> FloatArray:
        """Rough scale of each column."""
        return np.where(self.unknown, self.safe, np.sqrt(np.where(self.unknown, 1.0, self.second)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnScales:
    """Bought scales of columns.

    Parameters
    ----------
    columns : array of int
        Indices of the columns.
    scale : array
        Scales, above 0 and finite.
    error : array
        Relative standard errors: noise, sampling error, and uncertainty about the tail. 0 where unknown.
    unknown : array of bool
        Columns whose scale could not be determined. Their `scale` is likely too large.
    noisy : array of bool
        Columns whose noise is more than a quarter of the variance. Two standard deviations of it were added.
    beyond : array
        Share of the variance that comes from beyond the counted bins. Above .2 a tail is heavy, and the scale is
        likely too small.
    """

    columns: IntArray
    scale: FloatArray
    error: FloatArray
    unknown: BoolArray
    noisy: BoolArray
    beyond: FloatArray

    @property
    def heavy(self) -> BoolArray:
        """Columns with a heavy tail."""
        return ~self.unknown & ~self.noisy & (self.beyond > _HEAVY)


def most_passes(*, centred: bool) -> int:
    """Return the maximal number of passes over the data in `buy_rough_moments` and `buy_scales`."""
    return 2 + 2 * len(TURNS) * centred


def buy_rough_moments(
    units: Units,
    columns: IntArray,
    *,
    half: FloatArray,
    centred: bool,
    n_hat: float,
    mu: float,
    note: str = "",
) -> tuple[RoughMoments, float]:
    """Steps 1 and 2: buy rough moments, and return the mu that is left for the other steps.

    Parameters
    ----------
    units : Units
        Rows or people, minus the public middle of their columns.
    columns : array of int
        Indices of the columns.
    half : array
        For each column, half the width of its public bounds, which are around 0. Infinite if it has none.
    centred : bool
        Whether a mean is to be bought, so that columns may be located anywhere.
    n_hat : float
        Approximate number of units.
    mu : float
        Privacy budget of all steps.
    note : str
        Note for every entry in the ledger, which names the columns.

    Formal guarantees
    -----------------
    Both relations. `column_counts` and `column_sums` in sequence, with the sensitivities proven there and fixed
    shares of mu^2. Radii and centres follow from earlier releases. Together with `buy_scales`, which gets the mu
    that is left, this is mu-GDP.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             all unknown
    a constant, a rare flag         unknown: all but a few units may be at one point
    bounds that do not hold         other scales, never a higher cost
    ==============================  ==================================================================
    """
    search = np.flatnonzero(~np.isfinite(half)) if centred else np.zeros(0, dtype=np.int64)
    turns = TURNS if search.size else ()
    mu_counts, mu_left, *mus = split_mu(mu, [*SHARES, *(share for turn in turns for share in turn)])
    buying = _Buying(n_hat=max(n_hat, 1.0), veil=units.veil, note=note)
    centre, radius, widest = np.zeros(units.d), np.zeros(columns.size), np.zeros(columns.size)
    # 1
    for turn in range(len(turns)):
        where = columns[search]
        shifted = units.shifted(centre)
        counts = buying.buy_counts(shifted, where, mus[2 * turn], f"column centres {turn + 1}: counts")
        radius[search] = _radius(counts)
        what = f"column centres {turn + 1}: sum"
        sums = buying.buy_sums(shifted, where, radius[search], mus[2 * turn + 1], what)
        centre[where] = to_single(centre[where] + sums / buying.valid_units(counts))
        widest = np.maximum(widest, radius)
    # 2
    counts = buying.buy_counts(units.shifted(centre), columns, mu_counts, "column scales: counts")
    seen = _seen(counts)
    n = buying.valid_units(counts)
    second, fourth = (seen @ moment / n for moment in (_SECOND, _FOURTH))
    bounded = np.isfinite(half)
    fourth = np.minimum(fourth, np.where(bounded, half, np.inf) ** 4)
    unknown = ~(fourth > 0)
    unknown[search] |= np.sqrt(second[search]) <= radius[search] / _AT_REST
    if not centred:
        unknown |= ~bounded & (seen.max(axis=1) > _ONE_POINT * n)
        widest = _radius(counts)
    safe = np.where(bounded, half, np.maximum(1.0, widest))
    return RoughMoments(
        n=n, columns=columns, centre=centre[columns], second=second, fourth=fourth, safe=safe, unknown=unknown
    ), mu_left


def buy_scales(units: Units, rough: RoughMoments, *, mu: float, mean: NoisyMean | None = None) -> ColumnScales:
    """Steps 3 to 5: buy the scales of columns whose rough moments are known.

    Parameters
    ----------
    units : Units
        The units of `buy_rough_moments`, minus `rough.centre` and divided by `rough.spread`.
    rough : RoughMoments
        Result of `buy_rough_moments`.
    mu : float
        The mu that `buy_rough_moments` left.
    mean : NoisyMean, optional
        Mean of all columns of these units; public. None: scales are computed around 0.

    Formal guarantees
    -----------------
    Both relations. One clipped sum of vectors (`noisy_clipped_sum`): mu-GDP. The vector of a unit is a function of
    its own rows and of releases, bit by bit. All else is post-processing.

    A column with heavy tails is clipped: `beyond` is the share of its variance from beyond the counted bins. Other
    columns are affected only by its share of the vector's length.
    """
    known = np.flatnonzero(~rough.unknown)
    value, noise = np.zeros(rough.columns.size), np.zeros(rough.columns.size)
    if known.size:
        # 3
        weight = np.sqrt(rough.fourth[known])
        radius = 2.5 * math.sqrt(known.size) + 5.0
        noise_of = mean_noise(radius, mu=mu, n_hat=rough.n, relation=units.veil.relation)
        radius *= min(max(_LITTLE / noise_of, 1.0), 8.0)
        squares = units.squares(rough.columns[known], rough.second[known] / weight, radius)
        found = clipped_mean(
            squares,
            centre=np.zeros(known.size),
            n_hat=rough.n,
            radius=Given(radius),
            mu=mu,
            veil=units.veil,
            what_sum="column scales: squares",
            purpose=Purpose.SCALE,
        )
        value[known], noise[known] = found.value * weight, found.noise * weight
    if mean is not None and mean.noise < _WELL_KNOWN:
        value -= rough.second * np.maximum(mean.value[rough.columns] ** 2 - mean.noise**2, 0.0)
    # 4
    positive = value > 0
    size = np.where(positive, value, 1.0)
    beyond = np.where(positive, np.maximum(0.0, value - rough.second - 2 * noise), 0.0)
    unknown = rough.unknown | ~positive | (rough.second < value / _BEYOND)
    variance = value + beyond
    noisy = ~unknown & (variance < _NOISY * noise)
    variance = np.where(noisy, variance + _ADDED * noise, variance)
    # 5
    safe = np.maximum(rough.safe, np.sqrt(np.maximum(variance, 0.0)))
    scale = np.where(unknown, safe, np.sqrt(np.where(unknown, 1.0, variance)))
    spread = np.where(unknown, 1.0, variance)
    chance = np.maximum(rough.fourth / spread**2 - 1, 0.0) / rough.n
    error = np.sqrt((noise / spread) ** 2 + chance + (_UNSURE * beyond / spread) ** 2) / 2
    return ColumnScales(
        columns=rough.columns,
        scale=np.asarray(to_single(np.clip(scale, *_RANGE)), dtype=np.float64),
        error=np.where(unknown, 0.0, error),
        unknown=unknown,
        noisy=noisy,
        beyond=beyond / size,
    )


@dataclass(frozen=True, kw_only=True)
class _Buying:
    """Number of units, veil and note, which all counts and sums share."""

    n_hat: float
    veil: Veil
    note: str

    def valid_units(self, counts: ColumnCounts) -> float:
        """Return the approximate number of valid units: n_hat, or the most units found in one column if fewer."""
        seen = float(_seen(counts).sum(axis=1).max())
        return min(self.n_hat, seen) if seen > 0 else self.n_hat

    def buy_counts(self, units: Units, columns: IntArray, mu: float, what: str) -> ColumnCounts:
        """Buy the counts of units by their distance from 0."""
        return column_counts(
            units.columns(columns, squared=True),
            EDGES**2,
            mu=mu,
            veil=self.veil,
            what=what,
            note=self.note,
            purpose=Purpose.SCALE,
        )

    def buy_sums(self, units: Units, columns: IntArray, radii: FloatArray, mu: float, what: str) -> FloatArray:
        """Buy the sums of values clipped to `radii`."""
        return column_sums(
            units.columns(columns), radii, mu=mu, veil=self.veil, what=what, note=self.note, purpose=Purpose.SCALE
        ).value


def _seen(counts: ColumnCounts) -> FloatArray:
    """Return the counts of bins that are unlikely to be due to noise alone, and 0 in all other bins.

    The first bin, of exact zeros, has no neighbouring bins.
    """
    sure, likely = (counts.value > times * counts.noise for times in (SURE, LIKELY))
    three = np.zeros_like(counts.value)
    three[:, 2:-1] = counts.value[:, 1:-2] + counts.value[:, 2:-1] + counts.value[:, 3:]
    sure |= likely & (three > SURE * math.sqrt(3.0) * counts.noise)
    for _ in range(_STEPS):
        beside = np.zeros_like(sure)
        beside[:, 2:] |= sure[:, 1:-1]
        beside[:, 1:-1] |= sure[:, 2:]
        sure |= beside & likely
    return np.where(sure, counts.value, 0.0)


def _radius(counts: ColumnCounts) -> FloatArray:
    """Return the edge within which 60 % of the counted units lie, or the smallest edge if none were counted."""
    seen = _seen(counts)
    enough = np.cumsum(seen, axis=1) >= _HELD * seen.sum(axis=1, keepdims=True)
    found: FloatArray = EDGES[np.argmax(enough, axis=1)]
    return found
