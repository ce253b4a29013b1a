"""Progress on stderr: which release is being made, how much of the budget that is, and how fast rows go by."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from eigenveil.cli.speaking import say, words
from eigenveil.estimators import Progress
from eigenveil.operators import PeopleOperator, RowsOperator
from eigenveil.sources import Block
from eigenveil.sources.wrapped import SameRows

_QUIET = 2.0
"""Seconds between lines where there is no terminal to draw on."""


class Watch:
    """What a fit has told so far, and the bar that shows it."""

    def __init__(self) -> None:
        self.last: Progress | None = None
        self.rows = 0
        self._bars: Bars | None = None
        self._task: TaskID | None = None
        self._begin = self._spoke = time.monotonic()

    def __call__(self, step: Progress) -> None:
        """Hear of a charge."""
        self.last = step
        if self._bars is not None and self._task is not None:
            text = f"{step.what}"
            self._bars.update(self._task, completed=step.share, description=text, rate=self.rate())
        elif time.monotonic() - self._spoke > _QUIET:
            self._spoke = time.monotonic()
            say(f"release {step.step}: {step.what}; {step.share:.0%} of the budget, {self.rate()}")

    def saw(self, rows: int) -> None:
        """Count rows that were read."""
        self.rows += rows
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, rate=self.rate())

    def rate(self) -> str:
        """Rows per second since the begin."""
        return f"{self.rows / max(time.monotonic() - self._begin, 1e-3):,.0f} rows/s"

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Within it there is a bar, where there is a terminal."""
        if not words().is_terminal:
            yield
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} % of the budget"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
        )
        with Bars(*columns, console=words(), transient=True) as bars:
            self._bars, self._task = bars, bars.add_task("reading", total=1.0, rate="")
            try:
                yield
            finally:
                self._bars = None


def counted(operator: RowsOperator | PeopleOperator, watch: Watch) -> RowsOperator | PeopleOperator:
    """The operator, whose rows are counted as they are read."""
    return replace(operator, source=CountedSource(operator.source, watch))


@dataclass(frozen=True, repr=False, eq=False)
class CountedSource(SameRows):
    """Another source, whose rows are counted as they are read."""

    watch: Watch

    def blocks(self) -> Iterator[Block]:
        """The same blocks."""
        for block in self.source.blocks():
            self.watch.saw(int(_height(block.values)))
            yield block


def _height(values: Any) -> int:
    return int(values.shape[0])
