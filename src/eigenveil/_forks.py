"""Forks: which process this is, and what a forked child does first."""

from __future__ import annotations

import os
from collections.abc import Callable


class _Token:
    current = object()


def this_process() -> object:
    """Return a token of this process. A forked child has another one.

    The number of a process does not suffice: a child in a PID namespace of its own may have that of its parent.

    Examples
    --------
    >>> this_process() == this_process()
    True
    """
    return _Token.current, os.getpid()


def at_start_of_child(call: Callable[[], object]) -> None:
    """Call this function first in every child that is forked from now on. Not all systems have forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


def _renew() -> None:
    _Token.current = object()


at_start_of_child(_renew)
