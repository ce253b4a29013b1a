"""A ledger in a file that several fits charge, one at a time; it is written before noise is drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.estimators.whole_files import written_whole
from eigenveil.privacy import Budget, Ledger

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


class Account(Protocol):
    """A ledger file, and what a new one is to be."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def cap(self) -> Budget:
        """What all fits together may cost, for a new file."""

    @property
    def cap_given(self) -> bool:
        """Whether the cap was asked for: it must then be that of a file that is already there."""

    @property
    def relation(self) -> str:
        """For a new file."""


@contextmanager
def open_ledger(account: Account) -> Iterator[Ledger]:
    """The ledger of a file, or a new one; within it, every charge is on the disk before its noise is drawn.

    The file is replaced as a whole, so that a crash leaves the last complete one.
    """
    with _alone(account.path):
        ledger = planned_ledger(account)
        _write(account.path, ledger)
        with ledger.watched(lambda _: _write(account.path, ledger)):
            yield ledger


def planned_ledger(account: Account) -> Ledger:
    """The ledger as a fit finds it; nothing is written."""
    ledger = read_ledger(account.path)
    if ledger is None:
        return Ledger(account.cap, relation=account.relation)
    if account.cap_given:
        refuse_another_cap(ledger, account.cap)
    return ledger


def read_ledger(path: Path) -> Ledger | None:
    """The ledger in a file; None if there is no file."""
    try:
        return Ledger.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInputError(f"{str(path)!r} is not a ledger: it is not even text.") from None
    except InvalidInputError as error:
        raise InvalidInputError(f"{str(path)!r}: {error.fact}", hint=error.hint) from None


def refuse_another_cap(ledger: Ledger, cap: Budget) -> None:
    """A cap is set once: raising it later would undo what it promised."""
    if abs(ledger.budget.mu - cap.mu) > 1e-6 * ledger.budget.mu:
        raise InvalidInputError(
            f"this ledger was made with a cap of mu = {ledger.budget.mu:.6g}; the one asked for is {cap.mu:.6g}.",
            hint="The cap of a ledger file is set when the file is made. Leave --cap-epsilon out.",
        )


def _write(path: Path, ledger: Ledger) -> None:
    with written_whole(path) as part:
        part.write_text(ledger.to_json() + "\n", encoding="utf-8")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from the same ledger: two that read it at once would each spend all that is left."""
    if fcntl is None:
        raise EigenveilError("ledger files need file locks, which this system does not have.")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EigenveilError(
                f"another process is charging {str(path)!r}; nothing was drawn.", hint="Try again when it is done."
            ) from None
        yield
    finally:
        os.close(handle)
