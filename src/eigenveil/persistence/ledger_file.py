"""Ledger files. Several fits charge one file, one process at a time; it is written before noise is drawn."""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import RLock

from eigenveil._atomic_files import CAN_LOCK, explained_write_errors, locked, written_whole
from eigenveil._forks import this_process
from eigenveil.errors import BudgetExceededError, EigenveilError, InvalidInputError, UnreadableError
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.ledger import as_account, as_copy

_MOST = 1 << 28
"""Maximum size of a ledger file, in bytes."""


@dataclass(frozen=True, kw_only=True)
class RequestedBudget:
    """Privacy budget that a run requests: for the fit, and for a map of scores.

    Examples
    --------
    >>> requested = RequestedBudget(fit=Budget.from_mu(0.3), score_map=Budget.from_mu(0.4))
    >>> round(requested.whole.mu, 12)
    0.5
    >>> requested.fits(Ledger(Budget.from_mu(0.5))), requested.fits(Ledger(Budget.from_mu(0.4)))
    (True, False)
    """

    fit: Budget
    score_map: Budget | None = None

    @property
    def whole(self) -> Budget:
        """Budget of fit and map together: the budget of a ledger with nothing else on it."""
        more = 0.0 if self.score_map is None else self.score_map.mu
        return Budget(
            mu=math.hypot(self.fit.mu, more),
            epsilon_aside=self.fit.epsilon_aside,
            delta_aside=self.fit.delta_aside,
        )

    def fits(self, ledger: Ledger) -> bool:
        """Return whether the remaining budget of `ledger` covers the request."""
        return ledger.can_afford(self.whole)


@dataclass(frozen=True, kw_only=True)
class Account:
    """A ledger file, the budget to charge to it, and the settings of a new file."""

    path: Path
    requested: RequestedBudget
    cap: tuple[float, float] | None = None
    """(epsilon, delta) budget of all fits together. If None, a new file gets the requested budget."""
    relation: str = "add-remove"
    seeded: bool = False

    def __post_init__(self) -> None:
        with explained_write_errors(self.path):  # the working folder may be gone, or change during the fit
            object.__setattr__(self, "path", account_file(self.path.absolute()))


def account_file(path: Path) -> Path:
    """Return the file of an account: the target of a link, so that all links to a ledger charge the same file.

    Every charge replaces the file, which would replace the link and leave its target uncharged. For the same
    reason a file with several names (hard links) is refused.
    """
    try:
        file = path.resolve(strict=True) if path.is_symlink() else path
        about = file.stat()
    except FileNotFoundError:
        if not path.is_symlink():
            return path
        raise InvalidInputError(
            f"{str(path)!r} is a link to a file that does not exist.", hint="Remove it, or name the ledger file."
        ) from None
    except RuntimeError:  # a loop of links
        raise InvalidInputError(f"{str(path)!r} is a link to itself.", hint="Name the ledger file.") from None
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1 or about.st_size > _MOST:
        raise InvalidInputError(
            f"expected {str(path)!r} to be a regular file of one name and at most {_MOST >> 20} MiB.",
            hint="Copies under other names (hard links) would not see the charges. Remove all but one.",
        )
    return file


@contextmanager
def open_ledger(account: Account) -> Iterator[Ledger]:
    """Open the ledger of a file, or create one. Every charge is written to disk before its noise is drawn.

    Each write replaces the file atomically, so that a crash leaves the last complete version. When the block ends,
    the ledger becomes a copy, and all charges and marks are refused, also those of threads that are still at work.
    """
    path = account.path
    with _exclusive_lock(path):
        file = _LedgerFile(path)
        ledger = as_account(ledger_before_fit(account))  # the lock guarantees that no other process charges it
        refuse_overspending(account.requested, ledger)
        file.write_changes(ledger)
        ledger.keep_with(lambda: file.write_changes(ledger))
        try:
            try:
                yield ledger
            except BaseException:
                with suppress(EigenveilError, OSError):  # the first error matters
                    file.write_changes(ledger)
                raise
            file.write_changes(ledger)
        finally:
            file.is_closed = True  # from here on every charge is refused, whatever happens below
            as_copy(ledger)
            file.wait()


def ledger_before_fit(account: Account) -> Ledger:
    """Return the ledger that a fit would charge, read from the file or new. Writes nothing."""
    ledger = read_ledger(account.path)
    if ledger is None:
        return Ledger(_budget_of_new_ledger(account), relation=account.relation)
    if account.seeded and not ledger.seeded:
        raise InvalidInputError(
            f"a seeded fit would permanently mark {str(account.path)!r}, with all its past and future charges, as "
            "not private.",
            hint="Omit the seed, or use a new ledger file for seeded trials.",
        )
    if account.cap is not None:
        _refuse_changed_cap(ledger, *account.cap)
    return ledger


def refuse_overspending(requested: RequestedBudget, ledger: Ledger) -> None:
    """Raise if `ledger` cannot cover the whole request, before any part of it is charged."""
    if requested.fits(ledger):
        return
    epsilon, delta = ledger.remaining_aside
    if requested.whole.epsilon_aside > epsilon or requested.whole.delta_aside > delta:
        raise BudgetExceededError(
            "this algorithm runs a test with noise that is not Gaussian. Its (epsilon, delta) must be set aside "
            "when the ledger file is created. It requests "
            f"{_pair(requested.whole.epsilon_aside, requested.whole.delta_aside)}, and the ledger has "
            f"{_pair(epsilon, delta)} set aside and unspent.",
            hint="No noise was drawn. Start a new ledger file with this fit, which sets that part aside; or use "
            "the algorithm tracked or dp-gauss-1, which need no such part.",
        )
    raise BudgetExceededError(
        f"this run requests mu = {requested.whole.mu:g}, but the ledger has mu = {ledger.remaining_mu:g} left of "
        f"{ledger.budget.mu:g}.",
        hint="No noise was drawn. Request a smaller epsilon, or start a ledger with a larger budget.",
    )


