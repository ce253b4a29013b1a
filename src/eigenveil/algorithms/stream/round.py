"""One round of a stream: buy an estimate from one batch, and combine it with what is known.

The numbers are the steps of `tracked_stream`.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.counting import COUNT_SHARE
from eigenveil.algorithms.frame import MOST_COUNTS, Frame
from eigenveil.algorithms.release import Release, signed
from eigenveil.algorithms.release_warnings import FEW, ReleaseWarning, poorly_known_mean, unknown_scales
from eigenveil.algorithms.standard import buy_mean, standardise
from eigenveil.algorithms.stream.blocks import Schema
from eigenveil.algorithms.stream.options import StreamOptions
from eigenveil.algorithms.tracked.question import Asking, Purse, Question
from eigenveil.algorithms.tracked.state import Answer, State
from eigenveil.algorithms.tracked.tuning import DEFAULT
from eigenveil.kernels import to_single
from eigenveil.mechanisms import Noisy, noisy_count
from eigenveil.mechanisms.radius import count_noise
from eigenveil.privacy import Ledger, Purpose, split_mu
from eigenveil.units import Units

PILOT_ROUNDS = 3
"""Number of first rounds, in which earlier estimates do not count."""
DRIFT_WEIGHT = 0.2
"""Weight of the last answer in the running mean of the observed drift."""
FRAME_COUNTS = 60.0
"""Least size of a batch that finds the columns, in standard deviations of the noise on a count of the frame."""
DRIFT_KEPT = 4.0
"""Upper limit on the running mean that is carried over. A jump is handled at once and need not be remembered."""


@dataclasses.dataclass(frozen=True)
class Located:
    """How the rows of a stream are centred and scaled: releases.

    Parameters
    ----------
    mean, spread, scale : array of shape (d,)
        Mean of the rows, or 0; their rough spread, in units of which the mean is bought; and the scales that they
        are divided by, which stay those of the first batch.
    noise : float
        Standard deviation of the noise in the mean, in units of the spread.
    errors : array of shape (d,)
        Relative standard errors of the scales.
    """

    mean: FloatArray
    spread: FloatArray
    scale: FloatArray
    noise: float
    errors: FloatArray

    def applied(self, units: Units) -> Units:
        """Return the units minus the mean, divided by the scales."""
        return units.shifted(self.mean).rescaled(self.scale)


@dataclasses.dataclass(frozen=True)
class StreamProgress:
    """Releases of the closed batches that later batches need.

    Parameters
    ----------
    state : State, optional
        Current estimate of Sigma. None before the first batch closes.
    rounds : int
        Number of rounds since the stream started, or since the last jump.
    drift : float
        Running mean of the energy that answers have outside the tracked span, beyond noise, divided by the
        variance of the noise.
    last : dict of str to float
        Diagnostics of the last round.
    located : Located, optional
        Mean and scales, if they are bought.
    """

    state: State | None = None
    rounds: int = 0
    drift: float = 0.0
    last: dict[str, float] = dataclasses.field(default_factory=dict)
    located: Located | None = None

    def warnings(self, options: StreamOptions, schema: Schema | None) -> list[ReleaseWarning]:
        """Return warnings about mean and scales."""
        if self.located is None:
            return []
        standard = options.standard
        names = dataclasses.replace(standard, names=None if schema is None else schema[1])
        found = poorly_known_mean(self.located.noise)
        return found + unknown_scales(self.located.errors[standard.private], names.labels(standard.private))

    def release(self, options: StreamOptions, state: State, **record: Any) -> Release:
        """Return the components of a state, with mean and scales as far as they are bought."""
        located = self.located
        mean = None if located is None or not options.center else located.mean
        scaled = None if options.scaled is None else located
        return Release(
            algorithm="tracked stream",
            components=signed(np.ascontiguousarray(state.V[:, : options.k].T)),
            eigenvalues=state.eigenvalues[: options.k],
            mean=mean,
            scale=None if scaled is None else scaled.scale,
            scale_errors=None if scaled is None else scaled.errors,
            **record,
        )


def buy_slot_count(units: Units, *, mu: float) -> tuple[Noisy, float]:
    """Step 2: buy a noisy count of the slots that are not empty.

    Parameters
    ----------
    units : Units
        Units of one batch.
    mu : float
        Privacy budget of the batch.

    Returns
    -------
    Noisy, float
        The count, and the mu that is left for step 3.

    Formal guarantees
    -----------------
    One count of sensitivity 1, with 1 % of mu^2: see `noisy_count`.
    """
    mu_count, mu_left = split_mu(mu, [COUNT_SHARE, 1 - COUNT_SHARE])
    return noisy_count(units.vectors(), mu=mu_count, veil=units.veil, what="batch: slots not empty"), mu_left


def buy_round(
    units: Units, before: StreamProgress, options: StreamOptions, counted: Noisy, *, slots: int, mu: float
) -> StreamProgress:
    """Step 3: buy an estimate from one batch, and combine it with what is known.

    Parameters
    ----------
    units : Units
        Units of one batch.
    before : StreamProgress
        Releases of the earlier batches.
    options : StreamOptions
        Public options of the stream.
    counted : Noisy
        Noisy count of the slots that are not empty.
    slots : int
        Number of slots in the batch; public.
    mu : float
        Privacy budget of this step.

    Formal guarantees
    -----------------
    Mean and scales, if they are bought (`_locate`); one curve of norms and one clipped sum (`Question.buy_answer`)
    with what is left: mu-GDP together. Nothing is bought if the
    noisy count finds hardly any slot that is not empty. All else is post-processing of releases.
    """
    k = options.k
    n_hat = min(max(counted.value, 1.0), float(slots))
    state = before.state or State.unknown(units.random_start(options.tracked(units.d)))
    if n_hat < min(slots / 10, 3 * curve_count_noise(mu)):
        return dataclasses.replace(before, state=state, last={**before.last, "n_hat": n_hat})
    located = None
    if options.standard.buys:
        located, mu = _locate(units, before.located, options, n_hat=n_hat, mu=mu)
        units = located.applied(units)
    asking = Asking(units, k, n_hat, Purse(mu), DEFAULT)
    pilot = before.rounds < PILOT_ROUNDS
    asked = (
        Question.wide(state.forgotten(), k, DEFAULT)
        if pilot
        else Question.narrow(_faded(state, options.growth, k), k, DEFAULT)
    )
    answer, mean, _ = asked.buy_answer(asking, mu, "batch")
    last = {"n_hat": n_hat, "radius": mean.radius, "noise": mean.noise, "offset": mean.offset}
    known, drift, rounds = asked.state, 0.0, before.rounds
    if not pilot:
        answer = _with_sampling(answer, known, asked.columns, k=k, n_hat=n_hat, radius=mean.radius)
        drift = (1 - DRIFT_WEIGHT) * min(before.drift, DRIFT_KEPT)
        drift += DRIFT_WEIGHT * _observed_drift(answer, known, k=k)
        rounds = 0 if _jumped(answer, known, k=k) else rounds
        known = _with_drift(known, answer, drift)
    return StreamProgress(known.learned(answer), rounds + 1, drift, last, located)


def _locate(
    units: Units, before: Located | None, options: StreamOptions, *, n_hat: float, mu: float
) -> tuple[Located, float]:
    """Buy mean and scales from the first batch, and a mean around the earlier one from others.

    The mean is the precision-weighted average of the present and the earlier ones, whose variance grows with every
    batch like that of earlier estimates of Sigma. Return it with the mu that is left.

    Formal guarantees
    -----------------
    `standardise` in the first batch, `buy_mean` in others: what they cost is no longer in the mu that is returned.
    """
    d = units.d
    if before is None:
        ready = standardise(units, options.standard, n_hat=n_hat, mu=mu)
        scale, errors = (ready.scale, np.zeros(d)) if ready.scales is None else (ready.scale, ready.scales.errors)
        located = Located(
            mean=np.zeros(d) if ready.mean is None else ready.mean,
            spread=ready.spread,
            scale=np.ones(d) if scale is None else scale,
            noise=ready.mean_noise,
            errors=errors,
        )
        return located, ready.mu
    if not options.center:
        return before, mu
    frame = Frame(centre=before.mean, spread=before.spread, unknown=np.zeros(d, dtype=bool), cost=0.0)
    found, cost = buy_mean(units, frame, n_hat=n_hat, mu=mu)
    old = options.growth * before.noise**2
    gain = old / (old + found.noise**2)
    moved = to_single(before.mean + gain * found.value * before.spread)
    noise = math.sqrt(gain) * found.noise
    return dataclasses.replace(before, mean=moved, noise=noise), math.sqrt(mu**2 - cost**2)


def charge_dropped_batch(part: Ledger, *, mu: float) -> None:
    """Charge in full a batch that was about to be charged when the process ended.

    Parameters
    ----------
    part : Ledger
        Ledger of the batch.
    mu : float
        Privacy budget of a batch.
    """
    part.charge_gaussian(
        "batch: charged, not released",
        mu=mu,
        sensitivity=1.0,
        scale=1 / mu,
        draws=0,
        note="dropped on resume",
        purpose=Purpose.BATCHES,
    )


def default_batch_size(d: int, options: StreamOptions, *, mu: float) -> int:
    """Return the default number of slots in a batch for `d` columns.

    It depends on public numbers only. It makes the counts of the radius search reliable, and the noise on the
    d x m entries of the answer small next to the entries, where m directions are tracked. If rows are centred or
    scaled, the first batch has enough units to find the columns.
    """
    found = FRAME_COUNTS * math.sqrt(d / MOST_COUNTS) if options.standard.buys else 0.0
    asked = 20 * math.sqrt(d * options.tracked(d))
    return math.ceil(max(curve_count_noise(mu) / FEW, asked / mu, found / mu))


def curve_count_noise(mu: float) -> float:
    """Return the standard deviation of the noise on the counts of a round's radius search."""
    return count_noise(mu * math.sqrt(DEFAULT.curve_share))


