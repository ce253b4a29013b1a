"""Result of every algorithm: components, estimates of their variances, and the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.release_warnings import ReleaseWarning
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.privacy.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class Release:
    """Result of an algorithm. Everything in it is a release, or post-processing of releases.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    components : array of shape (k, d)
        Orthonormal rows, best first. The entry of largest absolute value in each row is positive.
    eigenvalues : array of shape (k,), optional
        Private estimates of the variances along the components, if the algorithm has any.
    variances : NoisyVariances, optional
        Variances along the components and in total, with their noise, if they were bought separately. The
        `eigenvalues` are then the same numbers.
    mean : array of shape (d,), optional
        Private mean that was subtracted from the rows, if they were centred.
    ledger : Ledger
        Record of the privacy budget that was spent.
    diagnostics : Diagnostics, or mapping
        Diagnostics of the run, such as radii, noise and rounds.
    scale : array of shape (d,), optional
        Scales that the columns were divided by, declared or bought, if the algorithm did so.
    scale_errors : array of shape (d,), optional
        Relative standard errors of the scales that columns were divided by, if any were bought.
    mean_errors : array of shape (d,), optional
        Standard errors of the mean by its noise, in units of the rows that components were found for, if it was
        bought.
    warnings : tuple of ReleaseWarning
        Warnings about the release.
    """

    algorithm: str
    components: FloatArray
    ledger: Ledger
    eigenvalues: FloatArray | None = None
    variances: NoisyVariances | None = None
    mean: FloatArray | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    scale: FloatArray | None = None
    scale_errors: FloatArray | None = None
    mean_errors: FloatArray | None = None
    warnings: tuple[ReleaseWarning, ...] = ()

    @property
    def private(self) -> bool:
        """Whether the guarantee holds. If not, the ledger has the reasons."""
        return self.ledger.private

    def __repr__(self) -> str:
        k, d = self.components.shape
        verdict = "" if self.private else f" NOT PRIVATE: {'; '.join(self.ledger.reasons)};"
        return f"<Release of {self.algorithm}:{verdict} {k} components of {d} columns, {self.ledger!r}>"


def component_names(k: int) -> list[str]:
    """Return the names of k components: pc1, pc2, and so on.

    Examples
    --------
    >>> component_names(2)
    ['pc1', 'pc2']
    """
    return [f"pc{i + 1}" for i in range(k)]


def signed(components: FloatArray) -> FloatArray:
    """Return the rows with signs for which the entry of largest absolute value is positive.

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
