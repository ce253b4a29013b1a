"""Spiked covariance: a few strong components, and isotropic noise (spiked-cov-example, app_exp)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.datasets.dataset import Dataset
from eigenveil.datasets.spectra import check_eigenvalues, check_size, random_basis, with_spectrum
from eigenveil.errors import InvalidInputError
from eigenveil.operators import Operator, samples


def spiked_covariance(
    n: int,
    d: int,
    eigenvalues: npt.ArrayLike,
    sigma: float,
    *,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Draw samples with mean S = V diag(eigenvalues) V^T + sigma^2 I.

    V is a random orthonormal basis. With one eigenvalue, samples are rows: A_i = x x^T with x = s v + z, where
    s = +-sqrt(eigenvalue) with equal probability and z ~ N(0, sigma^2 I). With more eigenvalues,
    A_i = V diag(eigenvalues) V^T + z z^T, with the same signal in every sample (`samples.spiked`). The paper
    distinguishes the two, because random signs for k components would give a mixture.

    Parameters
    ----------
    n, d : int
        Number of samples and of dimensions.
    eigenvalues : list of k numbers
        Eigenvalues of the signal, in any order. The eigenvalues of S are larger by sigma^2.
    sigma : float
        Standard deviation of the noise in each coordinate; 0 is allowed.
    random_state : int, numpy Generator or None
        Seed. The same seed gives the same samples; None gives new ones.

    Deviations from the paper
    -------------------------
    For k = 1 the appendix has s = +-lambda_1, whose square would be the eigenvalue; spiked-cov-example has s =
    +-1. We use the square root, so that `eigenvalues` has the same meaning for every k, as in the paper's
    clipping threshold, C sqrt(lambda_1) + ... To follow the appendix literally, pass ``[lambda_1**2]``.

    Examples
    --------
    >>> data = spiked_covariance(1000, 20, [10.0, 5.0], 0.1, random_state=0)
    >>> data.components.shape, [round(float(value), 2) for value in data.eigenvalues[:3]]
    ((2, 20), [10.01, 5.01, 0.01])
    """
    check_size(n=n, d=d)
    spikes = check_eigenvalues(eigenvalues)
    if spikes.size > d:
        raise InvalidInputError(f"there are more spikes than dimensions: {spikes.size} spikes and d = {d}.")
    if not (math.isfinite(sigma) and sigma >= 0):
        raise InvalidInputError(f"sigma must be a finite number of at least 0, got {sigma!r}.")
    rng = np.random.default_rng(random_state)
    directions = random_basis(d, spikes.size, rng)
    noise = sigma * rng.normal(size=(n, d))
    covariance = with_spectrum(spikes, directions) + sigma**2 * np.eye(d)
    return Dataset(
        samples=_samples(directions, spikes, noise, rng),
        covariance=covariance,
        eigenvalues=np.concatenate([spikes, np.zeros(d - spikes.size)]) + sigma**2,
        components=directions,
    )


def _samples(directions: FloatArray, spikes: FloatArray, noise: FloatArray, rng: np.random.Generator) -> Operator:
    """Return rows with a signal of random sign for one spike, or units with a common signal for more spikes."""
    if spikes.size > 1:
        return samples.spiked(directions.T, spikes, noise)
    signs = rng.choice([-1.0, 1.0], size=(len(noise), 1))
    return samples.rows(noise + signs * np.sqrt(spikes[0]) * directions)
