"""Errors that say what was expected, what came, and what to do about it."""

from __future__ import annotations


class EigenveilError(Exception):
    """Base of every error eigenveil raises on purpose.

    Parameters
    ----------
    fact : str
        What was expected and what came. Never a value of the data.
    hint : str, optional
        What the reader can do; shown on its own line after ``Hint:``.
    """

    def __init__(self, fact: str, *, hint: str = "") -> None:
        super().__init__(f"{fact}\nHint: {hint}" if hint else fact)
        self.fact = fact
        self.hint = hint


class InvalidInputError(EigenveilError, ValueError):
    """A public argument is outside what is meant."""


class UnreadableError(InvalidInputError):
    """Files are missing, damaged or empty, or do not go together: not the arguments, but what they name."""


class BudgetExceededError(EigenveilError):
    """A charge was asked for that the budget does not hold; nothing was drawn."""


class NotDisjointError(EigenveilError):
    """Parallel composition was asked for parts that one unit can touch twice."""


class MissingExtraError(EigenveilError, ImportError):
    """An optional dependency is needed and not installed."""


class PrivacyWarning(UserWarning):
    """Something allowed that weakens what the guarantee is worth; it depends on releases and parameters only."""
