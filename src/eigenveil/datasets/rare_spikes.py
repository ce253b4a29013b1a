"""Gaussian rows with rare, large spikes along one direction: the second model in the paper that violates A.4."""

from __future__ import annotations

import numpy as np

from eigenveil.datasets.dataset import Dataset
from eigenveil.datasets.spectra import check_size, random_basis
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples


def rare_spikes(
    n: int,
    d: int,
    *,
    alpha: float = 0.01,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Draw rows from N(0, I) with probability 1 - alpha, otherwise +-alpha^(-1/4) v; A_i = x x^T.

    S = (1 - alpha) I + sqrt(alpha) v v^T. The only component of interest is the direction of the rare rows, which
    are the rows that clipping shrinks most.

    Parameters
    ----------
    n, d : int
        Number of samples and of dimensions.
    alpha : float
        Probability of a rare row, strictly between 0 and 1.
    random_state : int, numpy Generator or None
        Seed. The same seed gives the same direction and samples; None gives new ones.

    Notes
    -----
    For each fixed alpha, A.4 holds with some K. But there is no K that is valid for all alpha. A spike is
    alpha^(-1/2) along v while gamma stays bounded, so K has to grow like alpha^(-1/2) / log(1 / alpha). At
    alpha = 0.01 the paper's K = 4 is still valid; below about 3e-4 it is not.

    Examples
    --------
    >>> data = rare_spikes(1000, 20, alpha=0.01, random_state=0)
    >>> data.eigenvalues[:2].round(2), data.components.shape
    (array([1.09, 0.99]), (1, 20))
    """
    check_size(n=n, d=d)
    if not 0 < alpha < 1:
        raise InvalidInputError(f"alpha must lie strictly between 0 and 1, got {alpha!r}.")
    rng = np.random.default_rng(random_state)
    direction = random_basis(d, 1, rng)
    rows = rng.normal(size=(n, d))
    rare = rng.random(n) < alpha
    signs = rng.choice([-1.0, 1.0], size=(int(rare.sum()), 1))
    rows[rare] = signs * alpha**-0.25 * direction
    eigenvalues = np.full(d, 1 - alpha)
    eigenvalues[0] += alpha**0.5
    return Dataset(
        samples=samples.rows(rows),
        covariance=(1 - alpha) * np.eye(d) + alpha**0.5 * direction.T @ direction,
        eigenvalues=eigenvalues,
        components=direction,
    )
