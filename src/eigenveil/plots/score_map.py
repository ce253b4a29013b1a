"""Map of scores: noisy two-dimensional histogram of the units' scores on two components."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.plots.style import COUNTS, axes_or_new, titled

FALSE_ALARM = 0.05
"""Probability that noise alone draws a cell, anywhere on a map without units."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreMapDisplay:
    """Noisy number of units per cell of a grid, in total and per public group.

    Parameters
    ----------
    counts : array of shape (columns, rows)
        Noisy counts. The first axis is the first component.
    edges : pair of arrays
        Edges of the cells along each component.
    components : pair of int
        Numbers of the two components, starting at 1.
    noise : float
        Standard deviation of the noise in each cell of `counts`.
    groups : mapping of str to array of shape (columns, rows)
        Noisy counts per public group (a site, a year), if maps per group were bought.
    guarantee : str
        Privacy guarantee, shown in the title.

    Examples
    --------
    >>> grid = np.array([0.0, 1.0, 2.0])
    >>> display = ScoreMapDisplay(counts=np.array([[9.0, -1.0], [2.0, 50.0]]), edges=(grid, grid), noise=2.0)
    >>> display.shown()  # cells that could be noise alone are blank
    array([[ 9., nan],
           [nan, 50.]])
    """

    counts: FloatArray
    edges: tuple[FloatArray, FloatArray]
    components: tuple[int, int] = (1, 2)
    noise: float = 0.0
    groups: Mapping[str, FloatArray] = field(default_factory=dict)
    guarantee: str = ""

    def __post_init__(self) -> None:
        expected = tuple(len(edge) - 1 for edge in self.edges)
        for counts in (self.counts, *self.groups.values()):
            if counts.shape != expected:
                raise InvalidInputError(f"edges define {expected} cells, got counts of shape {counts.shape}.")

    @classmethod
    def from_histogram(cls, histogram: Any, *, guarantee: str | None = None) -> Self:
        """Create the display from the result of `DPPCA.private_scores`. The total is the sum of all groups."""
        counts = np.asarray(histogram.counts, dtype=np.float64)
        labels = () if histogram.labels is None else histogram.labels
        first, second = histogram.components
        return cls(
            counts=counts.sum(axis=0) if labels else counts,
            edges=(np.asarray(histogram.edges[0]), np.asarray(histogram.edges[1])),
            components=(int(first), int(second)),
            noise=float(histogram.noise) * math.sqrt(len(labels) or 1),
            groups={str(label): one for label, one in zip(labels, counts, strict=bool(labels))},
            guarantee=_guarantee(histogram) if guarantee is None else guarantee,
        )

    def threshold(self, group: str | None = None) -> float:
        """Return the count above which a cell is drawn.

        It holds for all cells of a map at once: on a map of empty cells, the probability that noise lifts any of
        them above it is at most 5 % (Bonferroni).
        """
        noise = self.noise if group is None else self.noise / math.sqrt(len(self.groups))
        return float(-ndtri(FALSE_ALARM / self.counts.size)) * noise

    def shown(self, group: str | None = None) -> FloatArray:
        """Return the counts, with nan for counts up to the threshold."""
        counts = self.counts if group is None else self._of_group(group)
        return np.where(counts > self.threshold(group), counts, np.nan)

    def plot(self, ax: Axes | None = None, *, group: str | None = None) -> Axes:
        """Draw the map of all units, or of one group; stronger colours are more units."""
        ax = axes_or_new(ax)
        mesh = ax.pcolormesh(
            *self.edges, self.shown(group).T, cmap=COUNTS, vmin=0, vmax=self._most(), rasterized=True
        )
        figure = ax.get_figure()
        if figure is not None:
            bar = figure.colorbar(mesh, ax=ax, label="units per cell (noisy count)")
            bar.ax.patch.set_alpha(0.0)
            assert bar.solids is not None, "a mesh has colours"
            bar.solids.set_rasterized(True)  # vector cells overlap at their edges, which transparency would show
        ax.set_xlabel(f"score on component {self.components[0]}")
        ax.set_ylabel(f"score on component {self.components[1]}")
        titled(ax, "Where units lie" if group is None else f"Where units lie: {group}", self.guarantee)
        return ax

    def plot_groups(self, axes: Sequence[Axes] | None = None) -> list[Axes]:
        """Draw one map per group, all with the same colour scale."""
        if not self.groups:
            raise InvalidInputError("no maps per group were bought.")
        given = [None] * len(self.groups) if axes is None else axes
        return [self.plot(ax, group=name) for name, ax in zip(self.groups, given, strict=True)]

    def _of_group(self, group: str) -> FloatArray:
        if group not in self.groups:
            raise InvalidInputError(
                f"there is no map of group {group!r}; groups with a map: {', '.join(self.groups) or 'none'}."
            )
        return self.groups[group]

    def _most(self) -> float:
        """Return the upper end of the colour scale."""
        counts = list(self.groups.values()) or [self.counts]
        return max(1.0, *(float(one.max(initial=0.0)) for one in (self.counts, *counts)))


def _guarantee(histogram: Any) -> str:
    return "private" if histogram.ledger.private else "NOT PRIVATE"
