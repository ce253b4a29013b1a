"""Fits that would spend epsilon again and again without anyone having asked for it.

A search or a cross-validation fits once per candidate and fold, on rows that overlap, and each fit costs epsilon.
With a shared ledger the costs add up under its cap. Without one every fit would open a ledger of its own, and
nothing would show the sum. So:

- A fit that scikit-learn's `model_selection` calls, directly or through pipelines and workers, is refused unless a
  ledger is shared. It is recognised by the modules on the call stack: an estimator is told nothing about who fits
  it, and counting clones would also refuse a ColumnTransformer that is fitted twice.
- Other meta-estimators (bagging, one-vs-rest) fit clones of one estimator. The second member of such a family
  that is fitted without a shared ledger warns: whether its rows are the same people's cannot be known.
- A ledger that was pickled on its way to another process is a copy, which refuses to be charged, in a search and
  anywhere else (`Ledger.refuse_copy`).
- A search that is let through chooses by scores of rows, which have no noise: the ledger covers the fits and not
  the choice. A fit or a `score` inside a search warns of it.

Seeded fits have no guarantee to protect and are let through.
"""

from __future__ import annotations

import inspect
import threading
import warnings

from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.privacy import Ledger

_SEARCHES = "sklearn.model_selection"


class Family:
    """An estimator and its clones, and how many of them were fitted; pickling it starts a family of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fitted = 0

    def __reduce__(self) -> tuple[type[Family], tuple[()]]:
        return type(self), ()

    def one_more(self) -> int:
        """Count a member that is fitted for the first time; how many that makes."""
        with self._lock:
            self._fitted += 1
            return self._fitted


def in_search() -> bool:
    """Whether some caller of this function is scikit-learn's `model_selection`."""
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module == _SEARCHES or module.startswith(f"{_SEARCHES}."):
            return True
        frame = frame.f_back
    return False


def check_search(ledger: Ledger | None, *, seeded: bool) -> None:
    """Refuse a fit inside a search that no shared ledger holds together; warn of what a ledger does not cover."""
    if seeded or not in_search():
        return
    if ledger is None:
        raise InvalidInputError(
            "this fit is part of a search or cross-validation, which would spend epsilon once per candidate and "
            "fold on the same people, with nothing to add it up; nothing was drawn.",
            hint="Pass ledger=Ledger(Budget.from_epsilon_delta(...)), whose total is a hard cap on all fits "
            "together; or fit once, outside of the search.",
        )
    ledger.refuse_copy()
    _warn_of_the_choice()


def warn_if_it_chooses(ledger: Ledger) -> None:
    """Warn where a private model is scored inside a search."""
    if ledger.private and in_search():
        _warn_of_the_choice()


def _warn_of_the_choice() -> None:
    """Always from this line, so that a search of many fits shows it once."""
    warnings.warn(
        "the ledger covers the fits of this search or cross-validation, not its scores: these come from rows "
        "without noise, and so does what is chosen by them (best_params_, cv_results_). Score on rows that need "
        "no protection, or do not publish scores and choice.",
        PrivacyWarning,
        stacklevel=1,
    )


def warn_of_relatives(family: Family) -> None:
    """Warn where an estimator is not the first of its family to be fitted without a shared ledger."""
    fitted = family.one_more()
    if fitted == 2:
        warnings.warn(
            "another clone of this DPPCA was fitted before, and each fit spends epsilon: for people whose rows "
            "are in both, the costs add up. Pass one ledger=Ledger(...) to have them added up and capped.",
            PrivacyWarning,
            stacklevel=4,
        )
