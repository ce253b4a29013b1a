"""The attributes of scikit-learn's PCA, computed from released values only."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms import Release


def attributes(
    release: Release, *, mean: FloatArray | None, scale: FloatArray | None, n_hat: float | None
) -> dict[str, Any]:
    """Return the fitted attributes that follow from a release, by name.

    Parameters
    ----------
    release : Release
        The release of an algorithm.
    mean, scale : array of shape (d,), optional
        Subtracted mean, and scales.
    n_hat : float, optional
        The noisy or public number of units.

    Examples
    --------
    >>> from eigenveil.privacy import Budget, Ledger
    >>> release = Release(algorithm="any", components=np.eye(1, 3), ledger=Ledger(Budget.from_mu(1.0)))
    >>> sorted(attributes(release, mean=None, scale=None, n_hat=None))
    ['components_', 'ledger_', 'mean_', 'n_components_', 'release_', 'scale_']
    """
    k, d = release.components.shape
    found: dict[str, Any] = {
        "components_": release.components,
        "n_components_": k,
        "mean_": np.zeros(d) if mean is None else np.asarray(mean, dtype=np.float64),
        "scale_": scale,
        "ledger_": release.ledger,
        "release_": release,
    }
    values = release.eigenvalues if release.variances is None else release.variances.explained
    if values is not None:
        found["explained_variance_"] = np.maximum(values, 0.0)  # noise may have made them negative
    if release.variances is not None:
        found["explained_variance_ratio_"] = np.asarray(release.variances.ratios)
        left = max(0.0, release.variances.total - float(np.sum(release.variances.explained)))
        found["noise_variance_"] = left / (d - k) if d > k else 0.0
    if n_hat is not None:
        found["n_samples_"] = n_hat
        if values is not None:
            found["singular_values_"] = np.sqrt(found["explained_variance_"] * max(n_hat - 1, 0.0))
    return found


def noisy_number(release: Release) -> float | None:
    """Return the number of units that the algorithm has released; None if it has not."""
    counted = release.diagnostics.get("n_hat")
    return float(counted) if isinstance(counted, float | int) else None


def covariance(
    components: FloatArray, variances: FloatArray, noise: float, scale: FloatArray | None
) -> FloatArray:
    """Return the covariance of the model, in the units of the data: variances along components, else `noise`.

    Examples
    --------
    >>> covariance(np.eye(1, 2), np.array([4.0]), 1.0, None)
    array([[4., 0.],
           [0., 1.]])
    """
    above = np.maximum(variances - noise, 0.0)
    out: FloatArray = (components.T * above) @ components + noise * np.eye(components.shape[1])
    return out if scale is None else out * np.outer(scale, scale)


def log_likelihood(rows: FloatArray, covariance_: FloatArray) -> FloatArray:
    """Return the log density of centred rows under a normal model; variances of 0 become a tiny number."""
    values, vectors = np.linalg.eigh(covariance_)
    least = max(float(values[-1]) * np.finfo(float).eps, np.finfo(float).tiny)
    values = np.maximum(values, least)
    with np.errstate(invalid="ignore", over="ignore"):
        squares = np.sum((rows @ vectors) ** 2 / values, axis=1)
    out: FloatArray = -0.5 * (len(values) * np.log(2 * np.pi) + np.sum(np.log(values)) + squares)
    return out
