"""Validation of public numbers, and the factor hidden in the paper's rates."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from eigenveil._checks import not_negative, positive
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError


def share(**values: float) -> None:
    """Raise unless all numbers lie strictly between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise InvalidInputError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


def whole(**values: float) -> None:
    """Raise unless all numbers are whole and at least 1."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 1 and value == int(value)):
            raise InvalidInputError(f"{name} must be a whole number of at least 1, got {value!r}.")


def spectrum(eigenvalues: npt.ArrayLike, *, name: str = "eigenvalues") -> FloatArray:
    """Return the eigenvalues of a covariance as an array. Raise unless they are in descending order.

    Examples
    --------
    >>> spectrum([2, 1])
    array([2., 1.])
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    finite = values.ndim == 1 and values.size and np.isfinite(values).all()
    if not finite or values[0] <= 0 or values.min() < 0 or (np.diff(values) > 0).any():
        raise InvalidInputError(
            f"{name} must be a list of finite non-negative numbers, largest first, and the first above 0.",
            hint="Sort them: numpy.sort(values)[::-1].",
        )
    return values


def hidden_factor(n: float, d: float, *, constant: float, log_power: float) -> float:
    """Return constant * max(1, log(n d))^log_power, the factor hidden in the paper's O-tilde."""
    positive(constant=constant)
    not_negative(log_power=log_power)
    return float(constant * max(1.0, math.log(n * d)) ** log_power)
