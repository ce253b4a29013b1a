"""Convergence display: radius and noise of every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.plots.style import BLUE, MARKERS, ORANGE, axes_or_new, guarantee_of, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvergenceDisplay:
    """Clipping radius, noise and share of the budget of each round of a run.

    Parameters
    ----------
    kinds : tuple of str
        Purpose of each round: pilot, extra, check, last.
    radius, noise : array of shape (rounds,)
        Norm to which units were clipped, and the noise added to their mean.
    share : array of shape (rounds,)
        Share of the run's budget (of mu^2) that each round spent.
    guarantee : str
        Privacy guarantee, shown in the title.
    """

    kinds: tuple[str, ...]
    radius: FloatArray
    noise: FloatArray
    share: FloatArray
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """Create the display from a fitted DPPCA. Raise if its algorithm reports no rounds."""
        rounds = _reported_rounds(pca.release_.diagnostics)
        if not rounds:
            raise InvalidInputError(
                f"this run of {pca.release_.algorithm} has reported no rounds.",
                hint="algorithm='tracked' reports rounds, unless it adds noise to the second moment directly.",
            )

        def numbers(name: str) -> FloatArray:
            return np.array([float(one[name]) for one in rounds])

        return cls(
            kinds=tuple(str(one["kind"]) for one in rounds),
            radius=numbers("radius"),
            noise=numbers("noise"),
            share=numbers("share"),
            guarantee=guarantee_of(pca),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw radius and noise on a logarithmic scale."""
        ax = axes_or_new(ax)
        numbers = np.arange(1, len(self.kinds) + 1)
        for values, label, colour, marker, line in (
            (self.radius, "radius", BLUE, MARKERS[0], "-"),
            (self.noise, "noise", ORANGE, MARKERS[1], "--"),
        ):
            ax.plot(numbers, values, color=colour, marker=marker, linestyle=line, label=label)
        ax.set_yscale("log")
        ax.set_xticks(numbers, [f"{i}\n{kind}" for i, kind in zip(numbers, self.kinds, strict=True)])
        ax.set_xlabel("round")
        ax.set_ylabel("in squared units of the data")
        ax.legend(frameon=False)
        titled(ax, "Radius and noise per round", self.guarantee)
        return ax


def _reported_rounds(diagnostics: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the diagnostics of each round. Some algorithms report only the number of rounds."""
    rounds = diagnostics.get("rounds", ())
    listed = rounds if isinstance(rounds, list | tuple) else ()
    return [one for one in listed if isinstance(one, Mapping) and {"kind", "radius", "noise", "share"} <= set(one)]
