"""Result of a plan: expected values per epsilon, a table, and an explanation of epsilon."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

MOST_EPSILON, MOST_N = 50.0, 10**9
"""Largest epsilon and n tried for a target."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected accuracy with n units at one epsilon.

    Parameters
    ----------
    n : int
        Number of units: rows, or people.
    epsilon : float
        Privacy budget.
    zeta, energy : float
        Expected error sqrt(1 - energy), and the energy ratio: captured variance, relative to the most that k
        components can capture. Measured against the population, so it includes the sampling error of n units.
    interval : (float, float)
        Interval in which zeta is expected.
    gauss_1 : float
        Expected zeta of DP-Gauss-1, with noise as printed. It gets n and the best clip without spending budget.
    without_privacy : float
        Expected zeta of PCA without privacy on n units.
    upper_bound, lower_bound : float or None
        The paper's bounds, if its models apply: rates with constant 1, not guarantees.
    """

    n: int
    epsilon: float
    zeta: float
    energy: float
    interval: tuple[float, float]
    gauss_1: float
    without_privacy: float
    upper_bound: float | None
    lower_bound: float | None

    @property
    def odds(self) -> float:
        """Approximate bound on the posterior odds, to 1, that a person is in the data, from prior odds of 1:1."""
        return math.exp(min(self.epsilon, 700.0))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Expected accuracy per epsilon, and the epsilon or n needed for a target.

    Parameters
    ----------
    d, k : int
        Number of columns and of components.
    delta : float
        Privacy parameter.
    rows : tuple of Expected
        One row per epsilon. With a target: one row, at the needed value (or at the largest value tried).
    target : float or None
        Requested energy ratio.
    solved : {"epsilon", "n", None}
        Which quantity was searched for.
    needed : float or None
        Smallest epsilon or n that is expected to reach the target, within 5 %; None if none does.
    notes : tuple of str
        Remarks on the reliability of the plan.
    """

    d: int
    k: int
    delta: float
    rows: tuple[Expected, ...]
    target: float | None = None
    solved: str | None = None
    needed: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Explanation in words of the epsilon of this plan that is closest to 1."""
        return explain(min((row.epsilon for row in self.rows), key=lambda one: abs(math.log(one))), self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values for JSON."""
        rows = [{**asdict(row), "interval": list(row.interval), "odds": row.odds} for row in self.rows]
        return {**asdict(self), "rows": rows, "notes": list(self.notes), "meaning": self.meaning}

    def __str__(self) -> str:
        return "\n".join([*_table(self), "", *_verdict(self), self.meaning, *self.notes])


def explain(epsilon: float, delta: float) -> str:
    """Explain in words what (epsilon, delta) guarantees against an attacker.

    For tests of "in" against "out", both equally likely, (epsilon, delta)-DP bounds the probability of a correct
    guess by (e^epsilon + delta)/(1 + e^epsilon).

    Examples
    --------
    >>> print(explain(1.0, 1e-6))
    epsilon = 1 in words: an attacker who knows everything except whether you are in the data, and considers
    both equally likely, guesses correctly with probability at most 73% instead of 50%, however they use the
    result.
    """
    odds = math.exp(min(epsilon, 700.0))
    percent = min(100 * (odds + delta) / (1 + odds), 99.99)
    return textwrap.fill(
        f"epsilon = {epsilon:g} in words: an attacker who knows everything except whether you are in the data, "
        f"and considers both equally likely, guesses correctly with probability at most "
        f"{percent:.{2 if percent < 99 else 4}g}% instead of 50%, however they use the result.",
        width=105,
    )


def percent(share: float) -> str:
    """Format a share of at most 1 in per cent.

    Examples
    --------
    >>> percent(0.5), percent(0.9312), percent(0.99973)
    ('50 %', '93 %', '99.97 %')
    """
    return f"{100 * share:.2f} %" if share > 0.99 else f"{100 * share:.0f} %"


def _short(odds: float) -> str:
    """Format odds compactly.

    Examples
    --------
    >>> _short(2.718), _short(22026.4), _short(5e21)
    ('2.7', '22,026', '5e+21')
    """
    return f"{odds:.2g}" if odds < 10 or odds > 1e9 else f"{odds:,.0f}"


def _table(plan: Plan) -> list[str]:
    columns = ["epsilon", "odds up to", "n", "energy", "zeta", "between", "DP-Gauss-1", "no privacy", "paper"]
    cells = [columns, *(_cells(row) for row in plan.rows)]
    if all(row.upper_bound is None for row in plan.rows):
        cells = [line[:-1] for line in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    title = f"{plan.k} components of {plan.d} columns, delta = {plan.delta:g}"
    title += "; zeta = sqrt(1 - energy), smaller is better"
    return [title, *("  ".join(map(str.rjust, line, widths)) for line in cells)]


def _cells(row: Expected) -> list[str]:
    low, high = row.interval
    return [
        f"{row.epsilon:g}",
        f"{_short(row.odds)}:1",
        f"{row.n:,}",
        f"{row.energy:.2%}",
        f"{row.zeta:.2g}",
        f"{low:.2g} and {high:.2g}",
        f"{row.gauss_1:.2g}",
        f"{row.without_privacy:.2g}",
        "" if row.upper_bound is None else f"O({row.upper_bound:.2g})",
    ]


def _verdict(plan: Plan) -> list[str]:
    if plan.target is None:
        return []
    if plan.needed is None:
        most = f"{MOST_EPSILON:g}" if plan.solved == "epsilon" else f"{MOST_N:,}"
        return [f"No {plan.solved} up to {most} is expected to reach an energy of {plan.target:.4g}."]
    shown = f"{plan.needed:,.0f}" if plan.solved == "n" else f"{plan.needed:g}"
    return [f"An energy of {plan.target:.4g} is expected for {plan.solved} = {shown} and above."]
