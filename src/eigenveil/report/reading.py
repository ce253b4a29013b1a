"""What the guarantee says, in numbers that a person can use."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil.privacy import Budget, Ledger, Relation

ALARM = 0.05
"""The share of people outside the data whom an attacker is willing to accuse falsely, for the example."""

_RELATIONS = {
    Relation.ADD_REMOVE: "with or without one unit; how many there are is protected too",
    Relation.REPLACE: "with one unit's content or with any other in its place; how many rows there are is public",
    Relation.EMPTY_SLOT: "with one arrival's content or with nothing in its place; how many arrived is public",
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A guarantee in words.

    Parameters
    ----------
    epsilon, delta : float
        Of everything that is ever charged to the ledger: its budget.
    odds, chance : float
        What odds of 1 : 1, a chance of one half, can become.
    rare : float
        How often, over the noise, they can become more: at most.
    hits : float
        The largest share of people in the data whom an attacker can find that accuses `ALARM` of the others.
    relation : str
        What two data sets are compared.
    """

    epsilon: float
    delta: float
    odds: float
    chance: float
    rare: float
    hits: float
    relation: str


def read_guarantee(ledger: Ledger, delta: float) -> Reading | None:
    """The reading of a ledger's budget; None where it comes to no finite epsilon at this delta.

    The budget is what a privacy filter guarantees; what was spent so far is smaller, and no guarantee of its own.

    Examples
    --------
    >>> from eigenveil.privacy import Budget
    >>> reading = read_guarantee(Ledger(Budget.from_epsilon_delta(1.0, 1e-6)), 1e-6)
    >>> round(reading.odds, 2), round(reading.chance, 2), f"{reading.rare:.0e}", round(reading.hits, 3)
    (2.72, 0.73, '5e-05', 0.08)
    """
    epsilon = ledger.budget.epsilon(delta)
    if not math.isfinite(epsilon):
        return None
    return Reading(
        epsilon=epsilon,
        delta=delta,
        odds=_exp(epsilon),
        chance=1 / (1 + math.exp(-epsilon)),
        rare=probability_above(ledger.budget, epsilon),
        hits=found_at(ledger.budget, ALARM),
        relation=_RELATIONS[ledger.relation],
    )


def probability_above(budget: Budget, epsilon: float) -> float:
    """A bound on how often the odds change by more than exp(epsilon).

    It is not delta: for every e below epsilon, delta(e) is at least (1 - exp(e - epsilon)) times that probability,
    since delta(e) is the mean of 1 - exp(e - loss) over outcomes whose loss is above e. The best such e is taken.
    """
    if not epsilon > 0:
        return 1.0
    grid = epsilon * np.linspace(0.0, 0.998, 500)
    return float(min(1.0, *(budget.delta(e) / -math.expm1(e - epsilon) for e in map(float, grid))))


def found_at(budget: Budget, alarm: float) -> float:
    """The largest share of true hits at that share of false alarms: the least of exp(e) alarm + delta(e)."""
    grid = np.linspace(0.0, 12.0, 1201)
    return float(min(1.0, *(math.exp(e) * alarm + budget.delta(float(e)) for e in grid)))


def _exp(epsilon: float) -> float:
    return math.exp(min(epsilon, 700.0))
