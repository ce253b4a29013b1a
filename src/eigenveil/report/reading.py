"""Interpretation of a privacy guarantee: odds, probabilities and true positive rates of an attacker."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil.privacy import Budget, Ledger, Relation

ALARM = 0.05
"""False positive rate of the attacker in the example."""

_RELATIONS = {
    Relation.ADD_REMOVE: "with or without one unit; the number of units is protected too",
    Relation.REPLACE: "with one unit's content, or any other content in its place; the number of rows is public",
    Relation.EMPTY_SLOT: "with one arrival's content, or nothing in its place; the number of arrivals is public",
}


def relation_in_words(relation: Relation) -> str:
    """Return which change of the data the guarantee hides.

    Examples
    --------
    >>> relation_in_words(Relation.ADD_REMOVE)
    'Releases look almost the same with or without one unit; the number of units is protected too'
    """
    return f"Releases look almost the same {_RELATIONS[relation]}"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Interpretation of a privacy guarantee.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee for everything that is ever charged to the ledger: its budget.
    odds, chance : float
        Upper bounds on the attacker's posterior odds and probability, from prior odds of 1 : 1.
    rare : float
        Upper bound on the probability, over the noise, that the posterior odds exceed `odds`.
    hits : float
        Upper bound on the attacker's true positive rate at a false positive rate of `ALARM`.
    relation : str
        How two neighbouring datasets differ, in words.
    """

    epsilon: float
    delta: float
    odds: float
    chance: float
    rare: float
    hits: float
    relation: str


def read_guarantee(ledger: Ledger, delta: float) -> Reading | None:
    """Interpret the budget of a ledger. Return None if it has no finite epsilon at this delta.

    A privacy filter guarantees the budget. The spending so far is smaller, but it is not a guarantee.

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
    """Return an upper bound on the probability that the odds change by a factor of more than exp(epsilon).

    This probability is not delta. For every e below epsilon, delta(e) is at least (1 - exp(e - epsilon)) times the
    probability, because delta(e) is the expectation of 1 - exp(e - loss) over outcomes with a loss above e. The
    bound is the smallest over a grid of e.
    """
    if not epsilon > 0:
        return 1.0
    grid = epsilon * np.linspace(0.0, 0.998, 500)
    return float(min(1.0, *(budget.delta(e) / -math.expm1(e - epsilon) for e in map(float, grid))))


def found_at(budget: Budget, alarm: float) -> float:
    """Return the largest true positive rate at false positive rate `alarm`: min_e exp(e) alarm + delta(e)."""
    grid = np.linspace(0.0, 12.0, 1201)
    return float(min(1.0, *(math.exp(e) * alarm + budget.delta(float(e)) for e in grid)))


def _exp(epsilon: float) -> float:
    return math.exp(min(epsilon, 700.0))
