"""Spectra and bases of data models."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError


def check_size(**values: int) -> None:
    """Raise unless all sizes are whole numbers of at least 1."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 1 and value == int(value)):
            raise InvalidInputError(f"{name} must be a whole number of at least 1, got {value!r}.")


def random_basis(d: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Return uniformly random orthonormal rows of shape (k, d): Gram-Schmidt on k standard normal columns.

    Examples
    --------
    >>> V = random_basis(5, 2, np.random.default_rng(0))
    >>> np.allclose(V @ V.T, np.eye(2))
    True
    """
    columns, upper = np.linalg.qr(rng.normal(size=(d, k)))
    return np.ascontiguousarray((columns * np.sign(np.diag(upper))).T)


def check_eigenvalues(values: npt.ArrayLike, *, name: str = "eigenvalues") -> FloatArray:
    """Return eigenvalues in descending order. Raise unless they are finite, non-negative and not all 0.

    Examples
    --------
    >>> check_eigenvalues([1, 3, 2])
    array([3., 2., 1.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or array.min() < 0 or array.max() == 0:
        raise InvalidInputError(
            f"{name} must be a list of finite non-negative numbers, not all 0, got shape {array.shape}."
        )
    return np.sort(array)[::-1].copy()


def spectrum_and_basis(
    eigenvalues_or_covariance: npt.ArrayLike, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, largest first, and eigenvectors as rows, of a given matrix or in a random basis.

    Examples
    --------
    >>> values, vectors = spectrum_and_basis([[1.0, 0.0], [0.0, 2.0]], np.random.default_rng(0))
    >>> values, np.abs(vectors)
    (array([2., 1.]), array([[0., 1.],
           [1., 0.]]))
    """
    given = np.asarray(eigenvalues_or_covariance, dtype=np.float64)
    if given.ndim != 2:
        values = check_eigenvalues(given)
        return values, random_basis(values.size, values.size, rng)
    if given.shape[0] != given.shape[1] or not np.isfinite(given).all() or not np.allclose(given, given.T):
        raise InvalidInputError(
            f"a covariance must be a finite symmetric matrix, got shape {given.shape}.",
            hint="To give eigenvalues, pass a flat list; the basis is then random.",
        )
    values, vectors = np.linalg.eigh((given + given.T) / 2)
    if values.min() < -1e-9 * abs(values.max()):
        raise InvalidInputError("a covariance must be positive semi-definite.")
    return check_eigenvalues(np.maximum(values, 0.0)), np.ascontiguousarray(vectors.T[::-1])


def with_spectrum(values: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the symmetric matrix with these eigenvalues and eigenvectors (rows)."""
    matrix = (vectors.T * values) @ vectors
    return np.asarray((matrix + matrix.T) / 2, dtype=np.float64)
