"""The paper's bounds, where its models fit the guess: rates with constant 1, not promises in figures."""

from __future__ import annotations

import numpy as np

from eigenveil.errors import InvalidInputError
from eigenveil.planner.guess import Guess
from eigenveil.theory import Model, gaussian_model, lower_bound_spiked, spiked_model, upper_bound


def upper(guess: Guess, n: int, k: int, *, epsilon: float, delta: float) -> float | None:
    """The zeta of k-DP-PCA by its main theorem; None for people, and where eigenvalues leave no gap.

    Examples
    --------
    >>> from eigenveil.planner.guess import make_guess
    >>> guess = make_guess(100, 2, spectrum=[10.0, 5.0] + [1.0] * 98, spread="rows")
    >>> round(upper(guess, 100_000, 2, epsilon=1.0, delta=1e-6), 4)
    0.0655
    """
    model = _model(guess, n, k)
    return None if model is None else upper_bound(n, model, epsilon=epsilon, delta=delta)


def lower(guess: Guess, n: int, k: int, *, epsilon: float) -> float | None:
    """The zeta at best of any method on normal rows with k spikes over a flat rest; None for all others."""
    values = guess.eigenvalues
    d = values.size
    if guess.rows_each > 1 or guess.still.any() or not guess.like_normal or k >= d or not _flat_after(values, k):
        return None
    floor = float(values[k])
    if not values[k - 1] > floor > 0:
        return None
    return lower_bound_spiked(n, d=d, spikes=values[:k] - floor, sigma=floor**0.5, epsilon=epsilon)


def _model(guess: Guess, n: int, k: int) -> Model | None:
    if guess.rows_each > 1 or k >= guess.eigenvalues.size:
        return None
    still, moving = guess.still, guess.moving
    try:
        if not still.any():
            return gaussian_model(guess.eigenvalues, k, n=n)
        if _flat_after(moving, 0) and not still[k:].any():
            return spiked_model(still[:k], d=still.size, sigma=float(moving[0]) ** 0.5, n=n)
    except InvalidInputError:  # no gap
        return None
    return None


def _flat_after(values: np.typing.NDArray[np.float64], k: int) -> bool:
    return bool(np.ptp(values[k:]) <= 1e-9 * values[0])
