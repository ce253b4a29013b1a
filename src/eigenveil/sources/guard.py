"""Guards for calls into other libraries, whose error messages may quote the data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from eigenveil.errors import InvalidInputError

T = TypeVar("T")
_MOST_MEMORY = 1 << 47
"""Bytes that a process can address on common machines."""


def attempt(step: Callable[[], T], failure: InvalidInputError, *errors: type[Exception]) -> T:
    """Return the value of `step()`; if it raises one of `errors`, raise `failure` without the original message.

    A `MemoryError` is raised as it is, since the data are not to blame, unless it is about more memory than any
    machine can have, which a damaged file asks for.

    Examples
    --------
    >>> attempt(lambda: float("secret"), InvalidInputError("not a number."), ValueError)
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: not a number.
    """
    try:
        return step()
    except MemoryError as error:
        size = re.search(r"of size (\d+)", str(error))
        if size is None or int(size[1]) < _MOST_MEMORY:
            raise
    except errors:
        pass
    raise failure


def is_missing(one: Any) -> bool:
    """Return whether an entry is None, nan, NaT, NA or masked; comparing NA raises an error."""
    try:
        return one is None or one is np.ma.masked or bool(one != one)  # noqa: PLR0124  # nan differs from itself
    except Exception:  # noqa: BLE001  # comparing an object may raise any exception
        return not hasattr(one, "__len__")


def holds_python_text(kind: Any) -> bool:
    """Return whether a pandas type stores Python strings, which may hold lone surrogates; Arrow refuses them."""
    return getattr(kind, "storage", None) == "python"


def guarded(items: Iterator[T], failure: InvalidInputError, *errors: type[Exception]) -> Iterator[T]:
    """Yield the items of `items`; if the iterator raises one of `errors`, raise `failure` instead."""
    end = object()
    while True:
        item = attempt(lambda: next(items, end), failure, *errors)
        if item is end:
            return
        yield item  # type: ignore[misc]  # the sentinel is excluded above
        del item  # before the next item is made: items may be large
