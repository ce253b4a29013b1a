"""Progress on stderr: what is being released, the share of the budget spent, passes made, rows per second.

How many passes there are at most, and so the time left, are shown where the algorithm states it.

What is shown are words and shares of the ledger, which are public, and the clock. How long a run takes is not
protected (docs/privacy.md), and rows per second, beside the time that has passed, tell how many rows were read;
the time left follows from the same two and from public numbers, so it tells nothing more. How many rows there are
is counted, and used for that time only. All of it goes to the terminal of whoever holds the files; none to a file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.progress import BarColumn, ProgressColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from eigenveil.cli.speaking import say, words
from eigenveil.estimators import Progress
from eigenveil.operators import PeopleOperator, RowsOperator
from eigenveil.sources import Block, Partition
from eigenveil.sources.wrapped import SameRows

_QUIET = 2.0
"""Seconds between lines where there is no terminal to draw on."""
_WIDE = 115
"""Columns of a terminal that hold a bar beside all the words."""


class Watch:
    """What a fit has told so far, how far it has come, and the bar that shows it.

    Parameters
    ----------
    clock : callable
        Seconds since some moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.last: Progress | None = None
        self.most_passes: int | None = None
        self.rows = self.readings = 0
        """Rows read in all, and how many readings of the data have begun."""
        self._clock = clock
        self._here = self._longest = 0
        """Rows of this reading so far, and of the longest one that is done."""
        self._begin = self._spoke = clock()
        self._steady: tuple[float, int] | None = None
        """When the first reading was done, and its rows: it may have sorted people, and none after it does."""
        self._bars: Bars | None = None
        self._task: TaskID | None = None

    def __call__(self, step: Progress) -> None:
        """Hear of a charge."""
        self.last = step
        self._show()

    def expect(self, most_passes: int | None, *, more: bool) -> None:
        """How often the data are read at most, where that is stated; `more`: once more after the fit."""
        self.most_passes = None if most_passes is None else most_passes + more

    def began(self) -> None:
        """A reading of the data begins, so that the one before it is done."""
        self.readings += 1
        self._longest, self._here = max(self._longest, self._here), 0
        if self.readings == 2:
            self._steady = self._clock(), self.rows

    def saw(self, rows: int) -> None:
        """Count rows that were read."""
        self.rows += rows
        self._here += rows
        self._show()

    # -- what is shown ---------------------------------------------------------------------------

    def rate(self) -> str:
        """Rows per second since the begin, to two digits."""
        return f"{_short(self.rows / max(self._clock() - self._begin, 1e-3))} rows/s"

    def reading(self) -> str:
        """Which reading of the data this is, and of how many at most."""
        if self.most_passes is None:
            return f"reading {self.readings}"
        return f"reading {self.readings} of at most {self.most_passes}"

    def left(self) -> str:
        """How long the rest will take at most, from the pace since the first reading was done; "" if not known."""
        seconds = self.seconds_left()
        return "" if seconds is None else f", at most {_in_words(seconds)} left"

    def seconds_left(self) -> float | None:
        """The same as a number; None before the second reading, or where nobody stated how many there are."""
        if self.most_passes is None or self._steady is None or not self.rows > self._steady[1]:
            return None
        pace = (self._clock() - self._steady[0]) / (self.rows - self._steady[1])
        readings = max(0, self.most_passes - self.readings)
        here = max(0, self._longest - self._here)
        return pace * (here + readings * self._longest)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Within it there is a bar, where there is a terminal."""
        if not words().is_terminal:
            yield
            return
        what, pace = TextColumn("{task.description}"), TextColumn("{task.fields[pace]}")
        share = TextColumn("{task.percentage:>3.0f} % of the budget")
        columns: tuple[ProgressColumn, ...] = (what, BarColumn(bar_width=16), share, pace)
        if words().width < _WIDE:
            columns = (what, pace)
        with Bars(*columns, console=words(), transient=True) as bars:
            self._bars, self._task = bars, bars.add_task("reading", total=1.0, pace="")
            try:
                yield
            finally:
                self._bars = None

    def _show(self) -> None:
        """Move the bar; where there is none, a line now and then."""
        pace = f"{self.reading()}, {self.rate()}{self.left()}"
        step = self.last
        if self._bars is not None and self._task is not None:
            told: dict[str, Any] = {} if step is None else {"completed": step.share, "description": step.what}
            self._bars.update(self._task, pace=pace, **told)
        elif step is not None and self._clock() - self._spoke > _QUIET:
            self._spoke = self._clock()
            say(f"{step.what}: {step.share:.0%} of the budget, {pace}")


def _short(number: float) -> str:
    """A number to two digits.

    Examples
    --------
    >>> [_short(number) for number in (0.0, 87.4, 1234.0, 651_234.0, 12_345_678.0)]
    ['0', '87', '1.2k', '650k', '12M']
    """
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{float(f'{number / size:.2g}'):g}{sign}"
    return f"{float(f'{number:.2g}'):g}"


def _in_words(seconds: float) -> str:
    """A time, no finer than it can be known.

    Examples
    --------
    >>> [_in_words(seconds) for seconds in (0.2, 7.3, 100.0, 4000.0)]
    ['1 s', '8 s', '1 min 40 s', '1 h 7 min']
    """
    whole = max(1, math.ceil(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = math.ceil(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def counted(operator: RowsOperator | PeopleOperator, watch: Watch) -> RowsOperator | PeopleOperator:
    """The operator, whose rows are counted as they are read."""
    return replace(operator, source=CountedSource(operator.source, watch))


@dataclass(frozen=True, repr=False, eq=False)
class CountedSource(SameRows):
    """Another source, whose rows are counted as they are read."""

    watch: Watch

    def over(self, partition: Partition, number: int) -> Partition:
        """The same rows, counted; a reading begins with the first partition."""
        return CountedPartition(partition, self.watch, begins=number == 0)


@dataclass(frozen=True, repr=False, eq=False)
class CountedPartition:
    """Another partition, whose rows are counted as they are read here."""

    partition: Partition
    watch: Watch
    begins: bool

    def blocks(self) -> Iterator[Block]:
        """The same blocks."""
        if self.begins:
            self.watch.began()
        for block in self.partition.blocks():
            self.watch.saw(int(block.values.shape[0]))
            yield block
