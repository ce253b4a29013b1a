"""Convergence: radius and noise of every round."""

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
    """What the rounds of a run released about themselves.

    Parameters
    ----------
    kinds : tuple of str
        What each round was for: pilot, extra, check, last.
    radius, noise : array of shape (rounds,)
        To what length units were shortened, and the noise that was put on their mean.
    share : array of shape (rounds,)
        Share of the run's budget (of mu^2) that each took.
    guarantee : str
        For the title.
    """

    kinds: tuple[str, ...]
    radius: FloatArray
    noise: FloatArray
    share: FloatArray
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any) -> Self:
        """The numbers of a fitted DPPCA; an error where its algorithm has no rounds to tell of."""
        rounds = _rounds_told(pca.release_.diagnostics)
        if not rounds:
            raise InvalidInputError(
                f"this run of {pca.release_.algorithm} has told of no rounds.",
                hint="algorithm='tracked' does, but where noise on the second moment itself costs less.",
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
        """Draw both on a logarithmic scale."""
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
        titled(ax, "Radius and noise, round by round", self.guarantee)
        return ax


def _rounds_told(diagnostics: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rounds that are told one by one; some algorithms only tell how many there were."""
    told = diagnostics.get("rounds", ())
    listed = told if isinstance(told, list | tuple) else ()
    return [one for one in listed if isinstance(one, Mapping) and {"kind", "radius", "noise", "share"} <= set(one)]
