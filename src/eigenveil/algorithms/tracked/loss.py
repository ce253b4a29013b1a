"""Expected loss of a question: the energy that the first k directions are expected to lose after it.

To first order, an error e of Sigma between a requested component i and another direction j costs
e^2/(lambda_i - lambda_j). The loss has four terms: noise, the directions that clipping turns, incomplete
convergence, and the sampling error (which no question changes). All of it is post-processing of releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.tracked.state import State, noise_edge
from eigenveil.algorithms.tracked.tuning import SMALLEST, Tuning
from eigenveil.mechanisms.norm_curve import NormCurve


def cost_of_errors(state: State, k: int, m: int, tuning: Tuning) -> FloatArray:
    """Return a_i = sum over j of 1/(lambda_i - lambda_j), for the first m directions.

    For a requested component i, j runs over all directions except the k requested components. A spare direction
    uses the eigenvalue of the last requested component, and j runs over all directions except the first m.
    """

    def total(i: int) -> float:
        followed, beyond = _gaps(state, min(i, k - 1), k if i < k else m, tuning)
        return float(np.sum(1 / followed) + (state.d - state.eigenvalues.size) * (1 / beyond))

    return np.array([total(i) for i in range(m)])


def cost_of_excess(state: State, k: int, columns: FloatArray, inside: float, tuning: Tuning) -> float:
    """Return the loss for an excess of 1, if all of it turns directions.

    The excess is distributed as the units are: between two directions, in proportion to the square root of the
    product of their variances. Everything outside the span of the tracked directions is assumed to be noise, which
    clipping does not turn.
    """
    values = state.eigenvalues
    cost = sum(float(values[i] * np.sum(values[k:] / _gaps(state, i, k, tuning)[0])) for i in range(k))
    return cost / squared_size(state, columns, inside)


def squared_size(state: State, columns: FloatArray, inside: float) -> float:
    """Return the approximate mean of ||M A W D||_F^2 over units."""
    along = state.eigenvalues[: columns.size]
    inner = float(np.sum(columns**2 * along))
    return max(inner * (state.total - (1 - inside**2) * float(along.sum())), SMALLEST)


def _gaps(state: State, i: int, start: int, tuning: Tuning) -> tuple[FloatArray, float]:
    """Return lambda_i - lambda_j for the tracked directions j >= `start`, and for all untracked directions.

    Gaps are raised to at least `tuning.least_gap` times the largest eigenvalue.
    """
    values = state.eigenvalues
    floor = max(tuning.least_gap * float(values[0]), SMALLEST)
    return np.maximum(values[i] - values[start:], floor), max(float(values[i]) - state.rest, floor)


def centre_distance(state: State, columns: FloatArray, inside: float) -> float:
    """Return the expected squared distance of the centre M C D from M Sigma W D."""
    m = columns.size
    known = 1 / (1 / state.inside[:m, None] + 1 / state.inside[None, :m])
    return float(np.sum(columns**2 * ((state.d - m) * state.outside[:m] + inside**2 * known.sum(axis=0))))


def unconverged(state: State, k: int, loss: float, tuning: Tuning) -> float:
    """Return the loss that remains after a last round because directions have not converged.

    It comes in addition to `loss`, the loss by noise and clipping in that round. A direction at an angle t from
    the true one inherits t times the error of the outside block. And only cos t of the true direction is in the
    answer, so noise counts 1 + tan^2 t times. The variances of the entries give t.
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
class ClipChoice:
    """Radius of least expected loss.

    Parameters
    ----------
    radius : float
        Clipping radius.
    kept : float
        Share of the units that it leaves unchanged, as released.
    loss : float
        Expected loss at this radius.
    excess : float
        Mean length that clipping removes from a unit, as released.
    """

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
) -> ClipChoice:
    """Choose the radius of a block: noise grows with the radius, and the bias of clipping falls with it.

    Parameters
    ----------
    curve : NormCurve
        Released curve of norms.
    noise : float
        Standard deviation of the noise on an entry, per unit of the radius.
    weight : float
        Loss for an error of 1 on each of the `entries` entries.
    excess_weight : float
        Loss for an excess of 1 that turns directions. `tuning.turning` of the excess does.
    distance : float
        Expected squared distance of the centre from the mean. To the extent that the centre differs from the mean,
        the excess of all units points in the same direction, along any of the entries.
    entries : int
        Number of entries.
    tuning : Tuning
        Constants of the method.
    """
    radii = np.maximum(curve.edges, SMALLEST)
    turned = tuning.turning**2 * excess_weight * curve.excess * curve.excess_at_median
    off = np.minimum(1.0, distance / radii**2) * weight / max(entries, 1) * curve.excess**2
    return _least(curve, weight * (radii * noise) ** 2 + turned + off, tuning)


def clip_of_sigma(curve: NormCurve, *, d: int, k: int, noise: float, tuning: Tuning) -> ClipChoice:
    """Choose the radius for Sigma: balance the noise against the bias of clipping.

    The noise counts by its largest eigenvalue, and the bias by what clipping removes from eigenvalue k + 1. Later
    answers correct errors of directions to first order, so only an error of the gap remains. The spectrum is not
    yet known: eigenvalues are assumed to fall as 1/j. Where noise is small next to the mean eigenvalue
    (`cheap_noise`), no observed unit is clipped: a direction in which a few units lie far out would lose its
    variance, and its place in the order.

    Where noise in the curve could hide it, the radius is raised until enough units are within it: if all were
    clipped, the release would be shrunk as a whole, and so would be the centre of later questions.
    """
    edge = noise_edge(d, noise)
    guess = 1 / np.arange(1.0, d + 1)
    taken = float(guess[min(k, d - 1)] / guess.sum()) * curve.excess
    cheap = tuning.cheap_noise * (curve.median / d) / edge
    return _least(curve, (curve.edges * edge) ** 2 + taken**2, tuning, noise=curve.noise, cheap=cheap)


def _least(
    curve: NormCurve, losses: FloatArray, tuning: Tuning, *, noise: FloatArray | float = 0.0, cheap: float = 0.0
) -> ClipChoice:
    """Return the radius of least loss that leaves enough units unchanged, even if `noise` more are beyond it.

    A radius of at least the median of the curve is always allowed.

    The radius is raised, to at most `cheap`, so that it includes all observed units.
    """
    allowed = (curve.beyond + noise <= 1 - tuning.least_kept) | (curve.edges >= curve.median)
    best = int(np.argmin(np.where(allowed, losses, math.inf)))
    seen = int(np.count_nonzero(curve.beyond))  # the first edge beyond which no unit was observed
    best = max(best, min(seen, int(np.count_nonzero(curve.edges <= cheap)) - 1))
    kept, excess = 1 - float(curve.beyond[best]), float(curve.excess[best])
    return ClipChoice(float(curve.edges[best]), kept, float(losses[best]), excess)
