"""What a figure is: an axis, its values, a setting, the curves, and what the paper says about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from eigenveil.experiments.methods import EVERY, METHODS
from eigenveil.experiments.setting import Setting

QUICK_N, QUICK_D = 1_000, 30
"""Sizes of a quick run, where they are not the axis."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of one curve: where it stands, and how it is had."""

    panel: float | None
    x: float
    method: str
    setting: Setting


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A definition; everything else is done by the runner and the writer.

    Parameters
    ----------
    name, title : str
        In files and options; above the picture.
    where : str
        Its label in the paper.
    says : str
        What the paper says it shows, in our words.
    choice : str
        What the paper leaves open here, and how it was chosen.
    axis, values : str and numbers
        The field of `Setting` that varies, and how.
    panel, panels : str and numbers, optional
        A second field: one panel for each of its values.
    base : Setting
        All other fields.
    methods : tuple of str
        The curves.
    only : mapping
        Methods that are run at some of the values alone, since they are slow, and these values.
    quick : tuple
        The values of a quick run.
    quick_panels : tuple
        Its panels.
    quick_base : mapping
        Fields of its setting; n and d are small anyway.
    bars : {"ci", "sd"}
        What is shaded or drawn as bars: a 95 % interval of the mean, or the standard deviation of a trial.
    label : str
        Of the axis.
    linear : bool
        Whether the axis is linear; logarithmic else.
    """

    name: str
    title: str
    where: str
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
        """All points of all curves, curve by curve."""
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
        """Whether a method has a point there; in quick runs slow ones have the last alone."""
        if quick and METHODS[method].one_in > 1:
            return x == self.quick[-1]
        return quick or x in self.only.get(method, self.values)
