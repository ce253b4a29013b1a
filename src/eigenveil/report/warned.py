"""The warnings at the top of a report: those of the release, and what its ledger says."""

from __future__ import annotations

from typing import Any

from eigenveil.estimators.settings import as_fitted
from eigenveil.privacy import Purpose


def warnings_of(model: Any, scores: Any = None) -> list[str]:
    """Sentences for the top of a report; none if there is nothing to say."""
    released = [one.text for one in model.warnings_]
    return [*_not_private(model), *released, *_declared(model), *_paid_elsewhere(model, scores)]


def _not_private(model: Any) -> list[str]:
    reasons = model.ledger_.reasons
    return [f"NOT PRIVATE: {'; '.join(reasons)}. No guarantee holds for this model."] if reasons else []


def _declared(model: Any) -> list[str]:
    # a map of scores declares its model: this one, which the same ledger has paid for
    entries = [entry for entry in model.ledger_.entries if entry.purpose is not Purpose.MODEL]
    declared = [entry.what for entry in entries if entry.kind == "declared"]
    if not declared:
        return []
    text = (
        f"Declared public, and not protected: {', '.join(dict.fromkeys(declared))}. The guarantee rests on this "
        "being true."
    )
    return [text]


def _paid_elsewhere(model: Any, scores: Any) -> list[str]:
    """A map of scores on a ledger of its own costs what that says, on top."""
    if scores is None or scores.ledger is model.ledger_:
        return []
    delta = as_fitted(model)["delta"]
    more = scores.ledger.budget.epsilon(delta)
    text = (
        f"The map of scores was paid for on a ledger of its own, whose budget is epsilon = {more:.4g} at delta = "
        f"{delta:g}, on top of what is said here for the model."
    )
    return [text]
