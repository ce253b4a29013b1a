"""Scree: the variance along every component, with the noise that privacy put on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from eigenveil.plots.style import BLUE, TWO_SIDED, axes_or_new, guarantee_of, ink, titled

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScreeDisplay:
    """Variances of components, and intervals where their noise is known.

    Parameters
    ----------
    variances : array of shape (k,)
        Released variances.
    noise : float, optional
        Standard deviation of the noise in each; None where the algorithm does not tell.
    guarantee : str
        For the title.

    Examples
    --------
    >>> display = ScreeDisplay(variances=np.array([4.0, 1.0]), noise=1.0)
    >>> display.low, display.high
    (array([2.04, 0.  ]), array([5.96, 2.96]))
    """

    variances: FloatArray
    noise: float | None = None
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """The numbers of a fitted DPPCA; an error with the reason where it has released no variances."""
        bought = pca.release_.variances
        noise = None if bought is None else float(bought.noise)
        return cls(variances=np.asarray(pca.explained_variance_), noise=noise, guarantee=guarantee_of(pca))

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals, at least 0."""
        return np.maximum(self.variances - TWO_SIDED * (self.noise or 0.0), 0.0)

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals."""
        return self.variances + TWO_SIDED * (self.noise or 0.0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar per component, and its interval."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.variances) + 1)
        ax.bar(numbers, self.variances, color=BLUE, edgecolor=ink(), width=0.7)
        if self.noise is not None:
            reach = np.stack([self.variances - self.low, self.high - self.variances])
            ax.errorbar(numbers, self.variances, yerr=reach, fmt="none", ecolor=ink(), capsize=4)
        ax.set_xticks(numbers)
        ax.set_xlabel("component")
        ax.set_ylabel("variance" if self.noise is None else "variance, ± 1.96 sd of noise")
        titled(ax, "Variance along each component", self.guarantee)
        return ax
