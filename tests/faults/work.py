"""The work of the children: what is killed, starved and locked out. Each function runs in a process of its own."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
import warnings
from pathlib import Path

import duckdb  # noqa: F401  # loaded before the fork
import numpy as np

import eigenveil as ev
import eigenveil.cli.app
import eigenveil.cli.implementations.fit
import eigenveil.report  # loaded before the fork
from eigenveil.algorithms.stream.tracked_stream import TrackedStream

BATCH = 40
"""Slots in a batch of the stream."""


def command(_marks, *, line: list[str]) -> None:
    """A command, as the shell would start it."""
    sys.argv = ["eigenveil", *line]
    eigenveil.cli.app.run()


def command_with_clock(marks, *, line: list[str], steps: list[float]) -> None:
    """A command, while the clock jumps: by the next of `steps`, in seconds, at every look at it."""
    jumps = iter(steps * 100_000)
    time.time = lambda: 1e9 + next(jumps)
    time.monotonic = lambda: 1e6 + next(jumps)
    command(marks, line=line)


def command_with_memory(marks, *, line: list[str], more: int) -> None:
    """A command that may take `more` bytes of address space beyond what the process already has.

    One product is made before, since OpenBLAS waits forever for its work space if there is no memory for it. A
    plan is made before, to load libraries.
    """
    with contextlib.suppress(SystemExit):
        command(marks, line=[*line, "--plan-only"])
    _ = np.ones((300, 300)) @ np.ones((300, 300))
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more,) * 2)
    command(marks, line=line)


def model_of(number: int) -> ev.DPPCA:
    """One of two fitted models, the same in every process."""
    rows = np.random.default_rng(0).normal(size=(500, 4)) * [5, 3, 1, 1]
    return ev.DPPCA(2, algorithm="dp-gauss-1", center=False, random_state=number).fit(rows)


FITTED = {number: model_of(number) for number in (1, 2)}


def save(_marks, *, number: int, path: str) -> None:
    """Save a model that was fitted before."""
    ev.save(FITTED[number], path)


def arrival(number: int) -> tuple[list[float], str]:
    """Row and id of an arrival of the stream: a third of the people return."""
    person = number if number % 3 else number // 2
    return [float(np.sin(number * power)) * 9 / power for power in (1, 2, 3)], f"person {person}"


def stream(marks, *, path: str, units: str, arrivals: int, save_every: int) -> None:
    """Start or continue a stream with a checkpoint, and add rows one block after the other."""
    warnings.simplefilter("ignore")
    if Path(path).exists():
        tracked = TrackedStream.load(path)
    else:
        tracked = TrackedStream(1, epsilon=1.0, delta=1e-6, batch_size=BATCH, units=units)
        tracked.save(path)
    close = tracked._close

    def closing() -> None:
        marks.add(closing=tracked.batches)
        close()

    tracked._close = closing
    marks.add(arrivals=tracked.arrivals, batches=tracked.batches)
    while tracked.arrivals < arrivals:
        rows, ids = zip(*map(arrival, range(tracked.arrivals, tracked.arrivals + 7)), strict=True)
        tracked.add(np.array(rows), units=list(ids) if units == "people" else None)
        if tracked.arrivals % save_every < 7:
            tracked.save(path)
    marks.add(arrivals=tracked.arrivals, batches=tracked.batches)
