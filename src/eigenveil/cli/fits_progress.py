"""Progress of many fits, as in `reproduce` and `audit`: a bar on a terminal, otherwise an occasional line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from eigenveil.cli.console import say, stderr_console

FitsCallback = Callable[[int, int, str], None]
"""Called with the number of completed fits, the total number, and a description of the last one."""
_QUIET = 15.0
"""Seconds between progress lines if stderr is not a terminal."""


@contextmanager
def fits_progress() -> Iterator[FitsCallback]:
    """Yield a progress callback: a bar on a terminal, otherwise an occasional line."""
    if not stderr_console().is_terminal:
        yield _print_lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("fits"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr_console(), transient=True) as bars:
        task = bars.add_task("starting", total=None)
        yield lambda done, total, what: bars.update(task, completed=done, total=total, description=what)


def _print_lines() -> FitsCallback:
    """Return a callback that prints a line every few seconds."""
    spoke = time.monotonic()

    def on_progress(done: int, total: int, what: str) -> None:
        nonlocal spoke
        if done and time.monotonic() - spoke > _QUIET:
            spoke = time.monotonic()
            say(f"{done} of {total} fits; {what}")

    return on_progress
