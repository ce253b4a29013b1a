"""The public numbers that theory takes, and the factor it hides."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from eigenveil._checks import not_negative, positive
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError


def share(**values: float) -> None:
    """Refuse numbers that do not lie strictly between 0 and 1, by name."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise InvalidInputError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


def whole(**values: float) -> None:
    """Refuse numbers that are not whole and at least 1, by name."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 1 and value == int(value)):
            raise InvalidInputError(f"{name} must be a whole number of at least 1, got {value!r}.")


def spectrum(eigenvalues: npt.ArrayLike, *, name: str = "eigenvalues") -> FloatArray:
    """Eigenvalues of a covariance, which must come best first.

    Examples
    --------
    >>> spectrum([2, 1])
    array([2., 1.])
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    well = values.ndim == 1 and values.size and np.isfinite(values).all()
    if not well or values[0] <= 0 or values.min() < 0 or (np.diff(values) > 0).any():
        raise InvalidInputError(
            f"{name} must be a list of finite numbers of at least 0, largest first, the first above 0.",
            hint="Sort them: numpy.sort(values)[::-1].",
        )
    return values


def hidden_factor(n: float, d: float, *, constant: float, log_power: float) -> float:
    """The factor constant * max(1, log(n d))^log_power: what a tilde over an O stands for."""
    positive(constant=constant)
    not_negative(log_power=log_power)
    return float(constant * max(1.0, math.log(n * d)) ** log_power)
