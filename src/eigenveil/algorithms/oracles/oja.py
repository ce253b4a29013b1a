"""Oja's algorithm: one pass over the data, with one unit per step. Not private.

Oja({A_t}, t = 1..m; P, eta):
  1  w_0 <- P z/||P z||, z uniform on the sphere
  2  for t = 1..m:
  3     w <- P (w + eta_t A_t w), normalised to length 1
  4  return w
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenveil.algorithms.oracles.steps import OracleAnswer, Rates, rate_at, step
from eigenveil.schedules import HarmonicSchedule
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class Oja:
    """Non-private oracle, the reference for the private ones.

    Parameters
    ----------
    learning_rates : callable or sequence, optional
        eta_t for t = 1, 2, .... By default 1/(1 + t).

    Formal guarantees
    -----------------
    None. A run marks its ledger "not private" permanently.

    ==============================  ==================================
    edge case                       result
    ==============================  ==================================
    no units                        the random start
    nan, inf, norm overflows        the step of such a unit is skipped
    ==============================  ==================================

    Deviations from the paper
    -------------------------
    The printed form has no projection. An oracle needs the projection of the paper's analysis (inputs P A_t P).

    References
    ----------
    The paper, label algo-ojas; Oja 1982; Jain et al. 2016, arXiv 1602.06929.
    """

    learning_rates: Rates | None = None

    def __call__(self, units: Units) -> OracleAnswer:
        """Return the top component of the units, not privately."""
        units.veil.ledger.mark_not_private("Oja's algorithm adds no noise")
        rates = HarmonicSchedule() if self.learning_rates is None else self.learning_rates
        # 1
        w = units.random_start(1)
        # 2
        steps = 0
        for steps, A in enumerate(units.singly(), start=1):
            # 3
            with np.errstate(over="ignore", invalid="ignore"):
                w = step(units, w, A(w), rate_at(rates, steps))
        # 4
        return OracleAnswer(w[:, 0], {"steps": steps})