def _with_sampling(
    answer: Answer, state: State, columns: FloatArray, *, k: int, n_hat: float, radius: float
) -> Answer:
    """Return the answer with the sampling error of the batch added to its variance.

    The sampling error is at most R^2/n_hat, summed over all entries. The k requested components get the share of
    it that the released eigenvalues suggest.
    """
    size = state.eigenvalues[: columns.size] * columns**2
    share = float(np.mean(size[:k]) / size.sum())
    chance = radius**2 * share / (n_hat * state.d)
    return dataclasses.replace(answer, variance=answer.variance + chance / columns**2)


def _observed_drift(answer: Answer, state: State, *, k: int) -> float:
    """Return the energy outside the span of V beyond noise, divided by the variance of the noise.

    The mean is over the columns of the k requested components.
    """
    d, M = state.V.shape
    if d == M:
        return 0.0
    outside = answer.product - state.V @ (state.V.T @ answer.product)
    energy = np.sum(outside**2, axis=0) / (d - M)
    return float(np.mean((energy / answer.variance)[:k])) - 1


def _jumped(answer: Answer, state: State, *, k: int) -> bool:
    """Whether the k components hold, beyond noise, less than half of the variance that they held before."""
    found = float(np.sum(state.V[:, :k] * answer.product[:, :k]))
    noise = math.sqrt(float(np.sum(answer.variance[:k]))) / answer.inside
    return found + 3 * noise < float(state.eigenvalues[:k].sum()) / 2


def _with_drift(known: State, answer: Answer, drift: float) -> State:
    """Return the state with its variances raised to at least `drift` times the variance of the answer's noise."""
    m = answer.variance.size
    least = np.zeros(known.eigenvalues.size)
    least[:m] = max(drift, 0.0) * answer.variance
    return dataclasses.replace(
        known,
        outside=np.maximum(known.outside, least),
        inside=np.maximum(known.inside, least / answer.inside**2),
    )


def _faded(state: State, growth: float, k: int) -> State:
    """Return the state with the variances of the first k directions multiplied by `growth`.

    The variances of the other directions stay: no later question is about them.
    """
    grown = np.ones(state.eigenvalues.size)
    grown[:k] = growth
    return dataclasses.replace(state, outside=state.outside * grown, inside=state.inside * grown)
