"""How many units there are."""

from __future__ import annotations

from eigenveil.engines.population import Population
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.relation import Relation


def noisy_count(population: Population, *, mu: float, veil: Veil, what: str = "number of units") -> float:
    """The number of good units plus Gaussian noise of standard deviation 1/mu.

    Formal guarantees
    -----------------
    *Add-remove:* a unit adds 0 or 1, so the sensitivity is exactly 1 (no rounding: counts are integers and
    1 is a multiple of the grid); mu-GDP. *Replace:* the number of slots is the same for all neighbours,
    so it is returned as it is, costs nothing, and the ledger says that the relation makes it public.

    ==============================  ==========================================
    edge case                       answer
    ==============================  ==========================================
    no units                        noise around 0 (may be negative)
    one unit, all equal, huge       nothing special
    nan, inf, norm overflows        not counted (add-remove); a slot (replace)
    ==============================  ==========================================
    """
    if veil.relation is Relation.REPLACE:
        veil.ledger.declare(what, note="public under replace")
        return float(population.slots())
    grant = veil.gaussian(what, mu=mu, sensitivity=1.0, draws=1)
    return float(grant.release(grant.on_grid([population.count()]))[0])
