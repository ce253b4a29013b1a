"""Private scales of columns: their standard deviations, whatever the shape of a column.

BuyScales({x_i}, columns, n_hat, mu):
  Look, for every column:
  1  c <- 0; three times:                                    # only where no bounds are public and a mean is bought
       R <- the distance from c within which 60 % of the units lie, as far as noisy counts in octaves show
       c <- c + noisy mean of clip(x - c, R)
  2  noisy counts of the units by |x - c|, in octaves; bins that noise may have made up are taken as empty
     E2, E4 <- second and fourth moment of what is left, roughly
     unknown, if that is nothing, or if its spread is a fifth of the last R or less: then c has not come to rest,
     and all but a few units may be at one point
     n <- as many units as were seen in one column, if n_hat is more: it may count units that are bad
  Measure, for all columns together:
  3  a <- ((x_1 - c_1)^2 / sqrt(E4_1), ...), a vector per unit; V <- sqrt(E4) times its noisy mean, clipped to
     length r = 2.5 sqrt(columns) + 5, or up to 8 times that where noise is small;
     V <- V - (mean - c)^2, if a mean is known well enough
  4  V <- V + max(0, V - E2 - 2 noise): what lies beyond the counted bins, once more for what lies beyond the clip
     V <- V + 2 noise, if it is below 4 noise;  unknown, if E2 < V/5
  5  scale <- sqrt(V); where unknown, a number that is rather too large
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import to_single
from eigenveil.mechanisms.clipped_mean import Given, clipped_mean, mean_noise
from eigenveil.mechanisms.columns import ColumnCounts, column_counts, column_sums
from eigenveil.mechanisms.noisy import NoisyMean
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import Units

EDGES: FloatArray = np.exp2(np.arange(-128, 128) + 0.5)
"""Edges of the octaves. Powers of two, such as the 1 of a flag, lie in the middle of a bin."""
SHARES, TURNS = (0.31, 0.27), ((0.04, 0.18), (0.04, 0.06), (0.04, 0.06))
"""Shares of mu^2: for counts (step 2) and squares (step 3), and for counts and sum of each turn of step 1. Where
there are no turns, they leave their shares to the others."""
SURE, LIKELY = 5.5, 3.0
"""A bin counts above so many standard deviations of its noise: by itself, or with its two neighbours; and beside
one that does."""
_STEPS = 3
"""How far from sure bins likely ones are looked for."""
_HELD = 0.6
_AT_REST = 5.0
_ONE_POINT = 0.8
"""The share of all units in one octave above which they may be one point; where no centre is looked for."""
_NOISY, _ADDED = 4.0, 2.0
_LITTLE = 0.02
"""Noise in units of sqrt(E4) up to which squares are clipped later than they need be."""
_HEAVY = 0.2
"""The share of the variance from beyond the counted bins at which a tail is called heavy."""
_BEYOND = 5.0
_WELL_KNOWN = 0.2
"""Noise of a mean, over a column's spread, up to which the mean is of use."""
_UNSURE = 0.5
"""How much of what was added for the tail is in doubt."""

_RANGE = 2.0**-126, 2.0**126
"""Scales that single precision holds."""

