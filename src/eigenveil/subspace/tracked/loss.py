"""The price of a question: the energy that the first k directions are expected to lose after it.

To first order an error e of Sigma between a wanted direction i and another one j costs e^2/(lambda_i - lambda_j).
Four terms: noise, what clipping turns, what has not converged, and the sample (which no question changes). All of
it is arithmetic on releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.mechanisms.norm_curve import NormCurve
from eigenveil.subspace.tracked.state import State, noise_edge
from eigenveil.subspace.tracked.tuning import SMALLEST, Tuning


def cost_of_errors(state: State, k: int, m: int, tuning: Tuning) -> FloatArray:
    """a_i = sum over j of 1/(lambda_i - lambda_j), for the first m directions.

    For wanted ones j runs over all that are not wanted. Spare ones count as the last wanted one, and j runs over
    what lies outside the first m.
    """

    def total(i: int) -> float:
        followed, beyond = _gaps(state, min(i, k - 1), k if i < k else m, tuning)
        return float(np.sum(1 / followed) + (state.d - state.eigenvalues.size) * (1 / beyond))

    return np.array([total(i) for i in range(m)])


def cost_of_excess(state: State, k: int, columns: FloatArray, inside: float, tuning: Tuning) -> float:
    """What an excess of 1 costs if all of it turns directions.

    It is spread as the units are: between two directions by the root of the product of their variances. What lies
    outside the directions that are followed is taken for noise, which clipping does not turn.
    """
    values = state.eigenvalues
    cost = sum(float(values[i] * np.sum(values[k:] / _gaps(state, i, k, tuning)[0])) for i in range(k))
    return cost / squared_size(state, columns, inside)


def squared_size(state: State, columns: FloatArray, inside: float) -> float:
    """About the mean square of a unit's M A W D."""
    along = state.eigenvalues[: columns.size]
    inner = float(np.sum(columns**2 * along))
    return max(inner * (state.total - (1 - inside**2) * float(along.sum())), SMALLEST)


def _gaps(state: State, i: int, start: int, tuning: Tuning) -> tuple[FloatArray, float]:
    """lambda_i - lambda_j for all j from `start` on that are followed, and for all others; not below a floor."""
    values = state.eigenvalues
    floor = max(tuning.least_gap * float(values[0]), SMALLEST)
    return np.maximum(values[i] - values[start:], floor), max(float(values[i]) - state.rest, floor)


def centre_distance(state: State, columns: FloatArray, inside: float) -> float:
    """The expected squared distance of M C D from M Sigma W D: how far the centre is off."""
    m = columns.size
    known = 1 / (1 / state.inside[:m, None] + 1 / state.inside[None, :m])
    return float(np.sum(columns**2 * ((state.d - m) * state.outside[:m] + inside**2 * known.sum(axis=0))))


def unconverged(state: State, k: int, loss: float, tuning: Tuning) -> float:
    """What a last round leaves more than its noise and clip, `loss`, as directions are not yet those of Sigma.

    A direction that is off by an angle t takes t times the error of the outside block with it. And only cos t of
    what is looked for is in the answer, so noise counts 1 + tan^2 t times. How well entries are known tells t.
    """
    values, M = state.eigenvalues, state.eigenvalues.size
    beyond = float(values[k]) if k < M else state.rest
    error = float(values[-1]) - state.rest if state.sigma is None else min(state.sigma.edge, beyond - state.rest)
    mean = (float(values[k:].sum()) + (state.d - M) * state.rest) / max(state.d - k, 1)
    part = min(1.0, max(error, 0.0) / max(float(values[k - 1]) - mean, SMALLEST))
    squared_tangents = (state.d - M) * state.outside[:k] / np.maximum(values[:k] - state.rest, SMALLEST) ** 2
    turned = part**2 * float(cost_of_errors(state, k, k, tuning) @ state.outside[:k])
    return turned + loss * float(np.mean(squared_tangents))


@dataclass(frozen=True)
class Clip:
    """The radius of least expected loss, the share of units that it leaves whole, that loss, and the excess."""

    radius: float
    kept: float
    loss: float
    excess: float


def clip_of_block(
    curve: NormCurve,
    *,
    noise: float,
    weight: float,
    excess_weight: float,
    distance: float,
    entries: int,
    tuning: Tuning,
) -> Clip:
    """Weigh noise, which grows with the radius, against what clipping turns, which falls with it.

    `noise` is on an entry, for every 1 of the radius; an error of 1 on each of `entries` costs `weight`, an excess
    of 1 that turns directions `excess_weight`, and `turning` of it does. As far as the centre is off (`distance`:
    the expected squared one, from the mean) the excess of all units points one way, along any of the entries.
    """
    radii = np.maximum(curve.edges, SMALLEST)
    turned = tuning.turning**2 * excess_weight * curve.excess * curve.excess_at_median
    off = np.minimum(1.0, distance / radii**2) * weight / max(entries, 1) * curve.excess**2
    return _least(curve, weight * (radii * noise) ** 2 + turned + off, tuning)


def clip_of_sigma(curve: NormCurve, *, d: int, k: int, noise: float, tuning: Tuning) -> Clip:
    """Weigh the largest eigenvalue of noise against what clipping takes from the largest eigenvalue not wanted.

    Errors of directions are removed by later answers, to first order; what stays is an error of the gap. Nothing
    is known of the spectrum yet: eigenvalues are taken to fall as 1/j. Where noise is small beside the mean
    eigenvalue (`cheap_noise`) no unit that is seen is clipped: a direction in which few units lie far out would
    lose its variance, and its place in the order.
    """
    edge = noise_edge(d, noise)
    guess = 1 / np.arange(1.0, d + 1)
    taken = float(guess[min(k, d - 1)] / guess.sum()) * curve.excess
    cheap = tuning.cheap_noise * (curve.median / d) / edge
    return _least(curve, (curve.edges * edge) ** 2 + taken**2, tuning, cheap)


def _least(curve: NormCurve, losses: FloatArray, tuning: Tuning, cheap: float = 0.0) -> Clip:
    """The radius of the least loss that leaves enough units whole; up to `cheap`, all that are seen."""
    allowed = curve.beyond <= 1 - tuning.least_kept
    if not allowed.any():
        allowed = curve.edges >= curve.median
    best = int(np.argmin(np.where(allowed, losses, math.inf)))
    seen = int(np.count_nonzero(curve.beyond))  # the first edge that no unit is seen beyond
    best = max(best, min(seen, int(np.count_nonzero(curve.edges <= cheap)) - 1))
    kept, excess = 1 - float(curve.beyond[best]), float(curve.excess[best])
    return Clip(float(curve.edges[best]), kept, float(losses[best]), excess)
