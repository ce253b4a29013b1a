"""The frame of the columns: where their values lie and how far they spread, roughly, by noisy counts.

BuyFrame({x_i}, n_hat, mu):
  c <- the point within the public bounds of each column that is closest to 0; all columns are open
  up to 4 times, for the columns that are still open:
  1  counts <- noisy numbers of units by x - c, in octaves; the first time with signs       # at most 12 % of mu^2
     bins whose counts noise may explain, and bins that no point within the bounds can be in, count as empty
     E2 <- mean square of the others
  2  shift <- mean of x - c: from the counts the first time, then by a noisy clipped sum               # 2 %
     c <- c + shift, if any bin away from 0 is not empty
     the column is closed if shift^2 <= .2 E2, or <= .5 E2 if units are seen in 3 octaves; in the last turn, these
     suffice. Its spread is then the root of E2 - shift^2
  columns in which no bin was found: mean and spread of all their counts taken together, or half their bounds
  other columns that are never closed: the root of .1 of the first E2. Too little was found of them later, or
  nearly all of their units are at one point

With more than 50,000 units, the frame is that of a random sample of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.special import ndtri

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import to_single
from eigenveil.mechanisms.columns import ColumnCounts, column_counts, column_sums
from eigenveil.privacy import Purpose
from eigenveil.units import PrivateUnits

EDGES: FloatArray = np.exp2(np.arange(-128, 128) + 0.5)
"""Edges of the octaves. Powers of two, such as the value 1 of a flag, lie in the middle of a bin."""
TURNS = 4
COUNT_NOISE, MOST_COUNTS, SUM_SHARE = 0.005, 0.12, 0.02
"""Noise of a count, as a share of the units; the largest share of mu^2 that counts of one turn may cost for it;
and the share of mu^2 for the sums of one turn."""
MOST_UNITS = 50_000
"""Size of the sample, approximately. A frame is rough, so more units would only take longer."""
CENTRED = 0.2
"""Largest share of the mean square that a shift may explain if the column is to be closed. A column with all units
at one point is not: its E2 is at most 7/3 of the square of their distance, which is the shift."""
OCTAVES, WIDE = 3, 0.5
"""Number of octaves that units at one or two points cannot fill, and the share that closes a column which does."""
FIRST = 0.1
"""Share of the first E2 that is taken as the variance of a column that is never closed: its centre came closer."""
HELD = 0.6
"""Share of the counted units within the radius to which sums are clipped."""
SURE, LIKELY, FAR = 0.001, 0.01, 1e-5
"""Chance that noise alone makes up a first bin in any column; another one, which falls by 8 per octave of distance
from the first, since its mean square grows by 4; and another one anywhere. Octaves far from 1, or from the bounds,
are less likely."""
_PRIOR_OCTAVES = 4
_BINS = EDGES.size
_ONE = int(np.searchsorted(EDGES, 1.0))
_MIDDLE: FloatArray = EDGES * 0.75
_SQUARE: FloatArray = EDGES**2 * (7 / 12)
_MIDDLE[0] = _SQUARE[0] = 0.0  # all smaller values count as 0
_SIGNED = np.stack([_MIDDLE, -_MIDDLE])
_LEAST, _MOST = 2.0**-100, 2.0**100

UnitsT = TypeVar("UnitsT", bound=PrivateUnits)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnBounds:
    """Public bounds of the columns; infinite for columns without bounds."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def none(cls, d: int) -> ColumnBounds:
        """Return the bounds of d columns without any."""
        return cls(low=np.full(d, -np.inf), high=np.full(d, np.inf))

    def divided(self, scale: FloatArray) -> ColumnBounds:
        """Return the bounds of the same columns, divided by their scales."""
        return ColumnBounds(low=self.low / scale, high=self.high / scale)

    def reach(self, centre: FloatArray) -> FloatArray:
        """Return the largest distance from `centre` within the bounds."""
        return np.maximum(self.high - centre, centre - self.low)


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """Frame of the columns: releases, and post-processing of releases.

    Parameters
    ----------
    centre, spread : array of shape (d,)
        Rough location of the units, and their rough standard deviation; single precision.
    unknown : array of bool
        Columns that were never closed: nearly all units may be at one point, or be too few. Their spread is the
        root mean square distance from where the search began, as far as that is known, else half the width of
        their bounds, or 1.
    cost : float
        The mu that was spent.
    """

    centre: FloatArray
    spread: FloatArray
    unknown: BoolArray
    cost: float

    def applied(self, units: UnitsT) -> UnitsT:
        """Return the units in this frame: minus the centre, divided by the spread."""
        return units.shifted(self.centre).rescaled(self.spread)


