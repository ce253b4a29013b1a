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
from eigenveil.subspace.tracked.state import State
from eigenveil.subspace.tracked.tuning import SMALLEST, Tuning


def sensitivity_to_errors(state: State, k: int, m: int, tuning: Tuning) -> FloatArray:
    """a_i = sum over j of 1/(lambda_i - lambda_j), for the first m directions.

    For wanted ones j runs over all that are not wanted. Spare ones count as the last wanted one, and j runs over
    what lies outside the first m.
    """
    d, values = state.d, state.eigenvalues
    M = values.size
    floor = max(tuning.least_gap * float(values[0]), SMALLEST)

    def total(value: float, start: int) -> float:
        within = np.sum(1 / np.maximum(value - values[start:], floor))
        return float(within + (d - M) / max(value - state.rest, floor))

    last = float(values[k - 1])
    return np.array([total(float(values[i]), k) if i < k else total(last, m) for i in range(m)])


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
    turned = part**2 * float(sensitivity_to_errors(state, k, k, tuning) @ state.outside[:k])
    return turned + loss * float(np.mean(squared_tangents))


@dataclass(frozen=True)
class Clip:
    """The radius with the least expected loss, the share of units that it leaves whole, and that loss."""

    radius: float
    kept: float
    loss: float


def best_clip(
    curve: NormCurve,
    *,
    noise: float,
    weight: float,
    entries: int,
    turning: float,
    tuning: Tuning,
    distance: float = 0.0,
    cheap: float = 0.0,
) -> Clip:
    """Weigh noise, which grows with the radius, against what clipping turns, which falls with it.

    Parameters
    ----------
    curve : NormCurve
        Of the units' distances from the centre.
    noise : float
        On an entry, for every 1 of the radius.
    weight : float
        What an error of 1 on every entry costs.
    entries : int
        How many entries an error of the directions is spread over.
    turning : float
        phi: the share of the excess that is expected to turn directions.
    distance : float
        Expected squared distance of the centre from the mean: as far as the centre is off, the excess of all
        units points one way.
    cheap : float
        Up to this radius noise does not matter: no unit that is seen is clipped below it. A direction in which few
        units lie far out would lose its variance, and its place in the order, to a closer clip.
    """
    radii = np.maximum(curve.edges, SMALLEST)
    aligned = turning**2 + np.minimum(1.0, distance / radii**2)
    bias = aligned * curve.excess * curve.excess_at_median
    losses = weight * ((radii * noise) ** 2 + bias / max(entries, 1))
    allowed = curve.beyond <= 1 - tuning.least_kept
    if not allowed.any():  # few units: noise in the counts hides the curve
        allowed = curve.edges >= curve.median
    best = int(np.argmin(np.where(allowed, losses, math.inf)))
    seen = int(np.count_nonzero(curve.beyond))  # the first edge that no unit is seen beyond
    best = max(best, min(seen, int(np.count_nonzero(curve.edges <= cheap)) - 1))
    return Clip(float(curve.edges[best]), 1 - float(curve.beyond[best]), float(losses[best]))
