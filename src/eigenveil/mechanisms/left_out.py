"""Noisy numbers of what is left out of units: people's rows, and values that no public list knows."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.engines.left_out import PLACES, LeftOut
from eigenveil.mechanisms.columns import root_up
from eigenveil.mechanisms.noisy import Noisy
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.entries import Purpose


@dataclass(frozen=True)
class NoisyLeftOut:
    """What is left out; noisy numbers, neither whole nor cut at 0.

    Parameters
    ----------
    people, rows : Noisy, optional
        How many people have a row that is left out, and the sum over people of the share of their rows that are.
        None where every unit is one row.
    unknown : mapping of str to Noisy
        For every group of columns, how many units have a row that is 0 in all of them.
    """

    people: Noisy | None
    rows: Noisy | None
    unknown: dict[str, Noisy]


def noisy_left_out(
    left_out: LeftOut, *, mu: float, veil: Veil, what: str = "rows and values left out"
) -> NoisyLeftOut:
    """The sums of `LeftOutQuery`, each plus Gaussian noise of standard deviation sqrt(m)/mu, m being their number.

    Formal guarantees
    -----------------
    What a unit adds is a vector of m numbers in [0, 1], a function of that unit and of public groups alone:
    whether a row of it is left out, the share of its rows that are, and one number per group. All are whole
    multiples of 2^-10 (a share is rounded for each unit by itself), so sums are exact.

    *Add-remove, empty-slot:* a vector with entries in [0, 1] comes or goes: the sum moves by at most sqrt(m) in
    L2. *Replace:* one such vector becomes another (or 0, where a person loses the id), and every entry of the
    difference lies in [-1, 1]: at most sqrt(m) again. So the sensitivity is sqrt(m) under every relation; mu-GDP.

    No rounding beyond that: the grid is a power of two of at most 2^-16 while noise stays below 2^34.

    ==============================  ==========================================
    edge case                       answer
    ==============================  ==========================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       nothing special
    nan, inf, norm overflows        such a row is left out
    a unit with no row left         its share is 1
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
