"""What noise, and a lack of rounds, are expected to cost: shares of the energy of the first k directions.

All of it is arithmetic on releases, to first order: an error N_ij of Sigma between a wanted direction i and
another one j costs N_ij^2/(lambda_i - lambda_j). Prices decide what is asked next: they must rank ways to ask, and
an error by a factor of 2 matters little.
"""

from __future__ import annotations

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.subspace.sigma import Sigma, gaps, least_gap, luck
from eigenveil.subspace.tracking import TINY, Answer, State


def noise_of_block(state: State, noise: float, k: int) -> float:
    """The share of energy that such noise on Sigma W costs: outside the span of W, where most of it lies."""
    size = np.maximum(state.eigenvalues[:k], TINY)
    return float(_others(state) * noise**2 * np.sum(1 / size) / size.sum())


def noise_of_matrix(state: State, noise: float, k: int, *, trace: float = 0.0) -> float:
    """The same for noise on Sigma itself (smaller by sqrt(2) off the diagonal), whose trace may be known."""
    inside = np.sum(1 / gaps(state.eigenvalues, k))
    outside = np.sum(_others(state) / _gaps_outside(state, k, trace))
    return float(noise**2 / 2 * (inside + outside) / max(state.eigenvalues[:k].sum(), TINY))


def slowness(state: State, k: int, *, trace: float) -> float:
    """The share of energy that directions will still lack after one more round, for want of rounds."""
    top = np.maximum(state.eigenvalues[:k], TINY)
    slow = np.minimum(max(float(state.eigenvalues[-1]), 0.0) / top, 1.0) ** 2
    return float(np.sum(_others(state) * state.unfinished * slow / _gaps_outside(state, k, trace)) / top.sum())


def lag(state: State, k: int, *, trace: float) -> float:
    """What a last round leaves of the energy that directions lack: errors towards the mean eigenvalue outside."""
    shift = 0.5 * float(state.eigenvalues[-1])
    above = np.maximum(state.eigenvalues[:k] - shift, TINY)
    outside = np.maximum(above - _gaps_outside(state, k, trace), 0.0)
    return float(np.mean((outside / above) ** 2))


def whole_spectrum(state: State, trace: float) -> FloatArray:
    """All d eigenvalues: those that were followed, and the mean of the others, by their trace."""
    return np.concatenate([state.eigenvalues, np.full(_others(state), _outside(state, trace))])


def bias_of_block(asked: State, answer: Answer, sigma: Sigma, k: int) -> float:
    """The share of energy that clip bias costs a block: how an answer lies apart from Sigma, beyond both noises.

    Clipping shortens an answer as a whole, which costs nothing and is undone first.
    """
    values, vectors = sigma.spectrum
    W, V, same = asked.W, vectors[:, :k], sigma.matrix @ asked.W
    scale = float(np.sum(answer.G * same)) / max(float(np.sum(same**2)), TINY)
    if scale <= 0:
        return 0.0
    along = W.T @ V
    apart = (answer.G / scale - same) @ along
    apart -= V @ (V.T @ apart)
    noise = (answer.noise / scale / answer.weights.columns) ** 2 + sigma.noise**2 / 2
    chance = (len(V) - k) * (noise @ along**2)
    size = np.maximum(values[:k], TINY)
    beyond = np.sum((np.sum(apart**2, axis=0) - luck(len(V), k) * chance) / size)
    return max(0.0, float(beyond / size.sum()))


def _others(state: State) -> int:
    """How many directions there are outside the span of W."""
    d, m = int(state.W.shape[0]), int(state.W.shape[1])
    return d - m


def _gaps_outside(state: State, k: int, trace: float) -> FloatArray:
    """How far the first k eigenvalues lie above the mean one outside the span of W."""
    return np.maximum(state.eigenvalues[:k] - _outside(state, trace), least_gap(state.eigenvalues))


def _outside(state: State, trace: float) -> float:
    """The mean eigenvalue outside the span of W."""
    values = state.eigenvalues
    return min(max(trace - float(values.sum()), 0.0) / max(_others(state), 1), float(values[-1]))
