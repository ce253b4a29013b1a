"""Run a function on many inputs in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that set the number of threads of the libraries for linear algebra."""


@contextmanager
def outputs_of(function: Callable[[In], Out], inputs: Sequence[In], workers: int) -> Iterator[Iterable[Out]]:
    """Yield an iterable of the outputs, in any order. With one worker the function runs in this process.

    Each process has one thread, so that processes do not compete for cores. Only this process reacts to Ctrl-C.
    """
    workers = min(workers, len(inputs))
    if workers <= 1:
        yield map(function, inputs)
        return
    with _one_thread():
        pool = multiprocessing.get_context("spawn").Pool(workers, initializer=_ignore_interrupts)
    with pool:
        yield pool.imap_unordered(function, inputs)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit processes that start in the block to one thread."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
