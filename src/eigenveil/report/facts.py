"""What a report says first: what was released, its epsilon, and how the costs of a fit and a map add up."""

from __future__ import annotations

import math
from typing import Any

from eigenveil.estimators.settings import as_fitted
from eigenveil.estimators.uncertainty import known_components_for
from eigenveil.privacy import Budget, Ledger, Purpose
from eigenveil.report.reading import Reading, relation_in_words

_SAME = 1.001
"""Epsilons that differ by less than this factor are the same number."""


def epsilon_shown(model: Any, reading: Reading | None) -> str:
    """Return the epsilon of the ledger's budget: the one number that the page states for the model.

    Without a finite epsilon it is that of the fit.
    """
    epsilon = float(as_fitted(model)["epsilon"])
    if reading is None or reading.epsilon <= epsilon * _SAME:
        return f"{epsilon:g}"
    return f"{reading.epsilon:.4g}"


def unit_of(model: Any) -> str:
    """Return whom the guarantee protects."""
    return str(model.ledger_.unit or "one row, or one person with all their rows")


def sentence(model: Any, epsilon: str, *, private: bool) -> str:
    """Return one sentence on what was released and how private it is."""
    k, delta = model.n_components_, as_fitted(model)["delta"]
    ratios, n_hat = vars(model).get("explained_variance_ratio_"), vars(model).get("n_samples_")
    first = "The first principal component" if k == 1 else f"The first {k} principal components"
    units = "" if n_hat is None else f" of about {n_hat:,.0f} units"
    holds = "" if ratios is None else f", with about {100 * float(sum(ratios)):.0f} % of their variance"
    if n_hat is None:
        holds = holds.replace("their", "the")
    released = (
        f"released with differential privacy for {unit_of(model)}: ε = {epsilon}, δ = {delta:g}."
        if private
        else "released WITHOUT any guarantee of privacy."
    )
    return f"{first}{units} in {model.n_features_in_} columns{holds}, {released}"


def why_that_epsilon(model: Any, reading: Reading | None, epsilon: str, ledger: Ledger) -> str:
    """Return how the costs of the fit and of maps make up the epsilon; "" if it is that of the fit alone."""
    fitted = as_fitted(model)
    fit, delta = float(fitted["epsilon"]), float(fitted["delta"])
    if reading is None or reading.epsilon <= fit * _SAME:
        return ""
    map_mu = _mu_of_maps(ledger)
    if not map_mu:
        return f"The fit may use ε = {fit:g} of it. The ledger covers further releases, up to ε = {epsilon}."
    both = Budget.from_mu(math.hypot(Budget.from_epsilon_delta(fit, delta).mu, map_mu)).epsilon(delta)
    alone = Budget.from_mu(map_mu).epsilon(delta)
    together = f"{both:.4g}" if both * _SAME < reading.epsilon else epsilon
    text = (
        f"The fit costs ε = {fit:g} and the map of scores ε = {alone:.3g}: together {together}, less than their "
        "sum, because the costs of independent noise add up roughly as squares do (3 and 4 make 5)."
    )
    return text if together == epsilon else f"{text} The ledger covers further releases, up to ε = {epsilon}."


def facts_of(model: Any) -> list[tuple[str, str]]:
    """Return facts about the model as pairs of name and value, in plain words."""
    n_hat, seen = vars(model).get("n_samples_"), vars(model).get("n_samples_seen_")
    algorithm, relation = as_fitted(model)["algorithm"], model.ledger_.relation
    unit = unit_of(model)
    count = "" if n_hat is None else f" There are about {n_hat:,.0f} (a noisy count)."
    facts = [
        ("One unit", f"{unit[0].upper()}{unit[1:]}.{count}"),
        ("What is hidden", f"{relation_in_words(relation)} (relation: {relation.value})."),
        ("Algorithm", f"{algorithm}. Methods, below, describes it."),
    ]
    if seen is not None:
        facts.append(("Arrivals", f"{seen:,}. Their number is public."))
    enough = known_components_for(model)
    if enough is not None:
        facts.append(("Components needed", f"{str(enough)[0].upper()}{str(enough)[1:]}."))
    return facts


def _mu_of_maps(ledger: Ledger) -> float:
    return math.sqrt(sum(entry.mu**2 for entry in ledger.entries if entry.purpose is Purpose.SCORES))
