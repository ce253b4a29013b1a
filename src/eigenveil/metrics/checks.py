"""Validation of the arguments of metrics: orthonormal rows, and a covariance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError

LOOSE = 1e-5
"""Largest accepted deviation from orthonormality, for single precision. Such rows are orthonormalised."""


def real_array(values: npt.ArrayLike, *, name: str, ndim: int) -> FloatArray:
    """Return an array of finite real numbers. Raise unless it has `ndim` axes, none of them empty."""
    array = np.asarray(values)
    if array.ndim != ndim or not array.size or array.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"{name} must be real numbers with {ndim} non-empty axes, got {array.dtype} of shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be finite, got nan or infinity.")
    return array.astype(np.float64)


def orthonormal_rows(values: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return orthonormal rows of shape (k, d), orthonormalised to double precision.

    Examples
    --------
    >>> orthonormal_rows([[0.6, 0.8]], name="components").shape
    (1, 2)
    """
    rows = real_array(values, name=name, ndim=2)
    k, d = rows.shape
    off = np.abs(rows @ rows.T - np.eye(k)).max() if k <= d else np.inf
    if off > LOOSE:
        raise InvalidInputError(
            f"{name} must have shape (k, d), k <= d, with orthonormal rows; got shape {rows.shape}, which differs "
            f"from orthonormal by {off:.1e}.",
            hint="One component per row, as in scikit-learn: transpose a (d, k) matrix, and use numpy.linalg.qr "
            "on columns that are not orthonormal.",
        )
    basis, upper = np.linalg.qr(rows.T)
    return np.ascontiguousarray((basis * np.sign(np.diag(upper))).T)


def same_width(first: FloatArray, second: FloatArray) -> None:
    """Raise if the last axes of two arrays differ."""
    if first.shape[-1] != second.shape[-1]:
        raise InvalidInputError(
            f"both must have the same number of dimensions, got shapes {first.shape} and {second.shape}."
        )


def covariance_spectrum(values: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues in descending order, and the eigenvectors as rows, of a symmetric PSD matrix."""
    matrix = real_array(values, name="covariance", ndim=2)
    scale = float(np.abs(matrix).max())
    if matrix.shape[0] != matrix.shape[1] or np.abs(matrix - matrix.T).max() > 1e-8 * scale:
        raise InvalidInputError(f"covariance must be a symmetric d x d matrix, got shape {matrix.shape}.")
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if eigenvalues[-1] <= 0 or eigenvalues[0] < -1e-8 * eigenvalues[-1]:
        raise InvalidInputError(
            "covariance must be positive semi-definite and not zero.",
            hint="Use the true covariance or an empirical one, not a matrix with privacy noise in it.",
        )
    return np.maximum(eigenvalues[::-1], 0.0), np.ascontiguousarray(vectors.T[::-1])
