"""Noisy counts of what is excluded from units: rows of people, and values that are not in a public list."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.engines.left_out import PLACES, LeftOut
from eigenveil.mechanisms.columns import root_up
from eigenveil.mechanisms.noise.noisy import Noisy
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.privacy.entries import Purpose


@dataclass(frozen=True)
class NoisyLeftOut:
    """Noisy counts of excluded rows and unknown values. They are not rounded, and may be negative.

    Parameters
    ----------
    people, rows : Noisy, optional
        The number of people with at least one excluded row, and the sum over people of the share of their rows
        that is excluded. None if every unit is one row.
    unknown : mapping of str to Noisy
        For every group of columns, the number of units with a row that is 0 in all columns of the group.
    """

    people: Noisy | None
    rows: Noisy | None
    unknown: dict[str, Noisy]


def noisy_left_out(
    left_out: LeftOut, *, mu: float, veil: Veil, what: str = "rows and values left out"
) -> NoisyLeftOut:
    """Release the m sums of `LeftOutQuery`, each plus Gaussian noise of standard deviation sqrt(m)/mu.

    Formal guarantees
    -----------------
    A unit adds a vector of m numbers in [0, 1], which is a function of that unit and of public groups alone:
    whether one of its rows is excluded, the share of its rows that is excluded, and one number per group. All of
    them are multiples of 2^-10 (a share is rounded for each unit separately), so sums are exact.

    *Add-remove, empty-slot:* a vector with entries in [0, 1] is added or removed: the sum changes by at most
    sqrt(m) in L2. *Replace:* one such vector is replaced by another (or by 0, if a person loses the id), and every
    entry of the difference lies in [-1, 1]: again at most sqrt(m). So the sensitivity is sqrt(m) under every
    relation: mu-GDP.

    There is no other rounding: the grid is a power of two of at most 2^-16, as long as noise stays below 2^34.

    ==============================  ==========================================
    edge case                       result
    ==============================  ==========================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       no special case
    nan, inf, norm overflows        such a row is excluded
    a unit with all rows excluded   its share is 1
    a unit without any row          adds 0
    nan in a group of columns       is not 0
    ==============================  ==========================================

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil.operators import samples
    >>> from eigenveil.privacy import Budget, Ledger
    >>> from eigenveil.units import Units
    >>> rows, ids = np.ones((300, 2)), np.arange(300) // 3
    >>> rows[::3] = np.nan
    >>> budget = Budget.from_mu(10.0)
    >>> units = Units(samples.people(rows, ids), Veil(Ledger(budget)), budget)
    >>> found = noisy_left_out(units.left_out(), mu=10.0, veil=units.veil)
    >>> abs(found.people.value - 100) < 2, abs(found.rows.value - 100 / 3) < 2
    (True, True)
    """
    query = left_out.query
    sensitivity = root_up(query.size)
    grant = veil.gaussian(what, mu=mu, sensitivity=sensitivity, draws=query.size, purpose=Purpose.COUNT)
    released = grant.release(grant.on_grid(left_out.sums(), places=PLACES))
    found = [Noisy(float(value), sensitivity / mu) for value in released]
    people, rows = found[:2] if query.of_people else (None, None)
    names = [group.name for group in query.operator.groups]
    return NoisyLeftOut(people, rows, dict(zip(names, found[2 * query.of_people :], strict=True)))
