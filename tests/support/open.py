"""Units for tests: any data, any budget, any source of bytes."""

from __future__ import annotations

from eigenveil.algorithms.open_units import as_operator
from eigenveil.mechanisms import Veil, no_noise
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units


def open_quiet(data, *, relation="replace", epsilon=1.0, delta=1e-2, aside=(0.0, 0.0), source=no_noise, veil=Veil):
    """Units under a veil whose noise is 0 unless a source is given; by place under replace if they have any."""
    budget = Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=aside[0], delta_aside=aside[1])
    units = Units(as_operator(data), veil(Ledger(budget, relation=relation), source=source), budget)
    return units.by_position() if units.number_is_public else units
