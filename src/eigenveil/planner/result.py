"""What a plan says: numbers per epsilon, a table, and epsilon in words."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

MOST_EPSILON, MOST_N = 50.0, 10**9
"""How far a target is looked for."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What to expect of n units at one epsilon.

    Parameters
    ----------
    n : int
        Units: rows, or people.
    epsilon : float
        Privacy.
    zeta, energy : float
        Expected loss sqrt(1 - energy), and the energy ratio: variance kept, over the best that k directions can
        keep. Against the truth, so what a sample of n lacks counts too.
    interval : (float, float)
        Where zeta is expected to lie.
    gauss_1 : float
        The zeta of DP-Gauss-1, with noise as printed, n for free and the best clip for free.
    without_privacy : float
        The zeta of PCA without privacy on n units.
    upper_bound, lower_bound : float or None
        The paper's, where its models apply: rates with constant 1, no promises.
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
        """About what odds of 1:1 that a given person is in the data become, to 1, by seeing the result."""
        return math.exp(min(self.epsilon, 700.0))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to expect, per epsilon, and what a target takes.

    Parameters
    ----------
    d, k : int
        Columns and components.
    delta : float
        Privacy.
    rows : tuple of Expected
        One per epsilon; with a target one only, at what is needed (or at the most that was tried).
    target : float or None
        The energy ratio that was asked for.
    solved : {"epsilon", "n", None}
        What was looked for.
    needed : float or None
        The smallest epsilon or n that is expected to reach the target, within 5 %; None if none does.
    notes : tuple of str
        What to know before trusting it.
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
        """What an epsilon allows an attacker, in words: the one nearest to 1 of this plan."""
        return explain(min((row.epsilon for row in self.rows), key=lambda one: abs(math.log(one))), self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [{**asdict(row), "interval": list(row.interval), "odds": row.odds} for row in self.rows]
        return {**asdict(self), "rows": rows, "notes": list(self.notes), "meaning": self.meaning}

    def __str__(self) -> str:
        return "\n".join([*_table(self), "", *_verdict(self), self.meaning, *self.notes])


def explain(epsilon: float, delta: float) -> str:
    """What (epsilon, delta) allows an attacker, in words.

    For tests of "in" against "out", both equally likely, (epsilon, delta)-DP bounds the chance of being right by
    (e^epsilon + delta)/(1 + e^epsilon).

    Examples
    --------
    >>> print(explain(1.0, 1e-6))
    epsilon = 1 in words: whoever knows everything but whether you are in the data, and holds both for
    equally likely, guesses right with a chance of at most 73% in place of 50%, however they use the result.
    """
    odds = math.exp(min(epsilon, 700.0))
    percent = min(100 * (odds + delta) / (1 + odds), 99.99)
    return textwrap.fill(
        f"epsilon = {epsilon:g} in words: whoever knows everything but whether you are in the data, and holds "
        f"both for equally likely, guesses right with a chance of at most "
        f"{percent:.{2 if percent < 99 else 4}g}% in place of 50%, however they use the result.",
        width=105,
    )


def _short(odds: float) -> str:
    """Odds, as long as they need be.

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
    title = f"{plan.k} of {plan.d} directions, delta = {plan.delta:g}; zeta = sqrt(1 - energy), smaller is better"
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
    return [f"An energy of {plan.target:.4g} is expected from {plan.solved} = {shown} on."]
