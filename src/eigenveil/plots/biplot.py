"""Biplot: columns as arrows over the map of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.plots.score_map import ScoreMapDisplay
from eigenveil.plots.style import (
    ORANGE,
    axes_or_new,
    check_component,
    guarantee_of,
    names_of,
    page_colour,
    shortened,
    text_colour,
    titled,
)

_REACH, _ROOM = 0.6, 1.5
"""With a map: length of the longest arrow, relative to the distance to the nearest side of the map. Without a map:
distance to the sides, relative to the longest arrow. The remaining space is for names."""
_LINE = 0.06
"""Height of a name, relative to the height of the figure."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BiplotDisplay:
    """Loadings on two components as arrows, over a private map of scores if given.

    Parameters
    ----------
    names : tuple of str
        Columns with the longest arrows, longest first.
    arrows : array of shape (names, 2)
        Loadings of these columns on the two components.
    components : pair of int
        Numbers of the two components, starting at 1.
    scores : ScoreMapDisplay, optional
        Map of scores to draw below the arrows.
    guarantee : str
        Privacy guarantee, shown in the title.
    """

    names: tuple[str, ...]
    arrows: FloatArray
    components: tuple[int, int] = (1, 2)
    scores: ScoreMapDisplay | None = None
    guarantee: str = ""

    @classmethod
    def from_estimator(
        cls, pca: Any, *, scores: Any = None, components: tuple[int, int] | None = None, top: int = 8
    ) -> Self:
        """Create the display from a fitted DPPCA, and the result of `private_scores` for the same components."""
        map_ = scores if isinstance(scores, ScoreMapDisplay | None) else ScoreMapDisplay.from_histogram(scores)
        chosen = components or (map_.components if map_ is not None else (1, 2))
        if map_ is not None and map_.components != chosen:
            raise InvalidInputError(f"the map is of components {map_.components}, but the arrows are of {chosen}.")
        k = len(pca.components_)
        arrows = np.stack([pca.components_[check_component(one, k)] for one in chosen], axis=1)
        longest = np.argsort(-np.linalg.norm(arrows, axis=1), kind="stable")[: max(1, top)]
        names = names_of(pca)
        return cls(
            names=tuple(names[i] for i in longest),
            arrows=arrows[longest],
            components=chosen,
            scores=map_,
            guarantee=guarantee_of(pca),
        )

    @property
    def stretch(self) -> float:
        """Factor by which arrows are drawn longer than the loadings, so that they fill the map."""
        longest = float(np.linalg.norm(self.arrows, axis=1).max(initial=0.0))
        if self.scores is None or not longest > 0:
            return 1.0
        ends = [abs(float(end)) for edge in self.scores.edges for end in (edge[0], edge[-1])]
        return _REACH * (min(ends) or max(ends)) / longest

    def heights_of_names(self) -> FloatArray:
        """Return the heights of the names: at the tips of arrows, moved where names would overlap."""
        heights = self.arrows[:, 1] * self.stretch
        half = self._half_height()
        least, highest = _LINE * 2 * half, half * (1 - _LINE)
        for side in (self.arrows[:, 0] >= 0, self.arrows[:, 0] < 0):
            order = sorted(np.flatnonzero(side), key=lambda i: heights[i])
            below, above = -np.inf, highest + least
            for i in order:
                heights[i] = below = max(heights[i], below + least)
            for i in reversed(order):
                heights[i] = above = min(heights[i], above - least)
        return heights

    def _half_height(self) -> float:
        if self.scores is not None:
            return float(np.ptp(self.scores.edges[1])) / 2
        return _ROOM * float(np.abs(self.arrows).max(initial=0.1))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map, and one labelled arrow per column."""
        ax = axes_or_new(ax)
        if self.scores is not None:
            self.scores.plot(ax)
        halo = patheffects.withStroke(linewidth=2.5, foreground=page_colour())
        ends = self.arrows * self.stretch
        for name, (x, y), height in zip(self.names, ends, self.heights_of_names(), strict=True):
            ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": ORANGE, "linewidth": 1.6})
            side = 1 if x >= 0 else -1
            column = side * np.max(side * ends[side * ends[:, 0] >= 0, 0])  # names of a side are below each other
            ax.plot([x, column], [y, height], color=text_colour(), linewidth=0.5, linestyle=":")
            ax.annotate(
                shortened(name, 14),
                (column, height),
                (4 * side, 0),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                va="center",
                size=8,
                path_effects=[halo],
            )
        if self.scores is None:
            reach = self._half_height()
            ax.set(xlim=(-1.3 * reach, 1.3 * reach), ylim=(-reach, reach))  # names are beside the arrows
            ax.axhline(0, color=text_colour(), linewidth=0.5, linestyle=":")
            ax.axvline(0, color=text_colour(), linewidth=0.5, linestyle=":")
            ax.set_xlabel(f"loading on component {self.components[0]}")
            ax.set_ylabel(f"loading on component {self.components[1]}")
        titled(ax, "Columns as arrows", self.guarantee)
        return ax
