"""The ledger before and after a fit, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from eigenveil.app.choices import Choices
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.ledger_file import ledger_before_fit
from eigenveil.privacy import Ledger, Unit
from eigenveil.privacy.budget import epsilon_of


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A ledger before and after a fit, as epsilons at the delta of the fit.

    Parameters
    ----------
    file : Path, optional
        Ledger file. None: the fit has a ledger of its own, with the budget of the fit.
    exists : bool
        Whether the ledger file exists.
    mu : float
        Spent mu before the fit.
    before, after, cap : float
        Spent epsilon before and after the fit, and the epsilon of the whole budget.
    entries : int
        Number of entries before the fit.
    fits : bool
        Whether the remaining budget covers the fit.
    reasons : tuple of str
        Why the ledger is not private; empty if it is.
    """

    file: Path | None
    exists: bool
    mu: float
    before: float
    after: float
    cap: float
    entries: int
    fits: bool
    reasons: tuple[str, ...]


def spending(choices: Choices) -> Spending:
    """Return the ledger before and after a fit. Raise if the ledger has another relation or unit."""
    account, requested = choices.account(), choices.requested()
    ledger = Ledger(requested.whole) if account is None else ledger_before_fit(account)
    if account is not None and ledger.relation.value != account.relation:
        raise InvalidInputError(
            f"the ledger has the relation {ledger.relation.value}, but this page fits with {account.relation}.",
            hint=f"Name another ledger file, or use the command line: --relation {ledger.relation.value}.",
        )
    ledger.check_unit(Unit("row") if choices.units is None else Unit("person", by=choices.units))
    mu, cost = math.hypot(ledger.mu, requested.whole.mu), ledger.cost
    return Spending(
        file=choices.ledger,
        exists=account is not None and account.path.exists(),
        mu=ledger.mu,
        before=ledger.epsilon(choices.delta),
        after=epsilon_of(mu, cost.epsilon, cost.delta, choices.delta),
        cap=ledger.budget.epsilon(choices.delta),
        entries=len(ledger.entries),
        fits=requested.fits(ledger),
        reasons=ledger.reasons,
    )
