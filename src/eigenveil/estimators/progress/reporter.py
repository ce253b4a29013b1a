"""Progress of a fit: one step per ledger entry. It never contains values of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from eigenveil.engines.sampled import Passes
from eigenveil.estimators.progress.step import Progress
from eigenveil.estimators.progress.watch import Watch
from eigenveil.privacy import Entry
from eigenveil.privacy.ledger import Ledger

__all__ = ["CallbackSupportMixin", "Reporter", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder for the class of scikit-learn 1.9 and later."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


class Reporter:
    """Calls a plain callback and scikit-learn's callbacks for every ledger entry, and shows progress if verbose.

    Parameters
    ----------
    callback : callable, optional
        Called with a `Progress` after every charge.
    estimator : object, optional
        Passed to scikit-learn's callbacks; only within a method that is decorated `with_callbacks`.
    verbose : bool
        Whether to show progress on stderr.

    Attributes
    ----------
    watch : Watch or None
        Display of the progress, if verbose.
    """

    def __init__(
        self, callback: Callable[[Progress], object] | None, estimator: Any = None, *, verbose: bool = False
    ) -> None:
        self.watch = Watch() if verbose else None
        self._listeners = [one for one in (callback, self.watch) if one is not None]
        self._estimator = estimator
        self._context = _context_of(estimator)
        self._steps = 0

    def say(self, sentences: Sequence[str]) -> None:
        """Print sentences, if verbose."""
        if self.watch is not None:
            for sentence in sentences:
                self.watch.say(sentence)

    @contextmanager
    def task(self) -> Iterator[None]:
        """Context of the whole fit."""
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator)
        with nullcontext() if self.watch is None else self.watch.shown():
            yield
        if self.watch is not None:
            self.watch.say_end()
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)

    @contextmanager
    def watching(
        self, ledger: Ledger, mu: float, *, before: float = 0.0, passes: Passes | None = None
    ) -> Iterator[None]:
        """Report charges to the ledger, in a run that may spend `mu` beyond `before`, the mu spent earlier."""
        read = Passes() if passes is None else passes

        def report(entry: Entry) -> None:
            self._steps += 1
            if self._listeners:
                share = min(1.0, max(0.0, ledger.mu**2 - before**2) / mu**2) if mu else 1.0
                now = Progress(
                    what=entry.what, purpose=entry.purpose, step=self._steps, share=share, passes=read.made
                )
                for listener in self._listeners:
                    listener(now)
            if self._context is not None:
                step = self._context.subcontext(task_name=entry.what)
                step.call_on_fit_task_begin(estimator=self._estimator)
                step.call_on_fit_task_end(estimator=self._estimator)

        with ledger.watched(report, own_thread=True):
            yield


def _context_of(estimator: Any) -> Any:
    """Return the root context of scikit-learn's callbacks; None if they are not supported."""
    begin = getattr(estimator, "_init_callback_context", None)
    return None if begin is None else begin(task_name="fit", max_subtasks=None)
