"""Rules for copies of a ledger: a copy can be read, but it cannot be charged."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from eigenveil._forks import this_process
from eigenveil.errors import InvalidInputError
from eigenveil.privacy.entries import Entry, Parallel, Purpose

_NOBODY = None
"""The owner of a copy: no process has this token."""

_ADOPTED = "no other copy of this ledger is charged from here on"


class Ownership(ABC):
    """Mix-in of `Ledger`: one process owns the account, and all copies refuse charges until they are adopted.

    A part of a ledger (with a `_parent`) follows the ledger at the root.

    Formal guarantees
    -----------------
    Two copies of one account would each accept charges up to the whole budget. Therefore `copy`, `deepcopy` and
    scikit-learn's `clone` return the object itself, and an object that was pickled, or that a fork carried into
    another process, is a copy (`is_copy`). A copy refuses every charge (`refuse_copy`), until `adopt` declares
    that no other copy is charged any more.
    """

    _parent: Self | None
    _watchers: list[Callable[[Entry], None]]
    _keepers: list[Callable[[], None]]
    _opened: list[Parallel]

    @abstractmethod
    def declare(self, what: str, *, note: str = "", purpose: Purpose = Purpose.OTHER) -> Entry:
        """Write a statement to the ledger."""

    @property
    def is_copy(self) -> bool:
        """Whether this ledger is a copy. The original may be charged elsewhere, so a copy refuses charges."""
        root = self._root
        return root._owner != this_process()

    def adopt(self) -> Self:
        """Declare that from now on only this copy is charged: neither the original nor any other copy.

        This copy then accepts charges. The declaration is written to the ledger, since its guarantee rests on it.
        On a ledger that is not a copy, this method does nothing.

        Examples
        --------
        >>> import pickle
        >>> from eigenveil.privacy import Budget, Ledger
        >>> ledger = Ledger(Budget.from_mu(1.0))
        >>> there = pickle.loads(pickle.dumps(ledger))
        >>> there.is_copy, there.adopt().is_copy, [entry.what for entry in there.entries]
        (True, False, ['no other copy of this ledger is charged from here on'])
        """
        root = self._root
        if root.is_copy:
            root._own()
            try:
                root.declare(_ADOPTED, note="declared by the caller")
            except BaseException:
                root._disown()
                raise
        return self

    def refuse_copy(self) -> None:
        """Raise if this ledger is a copy. Every charge and every draw of noise starts with this check."""
        if self.is_copy:
            raise InvalidInputError(
                "this ledger is a copy (it was pickled, read from a file that is closed again, or carried into "
                "another process), and charging it would spend budget that the original does not show; nothing "
                "was drawn.",
                hint="Open a ledger file again for every fit. With n_jobs, use n_jobs=1 or threads "
                "(joblib.parallel_config(backend='threading')); or give every fit a ledger of its own and add up "
                "their costs. If neither the original nor another copy is charged any more, ledger.adopt() makes "
                "this one the account.",
            )

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        of_this_process = ("_lock", "_is_charging", "_owner", "_watchers", "_keepers", "_opened")
        return {name: value for name, value in vars(self).items() if name not in of_this_process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(
            state,
            _owner=_NOBODY,
            _lock=threading.RLock(),
            _is_charging=False,
            _watchers=[],
            _keepers=[],
            _opened=[],
        )

    @property
    def _root(self) -> Self:
        return self if self._parent is None else self._parent._root

    def _own(self) -> None:
        """Make this object the account, owned by this process.

        The lock is new, because a thread that does not exist here may hold a lock that a fork copied.
        """
        self._owner: object = this_process()
        self._lock, self._is_charging = threading.RLock(), False

    @contextmanager
    def _charging_once(self) -> Iterator[None]:
        """Let one charge be made at a time. One within another, as by the handler of a signal, is refused."""
        with self._lock:
            if self._is_charging:
                raise InvalidInputError(
                    "this thread is charging this ledger already; nothing was drawn.",
                    hint="In a signal handler, only note the signal, and fit after it.",
                )
            self._is_charging = True
            try:
                yield
            finally:
                self._is_charging = False

    def _disown(self) -> None:
        """Make this object a copy, which no process owns."""
        self._owner = _NOBODY
