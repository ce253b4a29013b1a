"""Cumulative explained variance: how much of the whole the first components hold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from eigenveil.plots.style import BLUE, TWO_SIDED, axes_or_new, guarantee_of, titled

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CumulativeVarianceDisplay:
    """Shares of the total variance that the first 1, 2, ... k components hold.

    Parameters
    ----------
    shares : array of shape (k,)
        Released, not below 0 and not falling.
    noise : array of shape (k,), optional
        Standard deviation of the noise in each, to first order.
    guarantee : str
        For the title.
    """

    shares: FloatArray
    noise: FloatArray | None = None
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """The numbers of a fitted DPPCA; an error with the reason where it has released no total variance."""
        shares = np.cumsum(pca.explained_variance_ratio_)
        bought = pca.release_.variances
        noise = None if bought is None else noise_of_shares(shares, bought)
        return cls(shares=shares, noise=noise, guarantee=guarantee_of(pca))

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals, at least 0."""
        return self.shares if self.noise is None else np.maximum(self.shares - TWO_SIDED * self.noise, 0.0)

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals, at most 1."""
        return self.shares if self.noise is None else np.minimum(self.shares + TWO_SIDED * self.noise, 1.0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a line with marks, and a band for the intervals."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.shares) + 1)
        ax.plot(numbers, 100 * self.shares, color=BLUE, marker="o")
        if self.noise is not None:
            reach = 100 * np.stack([self.shares - self.low, self.high - self.shares])
            ax.errorbar(numbers, 100 * self.shares, yerr=reach, fmt="none", ecolor=BLUE, capsize=4)
        ax.set_xticks(numbers)
        ax.set_ylim(0, 103)
        ax.set_xlabel("number of components")
        ax.set_ylabel("variance held, %")
        titled(ax, "Share of all variance", self.guarantee)
        return ax


def noise_of_shares(shares: FloatArray, bought: Any) -> FloatArray:
    """Noise of (v_1 + .. + v_j) / total to first order; v_1 .. v_k and the rest have noise of their own.

    Examples
    --------
    >>> from eigenveil.subspace.variances import Variances
    >>> alone = Variances(explained=np.array([2.0]), total=4.0, noise=0.1, total_noise=0.1, share_above=0.0)
    >>> noise_of_shares(np.array([0.5]), alone)
    array([0.0125])
    """
    if not bought.total > 0:
        return 0 * shares
    k = len(shares)
    j = np.arange(1, k + 1)
    rest = max(bought.total_noise**2 - k * bought.noise**2, 0.0)
    square = (j * (1 - shares) ** 2 + (k - j) * shares**2) * bought.noise**2 + shares**2 * rest
    out: FloatArray = np.sqrt(square) / bought.total
    return out
