"""Score map: where units lie in the plane of two components, as a noisy histogram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.plots.style import axes_or_new, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreMapDisplay:
    """Noisy numbers of units per cell of a plane, in all and per public group.

    Parameters
    ----------
    counts : array of shape (columns, rows)
        Noisy counts; the first axis goes along the first component.
    edges : pair of arrays
        Where cells begin and end, along either component.
    components : pair of int
        Which two, from 1.
    noise : float
        Standard deviation of the noise in a count of the map of all.
    groups : mapping of str to array of shape (columns, rows)
        Noisy counts of groups that are public (a site, a year), where maps were bought for them.
    guarantee : str
        For the title.

    Examples
    --------
    >>> grid = np.array([0.0, 1.0, 2.0])
    >>> display = ScoreMapDisplay(counts=np.array([[9.0, -1.0], [2.0, 50.0]]), edges=(grid, grid), noise=2.0)
    >>> display.shown()  # what noise alone could have made is left blank
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
        wanted = tuple(len(edge) - 1 for edge in self.edges)
        for counts in (self.counts, *self.groups.values()):
            if counts.shape != wanted:
                raise InvalidInputError(f"edges make {wanted} cells, got counts of shape {counts.shape}.")

    @classmethod
    def from_histogram(cls, histogram: Any, *, guarantee: str | None = None) -> Self:
        """The numbers of what `DPPCA.private_scores` returned; with groups, their sum is the map of all."""
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

    def shown(self, group: str | None = None) -> FloatArray:
        """Counts that noise alone would hardly make: below two of its standard deviations they are nan."""
        counts, noise = self.counts, self.noise
        if group is not None:
            counts, noise = self._of_group(group), self.noise / math.sqrt(len(self.groups))
        return np.where(counts > max(2 * noise, 0.0), counts, np.nan)

    def plot(self, ax: Axes | None = None, *, group: str | None = None) -> Axes:
        """Draw the map of all, or of one group; darker cells hold more units."""
        ax = axes_or_new(ax)
        ax.patch.set(facecolor="white", alpha=1.0)  # on a dark page too: empty cells must not look like full ones
        mesh = ax.pcolormesh(
            *self.edges, self.shown(group).T, cmap="cividis_r", vmin=0, vmax=self._most(), rasterized=True
        )
        figure = ax.get_figure()
        if figure is not None:
            figure.colorbar(mesh, ax=ax, label="units (noisy count)")
        ax.set_xlabel(f"score on component {self.components[0]}")
        ax.set_ylabel(f"score on component {self.components[1]}")
        titled(ax, "Where units lie" if group is None else f"Where units lie: {group}", self.guarantee)
        return ax

    def plot_groups(self, axes: Sequence[Axes] | None = None) -> list[Axes]:
        """Draw one map per group, all on one scale of colours."""
        if not self.groups:
            raise InvalidInputError("no maps of groups were bought.")
        given = [None] * len(self.groups) if axes is None else axes
        return [self.plot(ax, group=name) for name, ax in zip(self.groups, given, strict=True)]

    def _of_group(self, group: str) -> FloatArray:
        if group not in self.groups:
            raise InvalidInputError(
                f"there is no map of group {group!r}, but of {', '.join(self.groups) or 'none'}."
            )
        return self.groups[group]

    def _most(self) -> float:
        """The end of the scale of colours."""
        counts = list(self.groups.values()) or [self.counts]
        return max(1.0, *(float(one.max(initial=0.0)) for one in (self.counts, *counts)))


def _guarantee(histogram: Any) -> str:
    return "private" if histogram.ledger.private else "NOT PRIVATE"
