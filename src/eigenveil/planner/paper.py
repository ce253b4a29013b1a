"""The paper's bounds, if its models match the guess. They are rates with constant 1, not numerical guarantees."""

from __future__ import annotations

import numpy as np

from eigenveil.errors import InvalidInputError
from eigenveil.planner.guess import Guess
from eigenveil.theory import Model, gaussian_model, lower_bound_spiked, spiked_model, upper_bound


def upper(guess: Guess, n: int, k: int, *, epsilon: float, delta: float) -> float | None:
    """Return zeta of k-DP-PCA by its main theorem; None for people, and if there is no eigengap.

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
    """Return the smallest zeta of any method, for normal rows with k spikes over a flat rest; None otherwise."""
    values = guess.eigenvalues
    d = values.size
    other_model = guess.rows_each > 1 or guess.constant.any() or not guess.sign_symmetric
    if other_model or k >= d or not _flat_after(values, k):
        return None
    floor = float(values[k])
    if not values[k - 1] > floor > 0:
        return None
    return lower_bound_spiked(n, d=d, spikes=values[:k] - floor, sigma=floor**0.5, epsilon=epsilon)


def _model(guess: Guess, n: int, k: int) -> Model | None:
    if guess.rows_each > 1 or k >= guess.eigenvalues.size:
        return None
    constant, varying = guess.constant, guess.varying
    try:
        if not constant.any():
            return gaussian_model(guess.eigenvalues, k, n=n)
        if _flat_after(varying, 0) and not constant[k:].any():
            return spiked_model(constant[:k], d=constant.size, sigma=float(varying[0]) ** 0.5, n=n)
    except InvalidInputError:  # no eigengap
        return None
    return None


def _flat_after(values: np.typing.NDArray[np.float64], k: int) -> bool:
    return bool(np.ptp(values[k:]) <= 1e-9 * values[0])
