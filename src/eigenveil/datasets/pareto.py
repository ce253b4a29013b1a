"""Heavy-tailed rows x = r u, r ~ Pareto(alpha): the first of two models in the paper that violate A.4."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from eigenveil.datasets.dataset import Dataset
from eigenveil.datasets.spectra import check_size, spectrum_and_basis, with_spectrum
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples


def pareto(
    n: int,
    eigenvalues_or_covariance: npt.ArrayLike,
    *,
    alpha: float = 5.0,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Draw rows x = r u with P(r > t) = t^-alpha up to scale, with A_i = x x^T.

    u is uniform on the ellipsoid with E[u u^T] = S, and r has E[r^2] = 1, so that S is the covariance for every
    alpha. Only r is heavy-tailed. (The paper specifies u only by x = r u.)

    Parameters
    ----------
    n : int
        Number of samples.
    eigenvalues_or_covariance : list of d numbers, or array of shape (d, d)
        As for `gaussian`.
    alpha : float
        Tail exponent, above 2. Moments of x exist below alpha: at 4 or less the variance V of A.3 is infinite. A.4
        is violated for every alpha, because no exponential moment exists.
    random_state : int, numpy Generator or None
        Seed. The same seed gives the same basis and samples; None gives new ones.

    Examples
    --------
    >>> data = pareto(1000, [4.0, 2.0, 1.0], alpha=3.0, random_state=0)
    >>> data.components.shape
    (3, 3)
    """
    check_size(n=n)
    if not (math.isfinite(alpha) and alpha > 2):
        raise InvalidInputError(
            f"alpha must be a finite number above 2, got {alpha!r}.",
            hint="At 2 and below the covariance does not exist.",
        )
    rng = np.random.default_rng(random_state)
    values, vectors = spectrum_and_basis(eigenvalues_or_covariance, rng)
    sphere = rng.normal(size=(n, values.size))
    sphere *= math.sqrt(values.size) / np.linalg.norm(sphere, axis=1, keepdims=True)
    radius = (1 + rng.pareto(alpha, size=(n, 1))) * math.sqrt((alpha - 2) / alpha)
    return Dataset(
        samples=samples.rows((radius * sphere * np.sqrt(values)) @ vectors),
        covariance=with_spectrum(values, vectors),
        eigenvalues=values,
        components=vectors,
    )
