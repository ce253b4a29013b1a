"""Definition of a figure: an axis and its values, a setting, the curves, and the paper's statement about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from eigenveil.experiments.methods import EVERY, METHODS
from eigenveil.experiments.setting import Setting

QUICK_N, QUICK_D = 1_000, 30
"""Values of n and d in a quick run, unless they are the axis."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of one curve: its position, method and setting."""

    panel: float | None
    x: float
    method: str
    setting: Setting


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Definition of a figure. The runner and the writer do the rest.

    Parameters
    ----------
    name, title : str
        Name in files and options; title above the plot.
    where : str
        Label of the figure in the source of the paper, for the table.
    paper : str
        The same in words, for readers.
    says : str
        What the figure shows according to the paper, in our words.
    choice : str
        What the paper leaves open, and our choice.
    axis, values : str and numbers
        Field of `Setting` on the x axis, and its values.
    panel, panels : str and numbers, optional
        A second field, with one panel for each of its values.
    base : Setting
        All other fields.
    methods : tuple of str
        The curves.
    only : mapping
        For slow methods, the values at which they are run.
    quick : tuple
        Values of a quick run.
    quick_panels : tuple
        Panels of a quick run.
    quick_base : mapping
        Fields of the setting of a quick run. By default only n and d are changed, to small values.
    bars : {"ci", "sd"}
        Meaning of the shades or bars: a 95 % interval of the mean, or the standard deviation over trials.
    label : str
        Label of the x axis.
    linear : bool
        Whether the x axis is linear instead of logarithmic.
    """

    name: str
    title: str
    where: str
    paper: str
    says: str
    choice: str
    axis: str
    label: str
    values: tuple[float, ...]
    quick: tuple[float, ...]
    base: Setting = field(default_factory=Setting)
    panel: str | None = None
    panels: tuple[float, ...] = ()
    quick_panels: tuple[float, ...] = ()
    quick_base: Mapping[str, Any] = field(default_factory=dict)
    methods: tuple[str, ...] = EVERY
    only: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    bars: Literal["ci", "sd"] = "ci"
    linear: bool = False

    def cells(self, *, quick: bool = False) -> Iterator[Cell]:
        """Yield all points of all curves, curve by curve."""
        base = replace(self.base, **{"n": QUICK_N, "d": QUICK_D, **self.quick_base}) if quick else self.base
        values = self.quick if quick else self.values
        panels = self.quick_panels if quick else self.panels
        for method in self.methods:
            for panel in panels or (None,):
                for x in values:
                    if not self._has(method, x, quick=quick):
                        continue
                    varied = {self.axis: x} if self.panel is None else {self.axis: x, self.panel: panel}
                    setting = replace(base, **varied)
                    mine = setting if METHODS[method].has_rates else setting.without_rate()
                    yield Cell(panel=panel, x=x, method=method, setting=mine)

    def _has(self, method: str, x: float, *, quick: bool) -> bool:
        """Return whether a method has a point at `x`. In quick runs, slow methods have only the last point."""
        if quick and METHODS[method].one_in > 1:
            return x == self.quick[-1]
        return quick or x in self.only.get(method, self.values)
