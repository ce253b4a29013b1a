"""Scree plot: the variance along each component, with confidence intervals for the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.plots.style import BLUE, axes_or_new, guarantee_of, intervals_of, text_colour, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class ScreeDisplay:
    """Variances of components, with confidence intervals if the model provides them.

    Parameters
    ----------
    variances : array of shape (k,)
        Released variances.
    intervals : array of shape (k, 2), optional
        95 % confidence intervals for the population's variances, from `explained_variance_interval`. They account
        for noise, sampling and clipping. None if the algorithm does not provide them.
    guarantee : str
        Privacy guarantee, shown in the title.

    Examples
    --------
    >>> display = ScreeDisplay(variances=np.array([4.0, 1.0]), intervals=np.array([[2.5, 6.0], [0.0, 3.0]]))
    >>> display.low, display.high
    (array([2.5, 0. ]), array([6., 3.]))
    """

    variances: FloatArray
    intervals: FloatArray | None = None
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """Create the display from a fitted DPPCA. Raise, with the reason, if it released no variances."""
        variances = np.asarray(pca.explained_variance_)
        return cls(
            variances=variances,
            intervals=intervals_of(pca, "explained_variance_interval"),
            guarantee=guarantee_of(pca),
        )

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals, or the variances if there are none."""
        return self.variances if self.intervals is None else self.intervals[:, 0]

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals, or the variances if there are none."""
        return self.variances if self.intervals is None else self.intervals[:, 1]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one bar per component, with its interval."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.variances) + 1)
        ax.bar(numbers, self.variances, color=BLUE, edgecolor=text_colour(), width=0.7)
        if self.intervals is not None:
            middle, reach = (self.high + self.low) / 2, (self.high - self.low) / 2
            ax.errorbar(numbers, middle, yerr=reach, fmt="none", ecolor=text_colour(), capsize=4)
        ax.set_xticks(numbers)
        ax.set_xlabel("component")
        ax.set_ylabel("variance" if self.intervals is None else "variance, 95 % interval")
        titled(ax, "Variance along each component", self.guarantee)
        return ax
