"""Scree: the variance along every component, and where that of the population lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.plots.style import BLUE, axes_or_new, guarantee_of, ink, intervals_of, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class ScreeDisplay:
    """Variances of components, and intervals where the model offers them.

    Parameters
    ----------
    variances : array of shape (k,)
        Released variances.
    intervals : array of shape (k, 2), optional
        Where the population's variance lies 95 times in 100, as `explained_variance_interval` says: it counts
        noise, the chance of which units came, and what clipping took. None where the algorithm does not tell.
    guarantee : str
        For the title.

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
        """The numbers of a fitted DPPCA; an error with the reason where it has released no variances."""
        variances = np.asarray(pca.explained_variance_)
        return cls(
            variances=variances,
            intervals=intervals_of(pca, "explained_variance_interval"),
            guarantee=guarantee_of(pca),
        )

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals; the variances where there are none."""
        return self.variances if self.intervals is None else self.intervals[:, 0]

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals; the variances where there are none."""
        return self.variances if self.intervals is None else self.intervals[:, 1]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar per component, and its interval."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.variances) + 1)
        ax.bar(numbers, self.variances, color=BLUE, edgecolor=ink(), width=0.7)
        if self.intervals is not None:
            middle, reach = (self.high + self.low) / 2, (self.high - self.low) / 2
            ax.errorbar(numbers, middle, yerr=reach, fmt="none", ecolor=ink(), capsize=4)
        ax.set_xticks(numbers)
        ax.set_xlabel("component")
        ax.set_ylabel("variance" if self.intervals is None else "variance, 95 % interval")
        titled(ax, "Variance along each component", self.guarantee)
        return ax
