"""Centre and scale the rows before components are bought, by declared or bought means and scales.

Standardise({A_i}, n_hat, mu):
  1  rows are divided by scales and a mean is subtracted, where these are declared public
  2  frame <- rough location and spread of the columns, within bounds if these are public            # see `frame`
  3  mean <- noisy mean of the rows in this frame; it is subtracted                                         # 5 %
  4  columns whose scales are to be bought are divided by their spread
  5  unless the scales will be taken from Sigma: noisy mean squares of these columns; they are divided by the
     roots                                                                                                 # 10 %

Without a mean to buy, step 3 is skipped, and step 2 counts the units by their distance from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.algorithms.frame import ColumnBounds, Frame, buy_frame
from eigenveil.algorithms.frame import most_passes as frame_passes
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.release_warnings import offset_components, poorly_known_mean, unknown_scales
from eigenveil.kernels import to_single
from eigenveil.mechanisms import AtQuantile, NoisyMean, clipped_mean
from eigenveil.mechanisms.radius import reachable_quantile
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import PrivateUnits

MEAN_SHARES, MEAN_NOISE = (0.01, 0.05), 0.03
"""Least and largest share of mu^2 for the mean, and its noise, in units of the spread, that decides how much."""
SCALE_SHARE = 0.1
"""Share of mu^2 for mean squares, where scales are not taken from Sigma."""
QUANTILE = 0.98
"""Share of the units within the radius of the mean, if noise does not hide where it is."""
_RADIUS_SHARE = 0.2
_USUAL_RADIUS = 1.5
"""Usual radius of a mean over the root of the number of columns, to guess its noise."""
_FAR = 25.0
"""Largest square that counts, in units of the squared spread."""
_CLEAR = 2.0
"""Standard deviations of noise below which a variance is not known."""

UnitsT = TypeVar("UnitsT", bound=PrivateUnits)


@dataclass(frozen=True, kw_only=True, eq=False)
class Standard:
    """How rows are centred and scaled.

    Parameters
    ----------
    mean, scale : array of shape (d,), optional
        Public mean and scales; the scale is 1 for columns without a declared one.
    bounds : ColumnBounds, optional
        Public bounds of the columns.
    private : array of int
        Columns whose scales are bought.
    buy_mean : bool
        Whether to buy a mean.
    names : sequence of str, optional
        Names of the columns, where they have any.
    declared : sequence of str, optional
        Labels of the columns with declared scales, if not all columns have one.
    bounded : sequence of str, optional
        The same for bounds.
    flags : sequence of str
        Labels of 0/1 columns, by type or encoding, that keep scale 1 although scales are bought.
    """

    mean: FloatArray | None = None
    scale: FloatArray | None = None
    bounds: ColumnBounds | None = None
    private: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    buy_mean: bool = False
    names: Sequence[str] | None = None
    declared: Sequence[str] | None = None
    bounded: Sequence[str] | None = None
    flags: Sequence[str] = ()

    @property
    def buys(self) -> bool:
        """Whether a mean or any scale is bought."""
        return self.buy_mean or self.private.size > 0

    @property
    def most_passes(self) -> int:
        """Upper bound on passes: a count, the frame, two for a mean, two for mean squares."""
        frame = 1 + frame_passes(centred=self.buy_mean) if self.buys else 0
        return frame + 2 * self.buy_mean + 2 * (self.private.size > 0)

    def note(self, *, everywhere: bool) -> str:
        """Return the note of a frame in the ledger: its columns, and those that keep scale 1."""
        notes = [] if everywhere else [f"columns {', '.join(self.labels(self.private))}"]
        notes += [f"0/1 by type or encoding, so of scale 1: {', '.join(self.flags)}"] * bool(self.flags)
        return "; ".join(notes)

    def labels(self, columns: IntArray) -> list[str]:
        """Return names of columns, or their positions if they have no names."""
        return [str(int(j)) if self.names is None else repr(self.names[j]) for j in columns]


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnScales:
    """Bought scales of columns, 1 for all others.

    Parameters
    ----------
    scale, errors : array of shape (d,)
        Scales in single precision, and their relative standard errors from noise and the number of units.
    unknown : array of bool
        Columns whose variance noise may explain. Their scale is that of noise, so they have little weight.
    """

    scale: FloatArray
    errors: FloatArray
    unknown: BoolArray

    @classmethod
    def of(cls, d: int, columns: IntArray, variances: FloatArray, *, noise: float, n_hat: float) -> ColumnScales:
        """Return the scales of some of d columns from their noisy variances: post-processing."""
        scale, errors, unknown = np.ones(d), np.zeros(d), np.zeros(d, dtype=bool)
        unknown[columns] = variances < _CLEAR * noise
        kept = np.maximum(variances, _CLEAR * noise)
        scale[columns] = to_single(np.sqrt(kept))
        errors[columns] = np.sqrt((noise / kept) ** 2 + 2 / max(n_hat, 1.0)) / 2
        return cls(scale=scale, errors=errors, unknown=unknown)


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardised(Generic[UnitsT]):
    """Standardised units, and how they were standardised; everything is released or declared.

    Parameters
    ----------
    units : PrivateUnits
        The units.
    mu : float
        What is left of the privacy budget.
    mean, scale : array of shape (d,), optional
        Subtracted mean, in the units of the data, and scales. Those of private columns are rough unless `scales`
        are bought.
    mean_noise : float
        Standard deviation of the noise in the mean of a column, in units of its spread; 0 if none was bought.
    spread : array of shape (d,)
        Rough spread of the columns, in the units that declared scales leave.
    scales : ColumnScales, optional
        The scales of step 5.
    """

    units: UnitsT
    mu: float
    mean: FloatArray | None
    scale: FloatArray | None
    mean_noise: float = 0.0
    spread: FloatArray = field(default_factory=lambda: np.zeros(0))
    scales: ColumnScales | None = None

    def scaled_by(self, scales: ColumnScales) -> Standardised[UnitsT]:
        """Return the units divided by these scales, too."""
        scale = scales.scale if self.scale is None else self.scale * scales.scale
        return replace(self, units=self.units.rescaled(scales.scale), scale=scale, scales=scales)


def with_declared(units: UnitsT, standard: Standard) -> UnitsT:
    """Step 1: divide rows by declared scales and subtract a declared mean, at no cost. The ledger records both."""
    bounds = None if standard.bounds is None else standard.bounds.low
    declared = (
        ("column scales", standard.scale, standard.declared, Purpose.SCALE),
        ("mean", standard.mean, None, Purpose.MEAN),
        ("column bounds", bounds, standard.bounded, Purpose.BOUND),
    )
    for what, given, which, purpose in declared:
        if given is not None and (which is None or len(which)):
            note = "declared by the caller" + ("" if which is None else f": {', '.join(which)}")
            units.veil.ledger.declare(what, note=note, purpose=purpose)
    if standard.scale is not None:
        units = units.rescaled(standard.scale)
    if standard.mean is not None:
        units = units.shifted(standard.mean / _or_ones(standard.scale, units.d))
    return units


def standardise(
    units: UnitsT, standard: Standard, *, n_hat: float, mu: float, by_sigma: bool = False
) -> Standardised[UnitsT]:
    """Steps 2 to 5: centre and scale rows by values bought from the budget of the units.

    Parameters
    ----------
    units : PrivateUnits
        Rows or people, after `with_declared`.
    standard : Standard
        What is declared and what is bought.
    n_hat : float
        Approximate number of units; public.
    mu : float
        Privacy budget of this and all later steps.
    by_sigma : bool
        Whether the caller will take the scales from Sigma, so that step 5 is skipped.

    Formal guarantees
    -----------------
    Both relations. A frame, a clipped mean and a clipped mean of squares in sequence, with the sensitivities
    proven in `buy_frame` and `clipped_mean`. What they cost together is no longer in the mu that is returned, so
    whatever spends that makes the whole run mu-GDP. The vector of squares of a unit is a function of its own rows
    and of releases, bit by bit.

    A row that is invalid in any column is excluded from all counts and sums, as it is from Sigma.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no spread, or too few units     a scale that is rather too large, from the noise; `ColumnScales.unknown`
    no units                        the same for all columns
    heavy tails                     sums are clipped, so means and scales are those of the bulk
    ==============================  ==================================================================
    """
    done = Standardised(units=units, mu=mu, mean=standard.mean, scale=standard.scale)
    if not standard.buys:
        return done
    # 2
    d = units.d
    everywhere = standard.buy_mean or standard.private.size == d
    frame = buy_frame(
        units,
        np.arange(d) if everywhere else standard.private,
        n_hat=n_hat,
        mu=mu,
        bounds=None if standard.bounds is None else standard.bounds.divided(_or_ones(standard.scale, d)),
        centred=standard.buy_mean,
        note=standard.note(everywhere=everywhere),
    )
    done = replace(done, spread=frame.spread)
    # 3
    spent = [frame.cost]
    if standard.buy_mean:
        found, cost = buy_mean(units, frame, n_hat=n_hat, mu=mu)
        spent.append(cost)
        centre = np.asarray(to_single(frame.centre + found.value * frame.spread), dtype=np.float64)
        done = replace(done, units=units.shifted(centre), mean=centre * _or_ones(standard.scale, d))
        done = replace(done, mean_noise=found.noise)
    # 4
    own = np.ones(d)
    own[standard.private] = frame.spread[standard.private]
    if standard.private.size:
        done = replace(done, units=done.units.rescaled(own), scale=own * _or_ones(standard.scale, d))
    # 5
    if standard.private.size and not by_sigma:
        spent.append(math.sqrt(SCALE_SHARE) * mu)
        done = done.scaled_by(_buy_scales(done.units, standard.private, n_hat=n_hat, mu=spent[-1]))
    left = math.sqrt(mu**2 - sum(one**2 for one in spent))
    return replace(done, mu=left)


def buy_mean(units: PrivateUnits, frame: Frame, *, n_hat: float, mu: float) -> tuple[NoisyMean, float]:
    """Step 3: buy the mean of the rows in a frame. Return it, and its cost as a mu.

    Formal guarantees
    -----------------
    Both relations. One clipped mean; its cost is a function of public numbers. Columns of a frame have similar
    spreads, so that none of them decides about the radius, and locations near 0, so that one round suffices.
    """
    radius = _USUAL_RADIUS * math.sqrt(units.d)
    needed = (radius / (MEAN_NOISE * max(n_hat, 1.0) * mu)) ** 2
    cost = mu * math.sqrt(min(max(needed, MEAN_SHARES[0]), MEAN_SHARES[1]))
    mu_radius, mu_sum = split_mu(cost, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
    quantile = reachable_quantile(QUANTILE, n_hat=n_hat, mu=mu_radius)
    found = clipped_mean(
        frame.applied(units).vectors(),
        centre=np.zeros(units.d),
        n_hat=n_hat,
        radius=AtQuantile(mu=mu_radius, quantile=quantile),
        mu=mu_sum,
        veil=units.veil,
        what="mean",
        purpose=Purpose.MEAN,
    )
    return found, cost


def _buy_scales(units: PrivateUnits, columns: IntArray, *, n_hat: float, mu: float) -> ColumnScales:
    """Step 5: buy the mean squares of columns that have been divided by their rough spread."""
    mu_radius, mu_sum = split_mu(mu, [_RADIUS_SHARE, 1 - _RADIUS_SHARE])
    found = clipped_mean(
        units.squares(columns, np.ones(columns.size), _FAR),
        centre=np.ones(columns.size),
        n_hat=n_hat,
        radius=AtQuantile(mu=mu_radius, quantile=0.75),
        mu=mu_sum,
        veil=units.veil,
        what="column scales",
        purpose=Purpose.SCALE,
    )
    return ColumnScales.of(units.d, columns, found.value, noise=found.noise, n_hat=n_hat)


def standardised_release(release: Release, ready: Standardised[UnitsT], standard: Standard) -> Release:
    """Return a release about standardised units with their mean and scales, and with warnings about these."""
    found, scales = poorly_known_mean(ready.mean_noise), ready.scales
    if scales is not None:
        unknown = np.flatnonzero(scales.unknown)
        found += unknown_scales(scales.errors[unknown], standard.labels(unknown))
    d, errors = release.components.shape[1], None
    if ready.mean_noise:
        own = _or_ones(ready.scale, d) / _or_ones(standard.scale, d)
        errors = ready.mean_noise * ready.spread / own
        if release.eigenvalues is not None:
            names = standard.labels(np.arange(d))
            found += offset_components(release.components, release.eigenvalues, errors, names)
    return replace(
        release,
        mean_errors=errors,
        mean=ready.mean,
        scale=ready.scale,
        scale_errors=None if scales is None else scales.errors,
        warnings=(*release.warnings, *found),
    )


def _or_ones(scale: FloatArray | None, d: int) -> FloatArray:
    return np.ones(d) if scale is None else scale
