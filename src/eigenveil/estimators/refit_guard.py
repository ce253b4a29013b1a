"""Guards against fits that would spend epsilon repeatedly without the user noticing.

A search or a cross-validation fits once per candidate and fold, on rows that overlap, and each fit costs epsilon.
With a shared ledger the costs add up under its total. Without one every fit would open its own ledger, and the
total would not be visible. Therefore:

- A fit that scikit-learn's `model_selection` calls, directly or through pipelines and workers, is refused unless a
  ledger is shared. It is recognised by the modules on the call stack: an estimator does not know its caller, and
  counting clones would also refuse a ColumnTransformer that is fitted twice.
- Other meta-estimators (bagging, one-vs-rest) fit clones of one estimator. The second member of such a family
  that is fitted without a shared ledger warns: it cannot know whether its rows belong to the same people.
- A ledger that was pickled for another process is a copy, which cannot be charged (`Ledger.refuse_copy`).
- A permitted search chooses by scores of rows without noise: the ledger covers the fits but not the choice. A fit
  or a `score` inside a search warns of this.

Seeded fits have no guarantee to protect and are permitted.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from typing import Any

from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.privacy import Ledger, Unit

_SEARCHES = "sklearn.model_selection"


class Family:
    """An estimator and its clones, with the number of them that were fitted. Pickling starts a new family."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fitted = 0

    def __reduce__(self) -> tuple[type[Family], tuple[()]]:
        return type(self), ()

    def one_more(self) -> int:
        """Count a member that is fitted for the first time, and return the number of fitted members."""
        with self._lock:
            self._fitted += 1
            return self._fitted


def in_search() -> bool:
    """Return whether scikit-learn's `model_selection` is on the call stack."""
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module == _SEARCHES or module.startswith(f"{_SEARCHES}."):
            return True
        frame = frame.f_back
    return False


def check_search(ledger: Ledger | None, *, seeded: bool) -> None:
    """Refuse a fit inside a search without a shared ledger; with one, warn of what it does not cover."""
    if seeded or not in_search():
        return
    if ledger is None:
        raise InvalidInputError(
            "this fit is part of a search or cross-validation, which would spend epsilon once per candidate and "
            "fold on the same people, without a ledger that adds it up; no noise was drawn.",
            hint="Pass ledger=Ledger(Budget.from_epsilon_delta(...)), whose total is a hard limit on all fits "
            "together; or fit once, outside of the search.",
        )
    ledger.refuse_copy()
    _warn_of_the_choice()


def warn_if_it_chooses(ledger: Ledger) -> None:
    """Warn if a private model is scored inside a search."""
    if ledger.private and in_search():
        _warn_of_the_choice()


def _warn_of_the_choice() -> None:
    """Warn from this one line, so that a search of many fits shows it once."""
    warnings.warn(
        "the ledger covers the fits of this search or cross-validation, not its scores: scores are computed "
        "without noise, so neither they nor the choice based on them (best_params_, cv_results_) are private. "
        "Score on rows that need no protection, or do not publish scores and choice.",
        PrivacyWarning,
        stacklevel=1,
    )


def warn_of_relatives(family: Family) -> None:
    """Warn if another member of the family was fitted before without a shared ledger."""
    fitted = family.one_more()
    if fitted == 2:
        warnings.warn(
            "another clone of this DPPCA was fitted before, and each fit spends epsilon: for people whose rows "
            "are in both, the costs add up. Pass one shared ledger=Ledger(...) to add up and limit them.",
            PrivacyWarning,
            stacklevel=4,
        )


def warn_of_another_unit(estimator: Any, unit: Unit, *, seeded: bool) -> None:
    """Warn if the earlier fit, or stream, of this estimator was about people, and the new one is not."""
    found = vars(estimator)
    ledger: Ledger | None = found["_stream"].ledger if "_stream" in found else found.get("ledger_")
    before = None if ledger is None else ledger.unit
    if before is not None and before.kind == "person" and unit.kind != "person" and not seeded:
        warnings.warn(
            f"the earlier fit of this DPPCA was about {before}, and this one is about {unit}: it protects no "
            "person with several rows. The two costs do not add up. Pass units= to protect people.",
            PrivacyWarning,
            stacklevel=4,
        )
