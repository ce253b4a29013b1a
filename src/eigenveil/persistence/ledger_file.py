"""Ledger files. Several fits charge one file, one process at a time; it is written before noise is drawn."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

from eigenveil._atomic_files import CAN_LOCK, explained_write_errors, locked, written_whole
from eigenveil.errors import BudgetExceededError, EigenveilError, InvalidInputError, UnreadableError
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.ledger import as_account

_SLACK = 1 + 1e-10
"""Relative tolerance for rounding when a request is compared with the remaining budget."""
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
        return self.whole.mu <= ledger.remaining_mu * _SLACK and self.fits_aside(ledger)

    def fits_aside(self, ledger: Ledger) -> bool:
        """Return whether `ledger` has enough of the (epsilon, delta) set aside for noise that is not Gaussian."""
        epsilon, delta = ledger.remaining_aside
        return self.whole.epsilon_aside <= epsilon * _SLACK and self.whole.delta_aside <= delta * _SLACK


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
        object.__setattr__(self, "path", account_file(self.path))


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

    Each write replaces the file atomically, so that a crash leaves the last complete version.
    """
    path = account.path
    with _exclusive_lock(path):
        file = _LedgerFile(path)
        ledger = as_account(ledger_before_fit(account))  # the lock guarantees that no other process charges it
        refuse_overspending(account.requested, ledger)
        file.write(ledger)
        try:
            with ledger.watched(lambda _: file.write(ledger)):
                yield ledger
        except BaseException:
            with suppress(EigenveilError):  # the first error matters
                file.write_changes(ledger)
            raise
        file.write_changes(ledger)


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
    if not requested.fits_aside(ledger):
        raise BudgetExceededError(
            "this algorithm runs a test with noise that is not Gaussian. Its (epsilon, delta) must be set aside "
            "when the ledger file is created. It requests "
            f"{_pair(requested.whole.epsilon_aside, requested.whole.delta_aside)}, and the ledger has "
            f"{_pair(*ledger.remaining_aside)} set aside and unspent.",
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
    try:
        return Ledger.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
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
        self._path, self._one_thread, self._process = path, Lock(), os.getpid()
        self._known = self._on_disk()
        """Digest of the content that this process has last read or written; None if there is no file."""

    def write(self, ledger: Ledger) -> None:
        """Write the ledger, if the file is as this process left it. A forked process does not hold the lock."""
        if os.getpid() != self._process:
            raise EigenveilError(
                f"the ledger file {str(self._path)!r} belongs to the process that opened it; nothing more is "
                "charged.",
                hint="Fit in that process, or open the ledger file in this one when that fit is done.",
            )
        with self._one_thread:
            content = _content(ledger)
            if account_file(self._path) != self._path or self._on_disk() != self._known:
                raise EigenveilError(
                    f"the ledger file {str(self._path)!r} was changed by someone else during the fit; nothing "
                    "more is charged.",
                    hint="Keep the file and its lock as they are while a fit runs.",
                )
            with written_whole(self._path) as part:
                part.write_bytes(content)
            self._known = sha256(content).digest()

    def write_changes(self, ledger: Ledger) -> None:
        """Write what changed after the last charge, such as a mark that the ledger is not private."""
        if sha256(_content(ledger)).digest() != self._known:
            self.write(ledger)

    def _on_disk(self) -> bytes | None:
        try:
            return sha256(self._path.read_bytes()).digest()
        except FileNotFoundError:
            return None


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
        f"another process is charging {str(path)!r}; no noise was drawn.", hint="Try again when it has finished."
    )
    with locked(path, busy=busy):
        yield
