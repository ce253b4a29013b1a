"""Cumulative explained variance: how much of the whole the first components hold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.plots.style import BLUE, axes_or_new, guarantee_of, intervals_of, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class CumulativeVarianceDisplay:
    """Shares of the total variance that the first 1, 2, ... k components hold.

    Parameters
    ----------
    shares : array of shape (k,)
        Released, not below 0 and not falling.
    intervals : array of shape (k, 2), optional
        Where the population's shares lie 95 times in 100, as `cumulative_variance_ratio_interval` says: noise, the
        chance of which units came, and what clipping took. None where the algorithm does not tell.
    guarantee : str
        For the title.

    Examples
    --------
    >>> display = CumulativeVarianceDisplay(shares=np.array([0.5, 0.75]))
    >>> display.low, display.high
    (array([0.5 , 0.75]), array([0.5 , 0.75]))
    """

    shares: FloatArray
    intervals: FloatArray | None = None
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """The numbers of a fitted DPPCA; an error with the reason where it has released no total variance."""
        return cls(
            shares=np.cumsum(pca.explained_variance_ratio_),
            intervals=intervals_of(pca, "cumulative_variance_ratio_interval"),
            guarantee=guarantee_of(pca),
        )

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals; the shares where there are none."""
        return self.shares if self.intervals is None else self.intervals[:, 0]

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals; the shares where there are none."""
        return self.shares if self.intervals is None else self.intervals[:, 1]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a line with marks, and the intervals."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.shares) + 1)
        ax.plot(numbers, 100 * self.shares, color=BLUE, marker="o")
        if self.intervals is not None:
            middle, reach = 50 * (self.high + self.low), 50 * (self.high - self.low)
            ax.errorbar(numbers, middle, yerr=reach, fmt="none", ecolor=BLUE, capsize=4)
        ax.set_xticks(numbers)
        ax.set_ylim(0, 103)
        ax.set_xlabel("number of components")
        ax.set_ylabel("variance held, %" if self.intervals is None else "variance held, %, 95 % interval")
        titled(ax, "Share of all variance", self.guarantee)
        return ax
