"""What a reader must be warned of, from releases and parameters only."""

from __future__ import annotations

from typing import Any

from eigenveil.estimators.settings import as_fitted
from eigenveil.privacy import Purpose

FEW = 0.1
"""Noise of a count over the number of units that a search for a radius still stands."""
_CENSUS, _COUNT = "good and bad units", "number of units"
_ASIDE = ("mean", "column scale", "variances")
"""Searches that are not for directions. These are words of the ledger."""
_HEAVY = 0.05
_SHORTENED = "variances: share above"
"""What the ledger calls the count of units that were shortened."""


def warnings_of(model: Any, scores: Any = None) -> list[str]:
    """Sentences for the top of a report; none if there is nothing to say."""
    found = [
        *_not_private(model),
        *_few(model),
        *_bad(model),
        *_delta(model),
        *_lost_in_noise(model),
        *_shortened(model),
    ]
    return [*found, *_declared(model), *_paid_elsewhere(model, scores)]


def _not_private(model: Any) -> list[str]:
    reasons = model.ledger_.reasons
    return [f"NOT PRIVATE: {'; '.join(reasons)}. No guarantee holds for this model."] if reasons else []


def _few(model: Any) -> list[str]:
    """Where counts in the first search for a radius are lost in noise; `tracked_pca` warns by the same rule."""
    n_hat, entries = vars(model).get("n_samples_"), _of_this_fit(model)
    noise = [
        entry.scale for entry in entries if entry.what.endswith(": radius") and not entry.what.startswith(_ASIDE)
    ]
    if n_hat is None or not noise or noise[0] <= FEW * n_hat:
        return []
    text = (
        f"Too few units: about {n_hat:.0f} (a noisy count), where some {noise[0] / FEW:.0f} would be enough for "
        "this epsilon and delta. Noise may rule the directions."
    )
    return [text]


def _bad(model: Any) -> list[str]:
    """Where many units had no finite row, beyond what noise in their count could have made up."""
    bad, n_hat = model.release_.diagnostics.get("bad_units"), vars(model).get("n_samples_")
    noise = [entry.scale for entry in _of_this_fit(model) if entry.what == _CENSUS]
    if bad is None or n_hat is None or not noise or bad - 3 * noise[0] <= _HEAVY * (n_hat + bad):
        return []
    return [f"About {bad:.0f} units (a noisy count) had no row of finite numbers, and were left out."]


def _of_this_fit(model: Any) -> list[Any]:
    """Entries of the last fit on the ledger, as far as they can be told: from its count of units on."""
    entries = list(model.ledger_.entries)
    begins = [i for i, entry in enumerate(entries) if entry.what in (_CENSUS, _COUNT)]
    return entries[begins[-1] :] if begins else entries


def _delta(model: Any) -> list[str]:
    n_hat, delta = vars(model).get("n_samples_"), as_fitted(model)["delta"]
    if n_hat is None or delta * n_hat <= 1:
        return []
    text = (
        f"delta = {delta:g} is more than 1 in about {n_hat:.0f} units: a mechanism that publishes one of "
        "them as they are could have it."
    )
    return [text]


def _lost_in_noise(model: Any) -> list[str]:
    bought = model.release_.variances
    if bought is None:
        return []
    lost = [str(i + 1) for i, value in enumerate(bought.explained) if value < 2 * bought.noise]
    if not lost:
        return []
    text = (
        f"The variance of component {', '.join(lost)} cannot be told from noise (below two standard deviations)."
    )
    return [text]


def _shortened(model: Any) -> list[str]:
    """Where more units were shortened than noise in their count could have made up."""
    bought, n_hat = model.release_.variances, vars(model).get("n_samples_")
    counts = [entry.scale for entry in model.ledger_.entries if entry.what == _SHORTENED and entry.scale]
    if bought is None or not n_hat or bought.share_above - 2 * max(counts, default=0.0) / n_hat < _HEAVY:
        return []
    text = (
        f"About {bought.share_above:.0%} of the units were shortened when variances were taken (a noisy share): "
        "the data have heavy tails, and variances are too low by more than their intervals say."
    )
    return [text]


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
