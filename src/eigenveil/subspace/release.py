"""What every algorithm returns: directions, what is known of their variances, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.privacy.ledger import Ledger
from eigenveil.subspace.release_warnings import ReleaseWarning
from eigenveil.subspace.variances import NoisyVariances


@dataclass(frozen=True, kw_only=True)
class Release:
    """The answer of an algorithm. Everything in it is a release or follows from releases.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    components : array of shape (k, d)
        Orthonormal rows, best first; the entry of largest size in each is positive.
    eigenvalues : array of shape (k,), optional
        Private estimates of the variances along them, where the algorithm has any.
    variances : NoisyVariances, optional
        NoisyVariances along the components and in all, with their noise, where a release of their own was bought for
        them; `eigenvalues` are then these.
    mean : array of shape (d,), optional
        The private mean that was taken off the rows, where they were centred.
    ledger : Ledger
        What was spent.
    diagnostics : Diagnostics, or mapping
        What the run reports about itself: radii, noise, rounds, and the like.
    scale_errors : array of shape (d,), optional
        Relative standard errors of the scales that columns were divided by, where any were bought.
    warnings : tuple of ReleaseWarning
        What a reader must be warned of.
    """

    algorithm: str
    components: FloatArray
    ledger: Ledger
    eigenvalues: FloatArray | None = None
    variances: NoisyVariances | None = None
    mean: FloatArray | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    scale_errors: FloatArray | None = None
    warnings: tuple[ReleaseWarning, ...] = ()

    @property
    def private(self) -> bool:
        """Whether the guarantee holds; the ledger says why not."""
        return self.ledger.private

    def __repr__(self) -> str:
        k, d = self.components.shape
        verdict = "" if self.private else f" NOT PRIVATE: {'; '.join(self.ledger.reasons)};"
        return f"<Release of {self.algorithm}:{verdict} {k} components of {d} columns, {self.ledger!r}>"


def component_names(k: int) -> list[str]:
    """What components are called wherever they are named: pc1, pc2, and so on.

    Examples
    --------
    >>> component_names(2)
    ['pc1', 'pc2']
    """
    return [f"pc{i + 1}" for i in range(k)]


def signed(components: FloatArray) -> FloatArray:
    """Rows with the sign that makes their entry of largest size positive.

    Examples
    --------
    >>> signed(np.array([[0.6, -0.8], [0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    out: FloatArray = components * np.where(signs == 0, 1.0, signs)[:, None]
    return out
