"""Progress on stderr: the current release, the share of the budget spent, passes over the data, rows per second.

The command line always shows it, and `DPPCA` with ``verbose=1``: as a bar on a terminal if rich is installed, else
as a line every few seconds. The maximal number of passes, and thus the time left, is shown if the algorithm states
it.

Labels and shares of the ledger are public. Times are not: the running time is not protected (docs/privacy.md), and
rows per second together with the elapsed time reveal how many rows were read. The time left is computed from these
two and from public numbers, so it reveals nothing more. The number of rows is counted, and used for the rate and
the time left only. All of this goes to the terminal of the data holder, and nothing to a file.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from eigenveil._printable import printable
from eigenveil.estimators.progress.step import Progress
from eigenveil.operators import PeopleOperator, RowsOperator
from eigenveil.sources import Block, Partition
from eigenveil.sources.wrapped import SameRows

_QUIET = 2.0
"""Seconds between progress lines if there is no bar."""
_WIDE = 115
"""Smallest terminal width, in characters, at which the bar is shown next to the text."""


class Lines:
    """Lines on stderr, at most one every few seconds.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds, from an arbitrary origin.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._spoke = clock, clock()

    def offer(self, text: str) -> None:
        """Print the line, unless it comes too soon after the last one or after the start."""
        if self._clock() - self._spoke > _QUIET:
            self._spoke = self._clock()
            self.say(text)

    def say(self, text: str) -> None:
        """Print the line, if stderr can be written: progress never ends a fit that has been paid for."""
        if sys.stderr is not None:
            with suppress(OSError, ValueError):  # full or closed
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()


class Watch:
    """Progress of a fit: its last charge, the passes and rows read so far, and the bar that shows them.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds, from an arbitrary origin.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.last: Progress | None = None
        self.most_passes: int | None = None
        self.rows = self.passes = 0
        """Total number of rows read, and number of passes over the data begun."""
        self._clock = clock
        self._here = self._longest = 0
        """Rows read in the current pass, and in the longest completed pass."""
        self._begin, self._lines = clock(), Lines(clock)
        self._steady: tuple[float, int] | None = None
        """End time and rows of the first pass. Only the first pass may sort people, so its rate is not typical."""
        self._bars: Any = None
        self._task: Any = None
        """The bar of rich, and its task; None if there is no bar."""

    def __call__(self, step: Progress) -> None:
        """Record a charge to the ledger and update the display."""
        self.last = step
        self.passes = max(self.passes, step.passes)  # on a cluster, passes are not counted here
        self._show()

    def expect(self, most_passes: int | None, *, more: bool = False) -> None:
        """Set the maximal number of passes, or None if unknown; `more` adds one pass after the fit."""
        self.most_passes = None if most_passes is None else most_passes + more

    def start_pass(self) -> None:
        """Record that a pass over the data begins, and that the previous one is complete."""
        self.passes += 1
        self._longest, self._here = max(self._longest, self._here), 0
        if self.passes == 2:
            self._steady = self._clock(), self.rows

    def add_rows(self, rows: int) -> None:
        """Count rows that were read."""
        self.rows += rows
        self._here += rows
        self._show()

    # -- display ---------------------------------------------------------------------------------

    def rate_text(self) -> str:
        """Return the rows per second since the start, to two digits; "" if rows are not counted."""
        if not self.rows:
            return ""
        return f", {_short(self.rows / max(self._clock() - self._begin, 1e-3))} rows/s"

    def pass_text(self) -> str:
        """Return the number of the current pass, and the maximal number if known."""
        if self.most_passes is None:
            return f"pass {self.passes}"
        return f"pass {self.passes} of at most {self.most_passes}"

    def time_left_text(self) -> str:
        """Return an upper bound on the remaining time, from the rate since the first pass; "" if unknown."""
        seconds = self.seconds_left()
        return "" if seconds is None else f", at most {_in_words(seconds)} left"

    def seconds_left(self) -> float | None:
        """Return the remaining time in seconds. None before the second pass, or if the maximum is unknown."""
        if self.most_passes is None or self._steady is None or not self.rows > self._steady[1]:
            return None
        pace = (self._clock() - self._steady[0]) / (self.rows - self._steady[1])
        passes = max(0, self.most_passes - self.passes)
        here = max(0, self._longest - self._here)
        return pace * (here + passes * self._longest)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show a progress bar during the block, if stderr is a terminal and rich is installed."""
        console = _terminal()
        if console is None:
            yield
            return
        from rich.progress import BarColumn, ProgressColumn, TextColumn  # noqa: PLC0415  # optional
        from rich.progress import Progress as Bars  # noqa: PLC0415

        what, pace = TextColumn("{task.description}"), TextColumn("{task.fields[pace]}")
        share = TextColumn("{task.percentage:>3.0f} % of the budget")
        columns: tuple[ProgressColumn, ...] = (what, BarColumn(bar_width=16), share, pace)
        if console.width < _WIDE:
            columns = (what, pace)
        bars = Bars(*columns, console=console, transient=True)
        self._task = bars.add_task("starting", total=1.0, pace="")
        with suppress(OSError, ValueError):  # as in `Lines.say`
            bars.start()
            self._bars = bars
        try:
            yield
        finally:
            self._bars = None
            with suppress(OSError, ValueError):
                bars.stop()

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self._lines.say(printable(sentence))

    def say_end(self) -> None:
        """Print what was charged and read in all."""
        if self.last is not None:
            spent = f"{self.last.step} releases, {self.last.share:.0%} of the budget"
            self._lines.say(f"fitted: {spent}, {self.passes} passes over the data")

    def _show(self) -> None:
        """Update the bar; without one, print an occasional line."""
        pace = f"{self.pass_text()}{self.rate_text()}{self.time_left_text()}"
        step = self.last
        if self._bars is not None:
            charge: dict[str, Any] = {} if step is None else {"completed": step.share, "description": step.what}
            with suppress(OSError, ValueError):
                self._bars.update(self._task, pace=pace, **charge)
        elif step is not None:
            self._lines.offer(f"{step.what}: {step.share:.0%} of the budget, {pace}")


def _terminal() -> Any:
    """Return rich's console on stderr; None if stderr is not a terminal or rich is not installed."""
    try:
        from rich.console import Console  # noqa: PLC0415  # optional
    except ImportError:
        return None
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    return console if console.is_terminal else None


def _short(number: float) -> str:
    """Format a number with two significant digits.

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
    """Format a duration, rounded up to the precision at which it is known.

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


def count_rows(operator: RowsOperator | PeopleOperator, watch: Watch) -> RowsOperator | PeopleOperator:
    """Return the operator, with its rows counted as they are read."""
    return replace(operator, source=CountedSource(operator.source, watch))


@dataclass(frozen=True, repr=False, eq=False)
class CountedSource(SameRows):
    """Wrapper of a source that counts rows as they are read."""

    watch: Watch

    def over(self, partition: Partition, number: int) -> Partition:
        """Return the partition with its rows counted. A pass begins with the first partition."""
        return CountedPartition(partition, self.watch, begins=number == 0)


@dataclass(frozen=True, repr=False, eq=False)
class CountedPartition:
    """Wrapper of a partition that counts rows as they are read in this process."""

    partition: Partition
    watch: Watch
    begins: bool

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the wrapped partition."""
        if self.begins:
            self.watch.start_pass()
        for block in self.partition.blocks():
            self.watch.add_rows(int(block.values.shape[0]))
            yield block
