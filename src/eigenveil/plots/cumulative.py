"""Cumulative explained variance of the first components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.plots.style import BLUE, axes_or_new, guarantee_of, intervals_of, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class CumulativeVarianceDisplay:
    """Shares of the total variance explained by the first 1, 2, ... k components.

    Parameters
    ----------
    shares : array of shape (k,)
        Released shares, non-negative and non-decreasing.
    intervals : array of shape (k, 2), optional
        95 % confidence intervals for the population's shares, from `cumulative_variance_ratio_interval`. They
        account for noise, sampling and clipping. None if the algorithm does not provide them.
    guarantee : str
        Privacy guarantee, shown in the title.

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
        """Create the display from a fitted DPPCA. Raise, with the reason, if it released no total variance."""
        return cls(
            shares=np.cumsum(pca.explained_variance_ratio_),
            intervals=intervals_of(pca, "cumulative_variance_ratio_interval"),
            guarantee=guarantee_of(pca),
        )

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals, or the shares if there are none."""
        return self.shares if self.intervals is None else self.intervals[:, 0]

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals, or the shares if there are none."""
        return self.shares if self.intervals is None else self.intervals[:, 1]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a line with markers, and the intervals."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.shares) + 1)
        ax.plot(numbers, 100 * self.shares, color=BLUE, marker="o")
        if self.intervals is not None:
            middle, reach = 50 * (self.high + self.low), 50 * (self.high - self.low)
            ax.errorbar(numbers, middle, yerr=reach, fmt="none", ecolor=BLUE, capsize=4)
        ax.set_xticks(numbers)
        ax.set_ylim(0, 103)
        ax.set_xlabel("number of components")
        ax.set_ylabel(
            "variance explained, %" if self.intervals is None else "variance explained, %\n(95 % interval)"
        )
        titled(ax, "Share of total variance", self.guarantee)
        return ax
