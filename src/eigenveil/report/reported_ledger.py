"""The ledger that a report shows: of the model, and of a map of scores that has a ledger of its own."""

from __future__ import annotations

import json
import math
from typing import Any

from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Ledger


def reported_ledger(model: Any, scores: Any = None) -> Ledger:
    """Return the ledger of everything in a report: that of the model, or its composition with that of the map.

    Formal guarantees
    -----------------
    The budget of the composition covers both ledgers: sqrt(mu_1^2 + mu_2^2) for Gaussian releases, and the sums of
    the (epsilon, delta) set aside. It is private only if both are. It is a copy, which cannot be charged.
    """
    fit = model.ledger_
    if scores is None or scores.ledger is fit:
        return fit  # type: ignore[no-any-return]
    if scores.ledger.relation is not fit.relation:
        raise InvalidInputError(
            f"the map of scores was bought under the relation {scores.ledger.relation.value}, and the model under "
            f"{fit.relation.value}: their costs cannot be added up.",
            hint="Buy the map on the ledger of the fit, or write the report without it.",
        )
    if scores.ledger.unit != fit.unit:
        raise InvalidInputError(
            f"the map of scores is about {scores.ledger.unit or 'an unknown unit'}, and the model about "
            f"{fit.unit or 'an unknown unit'}: their costs cannot be added up.",
            hint="Buy the map with the units of the fit, or write the report without it.",
        )
    whole, more = json.loads(fit.to_json()), json.loads(scores.ledger.to_json())
    whole["budget"] = {
        name: math.hypot(value, more["budget"][name]) if name == "mu" else value + more["budget"][name]
        for name, value in whole["budget"].items()
    }
    whole["not_private_because"] += [f"map of scores: {reason}" for reason in more["not_private_because"]]
    whole["private"] = not whole["not_private_because"]
    whole["entries"] += more["entries"]
    return Ledger.from_json(json.dumps(whole))
