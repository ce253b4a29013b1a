"""Warnings at the top of a report: those of the release, and those that follow from its ledger."""

from __future__ import annotations

from typing import Any

from eigenveil.privacy import Ledger, Purpose


def warnings_of(model: Any, scores: Any, ledger: Ledger) -> list[str]:
    """Return the warnings for the top of a report, whose ledger is given; an empty list if there are none."""
    released = [one.text for one in model.warnings_]
    return [*_not_private(ledger), *released, *_declared(ledger), *_paid_elsewhere(model, scores)]


def _not_private(ledger: Ledger) -> list[str]:
    reasons = ledger.reasons
    return [f"NOT PRIVATE: {'; '.join(reasons)}. No guarantee holds for this report."] if reasons else []


def _declared(ledger: Ledger) -> list[str]:
    # a map of scores declares its model as public; here that is this model, which the same ledger has paid for
    entries = [entry for entry in ledger.entries if entry.purpose is not Purpose.MODEL]
    declared = [entry.what for entry in entries if entry.kind == "declared"]
    if not declared:
        return []
    text = (
        f"Declared public, and not protected: {', '.join(dict.fromkeys(declared))}. The guarantee holds only if "
        "these values are indeed public."
    )
    return [text]


def _paid_elsewhere(model: Any, scores: Any) -> list[str]:
    """Warn if the map of scores was charged to another ledger."""
    if scores is None or scores.ledger is model.ledger_:
        return []
    text = (
        "The map of scores was charged to a separate ledger. The epsilon of this report counts both; the ledger "
        "that is saved with the model does not contain the map."
    )
    return [text]