def most_passes(*, centred: bool) -> int:
    """Return the maximal number of passes over the data in `buy_frame`."""
    return 2 * TURNS - 1 if centred else 1


def buy_frame(
    units: PrivateUnits,
    columns: IntArray,
    *,
    n_hat: float,
    mu: float,
    bounds: ColumnBounds | None = None,
    centred: bool = True,
    note: str = "",
) -> Frame:
    """Buy the frame of some columns. The others have centre 0 and spread 1.

    Parameters
    ----------
    units : PrivateUnits
        Rows or people.
    columns : array of int
        Indices of the columns.
    n_hat : float
        Approximate number of units; public.
    mu : float
        Privacy budget of the run. At most a share of 54 % of mu^2 is spent, and little of it with many units.
    bounds : ColumnBounds, optional
        Public bounds.
    centred : bool
        Whether columns may be located anywhere. If not, the centre is 0, and one turn of counts is all.
    note : str
        Note in the ledger.

    Formal guarantees
    -----------------
    Both relations. `column_counts` and `column_sums` in sequence, with the sensitivities proven there: together
    `cost`-GDP. Which columns are open, centres, radii and the cost of every turn are functions of public numbers
    and of earlier releases. In a Poisson sample, a unit is absent or contributes as it does here. So the same
    sensitivities hold for every outcome of the coins, which do not depend on data. No amplification is claimed.

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units             unknown columns
    a constant, a rare flag         the centre is near it; the spread is its distance from where the search began
    bounds that do not hold         units beyond them are not counted; the cost is the same
    nan, inf, a square overflows    such a row is excluded; a unit without any other row is not counted
    ==============================  ==================================================================
    """
    d = units.d
    bounds = ColumnBounds.none(d) if bounds is None else bounds
    centre = np.asarray(to_single(np.clip(np.zeros(d), bounds.low, bounds.high)), dtype=np.float64)
    half = (bounds.high - bounds.low) / 2
    bounded = np.isfinite(half)
    spread, unknown = np.where(bounded, half, 1.0), np.ones(d, dtype=bool)
    spread[np.setdiff1d(np.arange(d), columns)] = 1.0
    rate = min(1.0, MOST_UNITS / max(n_hat, 1.0))
    some = units if rate == 1.0 else next(units.sampled(rate))
    buying = _Buying(n=max(rate * n_hat, 1.0), mu=mu, units=some, columns=max(columns.size, 1), note=note)
    open_, turn = columns, 0
    while open_.size and turn < (TURNS if centred else 1):
        turn += 1
        signed = turn == 1 and centred
        # 1
        counts = buying.counts(turn, open_, centre, signed=signed)
        seen = stand_out(counts, bounds.reach(centre)[open_], bounded[open_])
        found: BoolArray = np.any(seen[:, :, 1:], axis=(1, 2))
        # 2
        second = _mean(seen, _SQUARE)
        if signed:
            shift = _mean(seen, _SIGNED)
        else:
            shift = buying.mean(turn, open_, centre, seen) if centred else np.zeros(open_.size)
        shift = np.where(found, shift, 0.0)
        lost = ~found & ~bounded[open_]
        if turn == 1 and lost.any():
            together = stand_out(counts.together(lost), np.array([np.inf]), np.zeros(1, dtype=bool))
            shift[lost] = _mean(together, _SIGNED)[0] if signed else 0.0
            second[lost] = _mean(together, _SQUARE)[0]
        wide: BoolArray = np.sum(np.any(seen[:, :, 1:], axis=1), axis=1) >= OCTAVES
        closed = found & (shift**2 <= np.where(wide, WIDE, CENTRED) * second)
        closed |= found & wide & (turn == TURNS)
        if turn == 1:
            first = second > 0
            spread[open_[first]] = np.sqrt(np.where(found, FIRST, 1.0) * second)[first]
        spread[open_[closed]] = np.sqrt(np.maximum(second - shift**2, second / 4))[closed]
        unknown[open_[closed]] = False
        centre[open_] = to_single(np.clip(centre[open_] + shift, bounds.low[open_], bounds.high[open_]))
        open_ = open_[found & ~closed]
    return Frame(
        centre=centre,
        spread=np.asarray(to_single(np.clip(spread, _LEAST, _MOST)), dtype=np.float64),
        unknown=unknown,
        cost=buying.cost,
    )


