"""Errors that state what was expected, what was passed in, and how to fix it."""

from __future__ import annotations

import inspect


class EigenveilError(Exception):
    """Base class of all errors that eigenveil raises deliberately.

    Parameters
    ----------
    fact : str
        What was expected and what was passed in. Never contains a value of the data.
    hint : str, optional
        What the reader can do. Shown on a line of its own after ``Hint:``.
    """

    def __init__(self, fact: str, *, hint: str = "") -> None:
        super().__init__(f"{fact}\nHint: {hint}" if hint else fact)
        self.fact = fact
        self.hint = hint


class InvalidInputError(EigenveilError, ValueError):
    """A public argument is invalid."""


class UnreadableError(InvalidInputError):
    """The files that an argument names are missing, damaged, empty, or do not fit together."""


class BudgetExceededError(EigenveilError):
    """A requested charge exceeds the remaining budget. No noise was drawn."""


class NotDisjointError(EigenveilError):
    """Parallel composition was requested for parts that are not disjoint: one unit can affect two of them."""


class MissingExtraError(EigenveilError, ImportError):
    """A required optional dependency is not installed."""


class PrivacyWarning(UserWarning):
    """Warning about an allowed choice that weakens the guarantee.

    Whether it is issued depends on releases and parameters only.
    """


class NotCompiledWarning(UserWarning):
    """The compiled loops are missing, so everything is slower; results are the same.

    Whether it is issued depends on the installation only.
    """


def users_line() -> int:
    """Return the stack level, seen from the caller, of the first frame outside eigenveil and scikit-learn."""
    frame = inspect.currentframe()
    frame, level = (None if frame is None else frame.f_back), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("eigenveil", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
