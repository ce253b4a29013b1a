"""Warnings at the top of a report: those of the release, and those that follow from its ledger."""

from __future__ import annotations

from typing import Any

from eigenveil.estimators.settings import as_fitted
from eigenveil.privacy import Purpose


def warnings_of(model: Any, scores: Any = None) -> list[str]:
    """Return the warnings for the top of a report; an empty list if there are none."""
    released = [one.text for one in model.warnings_]
    return [*_not_private(model), *released, *_declared(model), *_paid_elsewhere(model, scores)]


def _not_private(model: Any) -> list[str]:
    reasons = model.ledger_.reasons
    return [f"NOT PRIVATE: {'; '.join(reasons)}. No guarantee holds for this model."] if reasons else []


def _declared(model: Any) -> list[str]:
    # a map of scores declares its model as public; here that is this model, which the same ledger has paid for
    entries = [entry for entry in model.ledger_.entries if entry.purpose is not Purpose.MODEL]
    declared = [entry.what for entry in entries if entry.kind == "declared"]
    if not declared:
        return []
    text = (
        f"Declared public, and not protected: {', '.join(dict.fromkeys(declared))}. The guarantee holds only if "
        "these values are indeed public."
    )
    return [text]


def _paid_elsewhere(model: Any, scores: Any) -> list[str]:
    """Warn if the map of scores was charged to another ledger, whose cost comes in addition."""
    if scores is None or scores.ledger is model.ledger_:
        return []
    delta = as_fitted(model)["delta"]
    more = scores.ledger.budget.epsilon(delta)
    text = (
        f"The map of scores was charged to a separate ledger, whose budget is epsilon = {more:.4g} at delta = "
        f"{delta:g}. This comes in addition to the budget of the model."
    )
    return [text]
