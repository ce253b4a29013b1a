"""Calls into other libraries whose own error messages may quote the data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from eigenveil.errors import InvalidInputError

T = TypeVar("T")


def attempt(step: Callable[[], T], failure: InvalidInputError, *errors: type[Exception]) -> T:
    """The value of `step`; if it raises one of `errors`, `failure` and no trace of the original message.

    Examples
    --------
    >>> attempt(lambda: float("secret"), InvalidInputError("not a number."), ValueError)
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: not a number.
    """
    with contextlib.suppress(*errors):
        return step()
    raise failure


def is_missing(one: Any) -> bool:
    """Whether an entry is None, nan, NaT or NA, the last of which refuses to be compared."""
    try:
        return one is None or bool(one != one)  # noqa: PLR0124  # nan differs from itself
    except (TypeError, ValueError, ArithmeticError):
        return not hasattr(one, "__len__")


def holds_python_text(kind: Any) -> bool:
    """Whether a pandas type keeps text as Python does, where half a character is possible; Arrow refuses it."""
    return getattr(kind, "storage", None) == "python"


def guarded(items: Iterator[T], failure: InvalidInputError, *errors: type[Exception]) -> Iterator[T]:
    """The items of `items`; if asking for one raises one of `errors`, `failure` comes instead."""
    end = object()
    while True:
        item = attempt(lambda: next(items, end), failure, *errors)
        if item is end:
            return
        yield item  # type: ignore[misc]  # the sentinel has just been ruled out
        del item  # before the next is made: an item may be large