_SECOND: FloatArray = EDGES**2 * (7 / 12)
_FOURTH: FloatArray = EDGES**4 / 4
_SECOND[0] = _FOURTH[0] = 0.0  # all that is smaller is 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """What is roughly known of some columns: releases, and what follows from them.

    Parameters
    ----------
    columns : array of int
        Which columns.
    centre : array
        About where their units lie.
    second, fourth : array
        Rough second and fourth moments around that; not of use where `unknown`.
    safe : array
        A scale that is rather too large.
    unknown : array of bool
        Where nothing but `safe` is known.
    n : float
        About how many good units there are.
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
        """A rough scale."""
        return np.where(self.unknown, self.safe, np.sqrt(np.where(self.unknown, 1.0, self.second)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnScales:
    """Bought scales.

    Parameters
    ----------
    columns : array of int
        Which columns.
    scale : array
        Above 0 and finite.
    error : array
        Relative standard errors: noise, the chance of which units came, and doubt about the tail. 0 where unknown.
    unknown : array of bool
        Nothing could be told: the scale is a number that is rather too large.
    noisy : array of bool
        Noise is more than a quarter of the variance; two standard deviations of it were added.
    beyond : array
        The share of the variance that comes from beyond the counted bins. Above .2 a tail is heavy, and the scale
        rather too small.
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
    """How often `look` and `measure` read the data."""
    return 2 + 2 * len(TURNS) * centred


def look(
    units: Units,
    columns: IntArray,
    *,
    half: FloatArray,
    centred: bool,
    n_hat: float,
    mu: float,
    note: str = "",
) -> tuple[Look, float]:
    """Steps 1 and 2, and the mu that they leave for the others.

    Parameters
    ----------
    units : Units
        Rows or people, less what is public of their middle.
    columns : array of int
        Which columns.
    half : array
        For each of them half the width of its public bounds, around 0; infinite where there are none.
    centred : bool
        Whether a mean is to be bought, so that columns may lie anywhere.
    n_hat : float
        About how many units there are.
    mu : float
        What all steps may cost.
    note : str
        What the ledger says of every entry: which columns.

    Formal guarantees
    -----------------
    Both relations. `column_counts` and `column_sums` in sequence, with the sensitivities proven there and fixed
    shares of mu^2; radii and centres follow from earlier releases. With `measure` for what is left, mu-GDP.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             all unknown
    a constant, a rare flag         unknown: all but a few units may be at one point
    bounds that do not hold         other scales, never another cost
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
        counts = buying.counts(shifted, where, mus[2 * turn], f"column centres {turn + 1}: counts")
        radius[search] = _radius(counts)
        sums = buying.sums(shifted, where, radius[search], mus[2 * turn + 1], f"column centres {turn + 1}: sum")
        centre[where] = to_single(centre[where] + sums / buying.good_units(counts))
        widest = np.maximum(widest, radius)
    # 2
    counts = buying.counts(units.shifted(centre), columns, mu_counts, "column scales: counts")
    seen = _seen(counts)
    n = buying.good_units(counts)
    second, fourth = (seen @ moment / n for moment in (_SECOND, _FOURTH))
    bounded = np.isfinite(half)
    fourth = np.minimum(fourth, np.where(bounded, half, np.inf) ** 4)
    unknown = ~(fourth > 0)
    unknown[search] |= np.sqrt(second[search]) <= radius[search] / _AT_REST
    if not centred:
        unknown |= ~bounded & (seen.max(axis=1) > _ONE_POINT * n)
        widest = _radius(counts)
    safe = np.where(bounded, half, np.maximum(1.0, widest))
    return Look(
        n=n, columns=columns, centre=centre[columns], second=second, fourth=fourth, safe=safe, unknown=unknown
    ), mu_left


def measure(units: Units, rough: Look, *, mu: float, mean: NoisyMean | None = None) -> ColumnScales:
    """Steps 3 to 5: the scales of columns that were looked at.

    Parameters
    ----------
    units : Units
        The same as those that were looked at, less `rough.centre` and divided by `rough.spread`.
    rough : Look
        What `look` returned.
    mu : float
        What `look` left.
    mean : NoisyMean, optional
        Public: the mean of all columns of these units. None: scales are meant around 0.

    Formal guarantees
    -----------------
    Both relations. One clipped sum of vectors (`noisy_clipped_sum`): mu-GDP. A unit's vector is a function of its
    own rows and of releases, to the bit. All else is post-processing.

    A column of heavy tails is clipped: `beyond` says how much of its variance lay beyond the bins that were
    counted. It counts for the others only by its share of the vector's length.
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
    """What all counts and sums have in common."""

    n_hat: float
    veil: Veil
    note: str

    def good_units(self, counts: ColumnCounts) -> float:
        """About how many units are good: n_hat, or as many as were seen in one column if that is less."""
        seen = float(_seen(counts).sum(axis=1).max())
        return min(self.n_hat, seen) if seen > 0 else self.n_hat

    def counts(self, units: Units, columns: IntArray, mu: float, what: str) -> ColumnCounts:
        """Of units by their distance from 0."""
        return column_counts(
            units.columns(columns, squared=True),
            EDGES**2,
            mu=mu,
            veil=self.veil,
            what=what,
            note=self.note,
            purpose=Purpose.SCALE,
        )

    def sums(self, units: Units, columns: IntArray, radii: FloatArray, mu: float, what: str) -> FloatArray:
        """Of numbers that are clipped to radii."""
        return column_sums(
            units.columns(columns), radii, mu=mu, veil=self.veil, what=what, note=self.note, purpose=Purpose.SCALE
        ).value


def _seen(counts: ColumnCounts) -> FloatArray:
    """The counts of bins that noise can hardly have made up; 0 in all others.

    Exact zeros, in the first bin, have no bins beside them.
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
    """The edge within which 60 % of the units lie that were seen; the smallest one if none were."""
    seen = _seen(counts)
    enough = np.cumsum(seen, axis=1) >= _HELD * seen.sum(axis=1, keepdims=True)
    found: FloatArray = EDGES[np.argmax(enough, axis=1)]
    return found
