"""Samples together with the truth they were drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil._typing import FloatArray
from eigenveil.operators import Operator


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """What a data model returns.

    Parameters
    ----------
    samples : Operator
        One unit per sample, as any algorithm of eigenveil takes them.
    covariance : array of shape (d, d)
        The true S = E[A_i].
    eigenvalues : array of shape (d,)
        Of S, largest first.
    components : array of shape (k, d)
        True top directions as orthonormal rows, best first: the k spikes of a spiked model, the one direction
        of rare spikes, all d for the others (take ``components[:k]``).

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