@dataclass(kw_only=True)
class _Buying:
    """Number of units, budget and note, which all turns share, and what they have cost."""

    n: float
    mu: float
    units: PrivateUnits
    columns: int
    note: str
    cost: float = 0.0

    def counts(self, turn: int, columns: IntArray, centre: FloatArray, *, signed: bool) -> ColumnCounts:
        """Buy counts of x - c: of the mean row of a unit with signs, else of its root mean square."""
        share = columns.size / self.columns  # the fewer columns are open, the less costs the same noise
        mu = min(math.sqrt(columns.size) / (COUNT_NOISE * self.n), math.sqrt(MOST_COUNTS * share) * self.mu)
        self.cost = math.hypot(self.cost, mu)
        return column_counts(
            self.units.shifted(centre).columns(columns, squared=not signed),
            EDGES if signed else EDGES**2,
            mu=mu,
            veil=self.units.veil,
            signed=signed,
            what=f"frame {turn}: counts",
            note=self.note,
            purpose=Purpose.SCALE,
        )

    def mean(self, turn: int, columns: IntArray, centre: FloatArray, seen: FloatArray) -> FloatArray:
        """Buy sums of x - c, clipped where `HELD` of the counted units lie, and return the means."""
        within = np.cumsum(seen[:, 0], axis=1)
        radii = EDGES[np.argmax(within >= HELD * within[:, -1:], axis=1)]
        mu = math.sqrt(SUM_SHARE * columns.size / self.columns) * self.mu
        self.cost = math.hypot(self.cost, mu)
        sums = column_sums(
            self.units.shifted(centre).columns(columns),
            radii,
            mu=mu,
            veil=self.units.veil,
            what=f"frame {turn}: sums",
            note=self.note,
            purpose=Purpose.SCALE,
        )
        counted = float(within[:, -1].max())
        return sums.value / (min(self.n, counted) if counted > 0 else self.n)


def stand_out(counts: ColumnCounts, reach: FloatArray, bounded: BoolArray) -> FloatArray:
    """Return the counts that noise is unlikely to explain, and 0 for the others: shape (columns, signs, bins).

    The first bin of a column is the fullest one beyond its threshold. Others are likely near it. The bin of 0 is
    judged by itself. A bin beyond `reach` is empty.
    """
    value = counts.value.reshape(reach.size, -1, _BINS)
    p, signs, _ = value.shape
    octave, top = np.arange(_BINS), np.where(bounded, np.searchsorted(EDGES, reach), _ONE)[:, None]
    prior = np.exp2(-np.abs(octave - top) / _PRIOR_OCTAVES)
    prior[bounded[:, None] & (octave > top)] = 0.0
    prior /= signs * prior.sum(axis=1, keepdims=True)
    sure = counts.noise * -ndtri(SURE / p * prior)[:, None, :]
    stands = np.where(value > sure, value, 0.0)
    stands[:, :, 0] = 0.0
    sign, fullest = np.divmod(stands.reshape(p, -1).argmax(axis=1), _BINS)
    distance = np.abs(octave - fullest[:, None])[:, None, :] + (np.arange(signs)[:, None] != sign[:, None, None])
    near = np.where(prior > 0, 1.0, 0.0)[:, None, :] * LIKELY * 8.0 ** -np.minimum(distance, 100.0)
    chance = np.maximum(near, FAR / p * prior[:, None, :])
    any_: BoolArray = np.any(stands, axis=(1, 2), keepdims=True)
    kept = any_ & (value > counts.noise * -ndtri(chance))
    kept[:, :, 0] = value[:, :, 0] > counts.noise * -ndtri(SURE / p)
    return np.where(kept, value, 0.0)


def _mean(seen: FloatArray, of: FloatArray) -> FloatArray:
    """Return the mean over the units of each column of a number that depends on their bin; 0 without any unit."""
    out: FloatArray = np.sum(seen * of, axis=(1, 2)) / np.maximum(seen.sum(axis=(1, 2)), 1.0)
    return out
