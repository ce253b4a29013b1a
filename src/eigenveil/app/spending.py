"""The ledger before and after a fit, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from eigenveil.app.choices import Choices
from eigenveil.persistence.ledger_file import ledger_before_fit
from eigenveil.privacy import Ledger
from eigenveil.privacy.budget import epsilon_of


@dataclass(frozen=True, kw_only=True)
class Spending:
    """A ledger before and after a fit, as epsilons at the delta of the fit.

    Parameters
    ----------
    file : Path, optional
        Ledger file. None: the fit has a ledger of its own, with the budget of the fit.
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
    before: float
    after: float
    cap: float
    entries: int
    fits: bool
    reasons: tuple[str, ...]


def spending(choices: Choices) -> Spending:
    """Return the ledger before and after a fit. Writes nothing."""
    account, requested = choices.account(), choices.requested()
    ledger = Ledger(requested.whole) if account is None else ledger_before_fit(account)
    mu, cost = math.hypot(ledger.mu, requested.whole.mu), ledger.cost
    return Spending(
        file=choices.ledger,
        before=ledger.epsilon(choices.delta),
        after=epsilon_of(mu, cost.epsilon, cost.delta, choices.delta),
        cap=ledger.budget.epsilon(choices.delta),
        entries=len(ledger.entries),
        fits=requested.fits(ledger),
        reasons=ledger.reasons,
    )
