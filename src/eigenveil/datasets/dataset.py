"""Samples with the true covariance of their distribution."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil._typing import FloatArray
from eigenveil.operators import Operator


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Samples of a data model, with the true covariance and components.

    Parameters
    ----------
    samples : Operator
        One unit per sample, in a form that all algorithms of eigenveil accept.
    covariance : array of shape (d, d)
        True S = E[A_i].
    eigenvalues : array of shape (d,)
        Eigenvalues of S, largest first.
    components : array of shape (k, d)
        True top components as orthonormal rows, in descending order of variance: the k spikes of a spiked model,
        the one component of rare spikes, all d components for the others (use ``components[:k]``).

    Examples
    --------
    >>> from eigenveil.datasets import gaussian
    >>> data = gaussian(100, [3.0, 2.0, 1.0], random_state=0)
    >>> data.samples.d, data.covariance.shape, data.components.shape
    (3, (3, 3), (3, 3))
    >>> import numpy as np
    >>> np.allclose(data.components @ data.covariance @ data.components.T, np.diag(data.eigenvalues))
    True
    """

    samples: Operator
    covariance: FloatArray
    eigenvalues: FloatArray
    components: FloatArray