def read_ledger(path: Path) -> Ledger | None:
    """Read the ledger in a file. Return None if the file does not exist."""
    content = _bytes_in(path)
    if content is None:
        return None
    try:
        return Ledger.from_json(content.decode())
    except UnicodeDecodeError:
        raise UnreadableError(f"{str(path)!r} is not a ledger file: it is not UTF-8 text.") from None
    except InvalidInputError as error:
        raise UnreadableError(f"{str(path)!r}: {error.fact}", hint=error.hint) from None


def _budget_of_new_ledger(account: Account) -> Budget:
    """Return the budget of a new file: the request, or the declared cap with the same part set aside."""
    whole = account.requested.whole
    if account.cap is None:
        return whole
    return Budget.from_epsilon_delta(
        *account.cap, epsilon_aside=whole.epsilon_aside, delta_aside=whole.delta_aside
    )


def _pair(epsilon: float, delta: float) -> str:
    return f"({epsilon:g}, {delta:g})"


def _refuse_changed_cap(ledger: Ledger, epsilon: float, delta: float) -> None:
    """Raise if the cap differs from the file's. Raising a cap later would break the guarantee of the first."""
    made = ledger.budget.epsilon(delta)
    if not abs(made - epsilon) <= 1e-5 * epsilon:
        raise InvalidInputError(
            f"this ledger file was created with a cap of epsilon = {made:.6g} at delta = {delta:g}, not "
            f"{epsilon:.6g}.",
            hint="The cap of a ledger file is set when the file is created. Omit it for later fits.",
        )


class _LedgerFile:
    """A ledger file that only this process changes. A file that someone else has changed is not written."""

    def __init__(self, path: Path) -> None:
        self._path, self._one_thread, self._process = path, RLock(), this_process()
        self._is_writing = False
        self.is_closed = False
        """Whether the lock of the file may be released, so that nothing is written any more."""
        self._known = {self._on_disk()}
        """Digests of what the file may hold: what was last read or written here; None if there is no file."""

    def write_changes(self, ledger: Ledger) -> None:
        """Write the ledger unless the file shows it already, and if the file is as this process left it."""
        if self._is_foreign():  # asked first: the thread that holds the lock of threads may not exist here
            if {sha256(_content(ledger)).digest()} == self._known:
                return
            raise EigenveilError(
                f"the ledger file {str(self._path)!r} belongs to the process that opened it; nothing more is "
                "charged.",
                hint="Fit in that process, or open the ledger file in this one when that fit is done.",
            )
        with self._one_thread:
            content = _content(ledger)
            if {sha256(content).digest()} != self._known:
                self._refuse_if_closed()
                if self._is_writing:
                    raise EigenveilError(
                        f"this thread is writing the ledger file {str(self._path)!r} already; nothing is charged.",
                        hint="In a signal handler, only note the signal, and fit after it.",
                    )
                self._is_writing = True
                try:
                    self._write(content)
                finally:
                    self._is_writing = False

    def wait(self) -> None:
        """Wait until no thread of this process is writing."""
        if not self._is_foreign():
            with self._one_thread:
                pass

    def _is_foreign(self) -> bool:
        """Return whether this process was forked from the one that holds the lock of the file."""
        return this_process() != self._process

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise EigenveilError(
                f"the ledger file {str(self._path)!r} is closed; nothing more is charged or drawn.",
                hint="Open it again for every fit.",
            )

    def _write(self, content: bytes) -> None:
        if account_file(self._path) != self._path or self._on_disk() not in self._known:
            raise EigenveilError(
                f"the ledger file {str(self._path)!r} was changed by someone else during the fit; nothing more is "
                "charged.",
                hint="Keep the file and its lock as they are while a fit runs.",
            )
        digest = sha256(content).digest()
        self._known |= {digest}  # it may be on the disk although an error follows
        # writing may take long, so that the file may be that of another process now
        with written_whole(self._path, last_check=self._refuse_if_closed) as part:
            part.write_bytes(content)
        self._known = {digest}

    def _on_disk(self) -> bytes | None:
        content = _bytes_in(self._path)
        return None if content is None else sha256(content).digest()


def _bytes_in(path: Path) -> bytes | None:
    """Return what is in a ledger file, or None if there is no file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(
            f"the ledger file {str(path)!r} could not be read: {error.strerror or type(error).__name__}."
        ) from error


def _content(ledger: Ledger) -> bytes:
    return (ledger.to_json() + "\n").encode()


@contextmanager
def _exclusive_lock(path: Path) -> Iterator[None]:
    """Lock the ledger file. Two processes that read it at once could each spend all of the remaining budget."""
    if not CAN_LOCK:
        raise EigenveilError("ledger files need file locks, which this system does not support.")
    with explained_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    busy = EigenveilError(
        f"another process or thread is charging {str(path)!r}; no noise was drawn.",
        hint="Try again when it has finished.",
    )
    with locked(path, busy=busy):
        yield
