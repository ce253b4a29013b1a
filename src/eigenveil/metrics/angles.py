"""Angles between two directions or two subspaces, independent of the covariance."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.metrics.checks import orthonormal_rows, real_array, same_width


def sin_angle(u: npt.ArrayLike, v: npt.ArrayLike) -> float:
    """Return the sine of the angle between the lines through two vectors, in [0, 1].

    Norms and signs of the vectors do not matter. Small angles are accurate: the part of u orthogonal to v is
    computed, instead of 1 - cos^2.

    Examples
    --------
    >>> sin_angle([1.0, 0.0], [0.0, -3.0])
    1.0
    >>> sin_angle([1.0, 0.0], [1.0, 1e-12])
    1e-12
    """
    first, second = _unit(u, name="u"), _unit(v, name="v")
    same_width(first, second)
    return min(1.0, float(np.linalg.norm(first - (first @ second) * second)))


def projector_distance(
    U: npt.ArrayLike, V: npt.ArrayLike, *, norm: Literal["frobenius", "spectral"] = "frobenius"
) -> float:
    """Return the norm of U^T U - V^T V, the difference of the projectors on two row spaces.

    Parameters
    ----------
    U, V : arrays of shape (k, d) and (l, d)
        Arrays with orthonormal rows. k and l may differ.
    norm : {"frobenius", "spectral"}
        Frobenius, as in lemma:reduction-to-frob-norm, is sqrt(2) times the norm of the vector of sines of
        principal angles (for k = l); spectral is the largest sine.

    Examples
    --------
    >>> U, V = [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]
    >>> round(projector_distance(U, V), 4), projector_distance(U, V, norm="spectral")
    (1.4142, 1.0)
    """
    if norm not in ("frobenius", "spectral"):
        raise InvalidInputError(f"norm must be 'frobenius' or 'spectral', got {norm!r}.")
    first, second = orthonormal_rows(U, name="U"), orthonormal_rows(V, name="V")
    same_width(first, second)
    outside = first - (first @ second.T) @ second, second - (second @ first.T) @ first
    if norm == "spectral":
        return min(1.0, max(float(np.linalg.norm(part, 2)) for part in outside))
    return math.hypot(*(float(np.linalg.norm(part)) for part in outside))


def _unit(values: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return the vector scaled to norm 1."""
    vector = real_array(values, name=name, ndim=1)
    largest = np.abs(vector).max()
    if largest == 0:
        raise InvalidInputError(f"{name} must not be the zero vector: it has no direction.")
    vector = vector / largest
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float64)
