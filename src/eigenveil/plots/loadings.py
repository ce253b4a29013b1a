"""Loadings of one component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.plots.style import (
    BLUE,
    HATCHES,
    ORANGE,
    TWO_SIDED,
    axes_or_new,
    check_component,
    guarantee_of,
    names_of,
    shortened,
    text_colour,
    titled,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadingsDisplay:
    """The largest loadings of one component, largest first.

    Parameters
    ----------
    component : int
        Number of the component, starting at 1.
    names : tuple of str
        Names of the columns.
    loadings : array
        One loading per name, in [-1, 1].
    noise : array, optional
        Standard deviation of the noise in each loading, if known.
    columns : int
        Total number of columns.
    guarantee : str
        Privacy guarantee, shown in the title.

    Examples
    --------
    >>> display = LoadingsDisplay.largest(["a", "b", "c"], np.array([0.1, -0.9, 0.4]), component=1, top=2)
    >>> display.names, display.loadings
    (('b', 'c'), array([-0.9,  0.4]))
    """

    component: int
    names: tuple[str, ...]
    loadings: FloatArray
    columns: int
    noise: FloatArray | None = None
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any, *, component: int = 1, top: int = 10) -> Self:
        """Create the display from one component of a fitted DPPCA."""
        row = pca.components_[check_component(component, len(pca.components_))]
        return cls.largest(names_of(pca), row, component=component, top=top, guarantee=guarantee_of(pca))

    @classmethod
    def largest(
        cls,
        names: Any,
        loadings: FloatArray,
        *,
        component: int,
        top: int,
        noise: FloatArray | None = None,
        guarantee: str = "",
    ) -> Self:
        """Create the display from the `top` loadings of a component that are largest in absolute value."""
        order = np.argsort(-np.abs(loadings), kind="stable")[: max(1, top)]
        return cls(
            component=component,
            names=tuple(names[i] for i in order),
            loadings=np.asarray(loadings)[order],
            columns=len(loadings),
            noise=None if noise is None else np.asarray(noise)[order],
            guarantee=guarantee,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw one bar per column; negative bars have another colour and a hatch."""
        ax = axes_or_new(ax)
        places = np.arange(len(self.names))
        for mask, colour, hatch in (
            (self.loadings >= 0, BLUE, HATCHES[0]),
            (self.loadings < 0, ORANGE, HATCHES[1]),
        ):
            edge = text_colour()
            ax.barh(places[mask], self.loadings[mask], color=colour, hatch=hatch, edgecolor=edge, height=0.7)
        if self.noise is not None:
            reach = TWO_SIDED * self.noise
            ax.errorbar(self.loadings, places, xerr=reach, fmt="none", ecolor=text_colour(), capsize=3)
        ax.axvline(0, color=text_colour(), linewidth=0.8)
        ax.set_yticks(places, [shortened(name, 18) for name in self.names])
        ax.invert_yaxis()
        ax.set_xlabel("loading")
        some = f", largest {len(self.names)} of {self.columns}" if len(self.names) < self.columns else ""
        titled(ax, f"Loadings of component {self.component}{some}", self.guarantee)
        return ax
