"""A ledger in a file that several fits charge, one at a time; it is written before noise is drawn."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from eigenveil._atomic_files import written_whole
from eigenveil.cli.speaking import usage
from eigenveil.errors import BudgetExceededError, EigenveilError, InvalidInputError
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.ledger import as_account

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

_SLACK = 1 + 1e-10


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a command may spend: on the fit, and on a map of scores.

    Examples
    --------
    >>> asked = Asked(fit=Budget.from_mu(0.3), score_map=Budget.from_mu(0.4))
    >>> round(asked.whole.mu, 12), asked.fits(Ledger(Budget.from_mu(0.5))), asked.fits(Ledger(Budget.from_mu(0.4)))
    (0.5, True, False)
    """

    fit: Budget
    score_map: Budget | None = None

    @property
    def whole(self) -> Budget:
        """Both together, as a ledger that holds nothing else."""
        more = 0.0 if self.score_map is None else self.score_map.mu
        return Budget(
            mu=math.hypot(self.fit.mu, more),
            epsilon_aside=self.fit.epsilon_aside,
            delta_aside=self.fit.delta_aside,
        )

    def fits(self, ledger: Ledger) -> bool:
        """Whether a ledger has that much left."""
        return self.whole.mu <= ledger.remaining_mu * _SLACK and self.fits_aside(ledger)

    def fits_aside(self, ledger: Ledger) -> bool:
        """Whether it has enough left of what is for noise that is not Gaussian."""
        epsilon, delta = ledger.remaining_aside
        return self.whole.epsilon_aside <= epsilon * _SLACK and self.whole.delta_aside <= delta * _SLACK


@dataclass(frozen=True, kw_only=True)
class Account:
    """A ledger file, what is to be charged to it, and what a new one is to be."""

    path: Path
    asked: Asked
    cap: tuple[float, float] | None
    """(epsilon, delta) that all fits together may cost, if named; else a new file gets what is asked for."""
    relation: str
    seeded: bool


@contextmanager
def open_ledger(account: Account) -> Iterator[Ledger]:
    """The ledger of a file, or a new one; within it, every charge is on the disk before its noise is drawn.

    The file is replaced as a whole, so that a crash leaves the last complete one.
    """
    with _alone(account.path):
        ledger = as_account(planned_ledger(account))  # nobody else has the file open
        refuse_overspending(account.asked, ledger)
        _write(account.path, ledger)
        with ledger.watched(lambda _: _write(account.path, ledger)):
            yield ledger


def planned_ledger(account: Account) -> Ledger:
    """The ledger as a fit finds it; nothing is written."""
    ledger = read_ledger(account.path)
    if ledger is None:
        return Ledger(_new_cap(account), relation=account.relation)
    if account.seeded and not ledger.seeded:
        raise typer.BadParameter(
            f"a seeded fit would mark {str(account.path)!r}, and all that was and will be charged to it, as not "
            "private for good. Leave --seed out, or give seeded trials a ledger file of their own: a new one.",
            param_hint="--seed",
        )
    if account.cap is not None:
        with usage():
            _refuse_another_cap(ledger, *account.cap)
    return ledger


def refuse_overspending(asked: Asked, ledger: Ledger) -> None:
    """Refuse what does not fit as a whole, before any part of it is charged."""
    if asked.fits(ledger):
        return
    if not asked.fits_aside(ledger):
        raise BudgetExceededError(
            "this algorithm pays for a test with noise that is not Gaussian, from a part that a ledger file sets "
            f"aside when it is made: it asks for {_pair(asked.whole.epsilon_aside, asked.whole.delta_aside)}, and "
            f"{_pair(*ledger.remaining_aside)} of that part is left.",
            hint="Nothing was drawn. Begin a new ledger file with this fit, which sets its part aside; or use "
            "--algorithm tracked or dp-gauss-1, which need none.",
        )
    raise BudgetExceededError(
        f"this run asks for mu = {asked.whole.mu:g}, but the ledger has mu = {ledger.remaining_mu:g} left of "
        f"{ledger.budget.mu:g}.",
        hint="Nothing was drawn. Ask for less, or start a ledger with a larger budget.",
    )


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


def _new_cap(account: Account) -> Budget:
    """The cap of a new file: what is asked for, or the total that was named with the same part set aside."""
    whole = account.asked.whole
    if account.cap is None:
        return whole
    return Budget.from_epsilon_delta(
        *account.cap, epsilon_aside=whole.epsilon_aside, delta_aside=whole.delta_aside
    )


def _pair(epsilon: float, delta: float) -> str:
    return f"({epsilon:g}, {delta:g})"


def _refuse_another_cap(ledger: Ledger, epsilon: float, delta: float) -> None:
    """A cap is set once: raising it later would undo what it promised."""
    made = ledger.budget.epsilon(delta)
    if not abs(made - epsilon) <= 1e-5 * epsilon:
        raise InvalidInputError(
            f"this ledger was made with a cap of epsilon = {made:.6g} at delta = {delta:g}; the one asked for is "
            f"{epsilon:.6g}.",
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
