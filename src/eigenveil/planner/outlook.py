"""What to expect of a fit, in a sentence, while the number of units is not known: for three numbers of them."""

from __future__ import annotations

from eigenveil.planner.plan import plan
from eigenveil.planner.result import percent

SIZES = (1000, 10_000, 100_000)
_WIDEST = 100
"""Maximal number of columns: beyond it, this would take seconds."""


def outlook(d: int, k: int, *, epsilon: float, delta: float, center: bool, scale: str | None) -> str:
    """Return what to expect of a fit of rows, with what it pays for the mean and scales. No data are read.

    Examples
    --------
    >>> outlook(5, 2, epsilon=1.0, delta=1e-6, center=True, scale="private")
    'To expect, if variances fall slowly and a unit is one row: ... of the variance of the best 2 components ...
    """
    if d > _WIDEST:
        options = f"-n UNITS -d {d} -k {k} --epsilon {epsilon:g}{'' if center else ' --no-center'}"
        return f"What to expect: eigenveil plan {options}{'' if scale is None else ' --scale private'}"
    rows = [plan(n, d, k, epsilon=epsilon, delta=delta, center=center, scale=scale).rows[0].energy for n in SIZES]
    first, *others = [f"with {n:,} units" for n in SIZES]
    which = "best component" if k == 1 else f"best {k} components"
    more = ", ".join(f"{percent(energy)} {with_n}" for energy, with_n in zip(rows[1:], others, strict=True))
    return (
        f"To expect, if variances fall slowly and a unit is one row: {percent(rows[0])} of the variance of the "
        f"{which} {first}, {more}. eigenveil plan takes other numbers."
    )
