"""Loadings: which columns a component is made of."""

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
    ink,
    names_of,
    shortened,
    titled,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadingsDisplay:
    """The largest loadings of one component, largest first.

    Parameters
    ----------
    component : int
        Its number, from 1.
    names : tuple of str
        Columns.
    loadings : array
        One per name, in [-1, 1].
    noise : array, optional
        Standard deviation of each, where it is known.
    columns : int
        How many columns there are in all.
    guarantee : str
        For the title.

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
        """The numbers of one component of a fitted DPPCA."""
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
        """The `top` largest of all loadings of a component, by size."""
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
        """Draw a bar per column; negative ones have another colour and a hatch."""
        ax = axes_or_new(ax)
        places = np.arange(len(self.names))
        for wanted, colour, hatch in (
            (self.loadings >= 0, BLUE, HATCHES[0]),
            (self.loadings < 0, ORANGE, HATCHES[1]),
        ):
            ax.barh(places[wanted], self.loadings[wanted], color=colour, hatch=hatch, edgecolor=ink(), height=0.7)
        if self.noise is not None:
            reach = TWO_SIDED * self.noise
            ax.errorbar(self.loadings, places, xerr=reach, fmt="none", ecolor=ink(), capsize=3)
        ax.axvline(0, color=ink(), linewidth=0.8)
        ax.set_yticks(places, [shortened(name, 18) for name in self.names])
        ax.invert_yaxis()
        ax.set_xlabel("loading")
        some = f", largest {len(self.names)} of {self.columns}" if len(self.names) < self.columns else ""
        titled(ax, f"Loadings of component {self.component}{some}", self.guarantee)
        return ax
