"""Rows of a Gaussian with mean 0 (example-gaussian-data)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eigenveil.datasets.dataset import Dataset
from eigenveil.datasets.spectra import check_size, spectrum_and_basis, with_spectrum
from eigenveil.operators import samples


def gaussian(
    n: int,
    eigenvalues_or_covariance: npt.ArrayLike,
    *,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Draw rows x ~ N(0, S), with A_i = x x^T.

    Parameters
    ----------
    n : int
        Number of samples.
    eigenvalues_or_covariance : list of d numbers, or array of shape (d, d)
        Eigenvalues of S, in a random basis; or S itself.
    random_state : int, numpy Generator or None
        Seed. The same seed gives the same basis and samples; None gives new ones.

    Examples
    --------
    >>> data = gaussian(1000, [4.0, 2.0, 1.0], random_state=0)
    >>> data.eigenvalues
    array([4., 2., 1.])
    >>> gaussian(10, [[2.0, 0.0], [0.0, 1.0]], random_state=0).components.round(3) ** 2
    array([[1., 0.],
           [0., 1.]])
    """
    check_size(n=n)
    rng = np.random.default_rng(random_state)
    values, vectors = spectrum_and_basis(eigenvalues_or_covariance, rng)
    rows = (rng.normal(size=(n, values.size)) * np.sqrt(values)) @ vectors
    return Dataset(
        samples=samples.rows(rows),
        covariance=with_spectrum(values, vectors),
        eigenvalues=values,
        components=vectors,
    )
