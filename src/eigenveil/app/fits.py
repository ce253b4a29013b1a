"""Fits: each is offered with its cost, accepted at most once, and run in a thread of its own."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from threading import Event, Lock, Thread
from typing import Any

from eigenveil.app.choices import Choices
from eigenveil.app.forecasts import DRAWING
from eigenveil.app.spending import Spending, spending
from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.estimators import DPPCA, Progress
from eigenveil.persistence import save
from eigenveil.persistence.ledger_file import open_ledger
from eigenveil.persistence.outputs import check_output_path, save_command
from eigenveil.report import render_report


class FitRun:
    """One fit: its progress, then its report or its error.

    Parameters
    ----------
    choices : Choices
        The fit.

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
    report : str or None
        The report, as HTML.
    error : str or None
        Why the fit failed, or why the model was not saved.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.progress: Progress | None = None
        self.most_passes: int | None = None
        self.spending: Spending = spending(choices)
        self.spent: float | None = None
        self.report: str | None = None
        self.error: str | None = None
        self._over = Event()

    @property
    def running(self) -> bool:
        """Whether the fit is under way."""
        return not self._over.is_set()

    def start(self) -> None:
        """Start the fit. Its thread ends with the process; the ledger file is written before noise is drawn."""
        Thread(target=self._run, daemon=True).start()

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
        check_folder(choices)
        model = self._fitted()
        with DRAWING:
            self.report = render_report(model, command=choices.command())
        if choices.out is not None:
            save(model, choices.out)
            save_command(choices.command() or choices.python(), choices.out)

    def _fitted(self) -> DPPCA:
        choices = self.choices
        model = choices.model(self._note)
        request = choices.request(model)
        self.most_passes = request.plan().most_passes
        rows: Any = model.engine.keeping(request.operator)  # type: ignore[union-attr]  # a LocalEngine
        next(iter(rows.source.blocks()), None)  # an unreadable file raises before any budget is spent
        account = choices.account()
        with nullcontext() if account is None else open_ledger(account) as ledger:
            model.set_params(ledger=ledger).run_request(request.of_rows(rows).charging(ledger))
        self.spent = model.ledger_.epsilon(choices.delta)
        return model

    def _note(self, step: Progress) -> None:
        self.progress = step


class Fits:
    """All fits of this session, and offers of fits. An accepted offer cannot be accepted again."""

    def __init__(self) -> None:
        self.runs: list[FitRun] = []
        self._offers: dict[str, Choices | int] = {}
        self._lock = Lock()

    def offer(self, choices: Choices) -> str:
        """Return a new key, with which this fit can be started once."""
        key = secrets.token_urlsafe(16)
        self._offers[key] = choices
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
            run = FitRun(found)
            self.runs.append(run)
            self._offers[key] = number = len(self.runs)
        run.start()
        return number

    def earlier(self, choices: Choices) -> int:
        """Return the number of fits of the same file in this session that drew noise."""
        return sum(run.choices.data == choices.data and run.progress is not None for run in self.runs)


def check_folder(choices: Choices) -> None:
    """Raise if the model cannot be saved where the user wants it."""
    if choices.out is None:
        return
    if choices.out.exists():
        raise InvalidInputError(f"{str(choices.out)!r} already exists.", hint="Choose another name.")
    check_output_path(choices.out, force=False, folder=True)


def in_words(error: EigenveilError | OSError) -> str:
    """Return the message of an error, as the command line prints it. It contains no value of the data."""
    if isinstance(error, EigenveilError):
        return str(error)
    return f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}."
