"""Fits: each is offered with its cost, accepted at most once, and run in a thread of its own."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any

from eigenveil.app.choices import Choices
from eigenveil.app.forecasts import DRAWING
from eigenveil.app.spending import Spending, spending
from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.estimators import DPPCA, Progress
from eigenveil.estimators.request import FitPlan
from eigenveil.persistence import save
from eigenveil.persistence.ledger_file import open_ledger
from eigenveil.persistence.outputs import check_output_path, check_outputs_apart, save_command
from eigenveil.privacy import Ledger
from eigenveil.report import render_report

_MOST_OFFERS = 200
"""Number of offers that are kept: the newest."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A fit as it was shown to the user, who may accept it.

    Parameters
    ----------
    choices : Choices
        The fit.
    planned : FitPlan
        What the fit does, with the columns of the file.
    spending : Spending
        The ledger before and after the fit.
    """

    choices: Choices
    planned: FitPlan
    spending: Spending

    @classmethod
    def of(cls, choices: Choices) -> Offer:
        """Plan a fit. Reads the schema of the file and the ledger, and writes nothing."""
        planned = choices.request(choices.model()).plan()
        offer = cls(choices=choices, planned=planned, spending=spending(choices))
        check_outputs(choices)
        return offer

    def check_ledger(self) -> None:
        """Raise if the ledger is not as it was shown."""
        if spending(self.choices) != self.spending:
            raise _changed_ledger()

    def check_charges(self, ledger: Ledger) -> None:
        """Raise if the open ledger has other charges than were shown."""
        shown = self.spending
        if (ledger.mu, len(ledger.entries), ledger.reasons) != (shown.mu, shown.entries, shown.reasons):
            raise _changed_ledger()

    def check_data(self, planned: FitPlan) -> None:
        """Raise if the fit would not be as it was shown, because the file has other columns."""
        if planned != self.planned:
            raise InvalidInputError("The data file has changed since the plan.", hint="Plan the fit again.")


def _changed_ledger() -> InvalidInputError:
    return InvalidInputError(
        "The ledger has changed since the plan. Nothing was spent.", hint="Plan the fit again."
    )


class FitRun:
    """One fit: its progress, then its report or its error.

    Parameters
    ----------
    offer : Offer
        The fit, as planned.

    Attributes
    ----------
    progress : Progress or None
        The last charge.
    most_passes : int or None
        Upper bound on the number of passes over the data, if known.
    spending : Spending
        The ledger before and after the fit, as planned.
    spent : float or None
        Spent epsilon of the ledger after the fit.
    reasons : tuple of str
        Why the ledger is not private; empty if it is.
    saved : bool
        Whether the model is in its folder.
    report : str or None
        The report, as HTML.
    error : str or None
        Why the fit failed, or why the model was not saved.
    """

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self.choices = offer.choices
        self.progress: Progress | None = None
        self.most_passes: int | None = None
        self.spending = offer.spending
        self.spent: float | None = None
        self.reasons = offer.spending.reasons
        self.saved = False
        self.report: str | None = None
        self.error: str | None = None
        self._over = Event()

    @property
    def running(self) -> bool:
        """Whether the fit is under way."""
        return not self._over.is_set()

    def start(self) -> None:
        """Start the fit. Its thread ends with the process; the ledger file is written before noise is drawn."""
        try:
            Thread(target=self._run, daemon=True).start()
        except RuntimeError:
            self.error = "this system could not start a thread for the fit."
            self._over.set()

    def wait(self, seconds: float) -> bool:
        """Wait until the fit is over, at most so long. Return whether it is."""
        return self._over.wait(seconds)

    def _run(self) -> None:
        try:
            self._fit_and_report()
        except (EigenveilError, OSError) as error:
            self.error = in_words(error)
        except BaseException as error:
            self.error = f"an unexpected error ({type(error).__name__}). The terminal shows more."
            raise
        finally:
            self._over.set()

    def _fit_and_report(self) -> None:
        choices = self.choices
        check_outputs(choices)
        if choices.out is not None:
            check_output_path(choices.out, force=False, folder=True)
        model, shown = self._fitted(), choices.published()
        try:
            if choices.out is not None:
                save(model, choices.out)
                self.saved = True
                save_command(shown.command() or shown.python(), choices.out)
        finally:  # a model that cannot be saved still has a report
            with DRAWING:
                self.report = render_report(model, command=shown.command())

    def _fitted(self) -> DPPCA:
        choices = self.choices
        model = choices.model(self._note)
        request = choices.request(model)
        planned = request.plan()
        self._offer.check_data(planned)
        self.most_passes = planned.most_passes
        rows: Any = model.engine.keeping(request.operator)  # type: ignore[union-attr]  # a LocalEngine
        next(iter(rows.source.blocks()), None)  # an unreadable file raises before any budget is spent
        self._offer.check_ledger()  # again, because reading the rows may take long
        account = choices.account()
        with nullcontext() if account is None else open_ledger(account) as ledger:
            if ledger is not None:
                self._offer.check_charges(ledger)  # again: now nobody else can charge it
            model.set_params(ledger=ledger).run_request(request.of_rows(rows).charging(ledger))
        self.spent = model.ledger_.epsilon(choices.delta)
        self.reasons = model.ledger_.reasons
        return model

    def _note(self, step: Progress) -> None:
        self.progress = step


class Fits:
    """All fits of this session, and offers of fits. An accepted offer cannot be accepted again."""

    def __init__(self) -> None:
        self.runs: list[FitRun] = []
        self._offers: dict[str, Offer | int] = {}
        self._lock = Lock()

    def offer(self, offer: Offer) -> str:
        """Return a new key, with which this fit can be started once. The oldest keys expire."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._offers[key] = offer
            if len(self._offers) > _MOST_OFFERS:
                del self._offers[next(iter(self._offers))]
        return key

    def accept(self, key: str) -> int:
        """Start the offered fit and return its number. A second call returns the number and starts nothing."""
        with self._lock:
            found = self._offers.get(key)
            if found is None:
                raise InvalidInputError("this offer is unknown. Nothing was spent.", hint="Plan the fit again.")
            if isinstance(found, int):
                return found
            if any(run.running for run in self.runs):
                raise InvalidInputError(
                    "another fit is running. Nothing was spent.", hint="Wait until it is done."
                )
            found.check_ledger()
            run = FitRun(found)
            self.runs.append(run)
            self._offers[key] = number = len(self.runs)
        run.start()
        return number

    def earlier(self, choices: Choices) -> int:
        """Return the number of fits of the same file in this session that drew noise."""
        return sum(run.choices.data == choices.data and run.progress is not None for run in self.runs)


def check_outputs(choices: Choices) -> None:
    """Raise if the model would replace something, such as the ledger file. Writes nothing."""
    check_outputs_apart(choices.ledger, choices.out, None)
    if choices.out is not None and choices.out.exists():
        raise InvalidInputError(f"{str(choices.out)!r} already exists.", hint="Choose another name.")


def in_words(error: EigenveilError | OSError) -> str:
    """Return the message of an error, as the command line prints it. It contains no value of the data."""
    if isinstance(error, EigenveilError):
        return str(error)
    return f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}."
