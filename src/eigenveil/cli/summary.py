"""Summary of a fitted model, as JSON values and as a table. Contains released values and parameters only."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from eigenveil._printable import printable
from eigenveil.algorithms.release import component_names
from eigenveil.estimators.settings import as_fitted
from eigenveil.estimators.uncertainty import known_angles, known_components_for
from eigenveil.persistence.score_maps import plain_map
from eigenveil.sources import Layout

_ATTRIBUTES = (
    "explained_variance_",
    "explained_variance_ratio_",
    "noise_variance_",
    "n_samples_",
    "n_samples_seen_",
)
_SHOWN, _SHOWN_COLUMNS = 4, 12


def as_plain(model: Any, scores: Any = None) -> dict[str, Any]:
    """Return everything released, as values for JSON."""
    ledger = model.ledger_
    names = vars(model).get("feature_names_in_")
    bought = model.release_.variances
    fitted, angles = as_fitted(model), known_angles(model)
    plain = {
        "private": ledger.private,
        "not_private_because": list(ledger.reasons),
        "epsilon": fitted["epsilon"],
        "delta": fitted["delta"],
        "relation": ledger.relation.value,
        "unit": None if ledger.unit is None else str(ledger.unit),
        "algorithm": fitted["algorithm"],
        "n_components": model.n_components_,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        **model.layout_.plain,
        "component_names": component_names(model.n_components_),
        "components": model.components_.tolist(),
        "component_angles": None if angles is None else angles.tolist(),
        "components_for": _enough(model),
        "mean": model.mean_.tolist(),
        "scale": None if model.scale_ is None else np.asarray(model.scale_).tolist(),
        "variance_noise_sd": None if bought is None else bought.noise,
        "release_warnings": [one.to_plain() for one in model.warnings_],
        "score_map": None if scores is None else plain_map(scores),
        "budget": whole(ledger, fitted["delta"]),
        "spent": spent(ledger, fitted["delta"]),
        "ledger": json.loads(ledger.to_json()),
    }
    for name in _ATTRIBUTES:
        value = vars(model).get(name)
        plain[name.rstrip("_")] = value.tolist() if isinstance(value, np.ndarray) else value
    return plain


def _enough(model: Any) -> dict[str, Any] | None:
    """Return how many components capture the default share of the variance, or None without variances."""
    found = known_components_for(model)
    return None if found is None else {**asdict(found), "reached": list(found.reached), "text": str(found)}


def whole(ledger: Any, delta: float) -> dict[str, Any]:
    """Return the total budget of a ledger: the guarantee for everything that is ever charged to it."""
    return {"mu": ledger.budget.mu, "epsilon": _finite(ledger.budget.epsilon(delta)), "delta": delta}


def _finite(epsilon: float) -> float | None:
    """Return `epsilon`, or None if it is infinite at this delta."""
    return epsilon if math.isfinite(epsilon) else None


def spent(ledger: Any, delta: float) -> dict[str, Any]:
    """Return how much of its budget a ledger has spent."""
    return {
        "mu": ledger.mu,
        "epsilon": _finite(ledger.epsilon(delta)),
        "delta": delta,
        "remaining_mu": ledger.remaining_mu,
        "entries": len(ledger.entries),
    }


def as_table(model: Any, *, warnings: bool = True) -> Group:
    """Return the summary as tables for the terminal. Pass ``warnings=False`` if they were already printed."""
    plain = as_plain(model)
    table = Table(title=None, box=None, pad_edge=False)
    for name, justify in (
        ("component", "left"),
        ("variance", "right"),
        ("± noise sd", "right"),
        ("share", "right"),
        ("angle", "right"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("largest loadings", overflow="fold")
    named = plain["feature_names"] or [f"x{i}" for i in range(model.n_features_in_)]
    names = [printable(name) for name in named]
    values, ratios = plain["explained_variance"], plain["explained_variance_ratio"]
    noise, angles = plain["variance_noise_sd"], plain["component_angles"]
    for i, row in enumerate(model.components_):
        largest = np.argsort(-np.abs(row), kind="stable")[:_SHOWN]
        table.add_row(
            plain["component_names"][i],
            "" if values is None else f"{values[i]:.4g}",
            "" if noise is None else f"{noise:.2g}",
            "" if ratios is None else f"{ratios[i]:.1%}",
            "" if angles is None else f"{angles[i]:.1f}°",
            Text(", ".join(f"{names[j]} {row[j]:+.2f}" for j in largest)),
        )
    warned = [f"warning: {one['text']}" for one in plain["release_warnings"] if warnings]
    lines = [Text(printable(line)) for line in (*_lines(plain), *warned)]
    return Group(*lines, Text(), table, Text(), _columns(plain, names))


def _columns(plain: dict[str, Any], names: list[str]) -> Table | Text:
    """Return a table of mean and scale of the first columns; empty if neither was used."""
    numbers = {name: plain[name] for name in ("mean", "scale") if np.any(plain[name])}
    if not numbers:
        return Text()
    table = Table("column", title=None, box=None, pad_edge=False)
    for name in numbers:
        table.add_column(name, justify="right")
    for j, column in enumerate(names[:_SHOWN_COLUMNS]):
        table.add_row(Text(column), *(f"{values[j]:.4g}" for values in numbers.values()))
    if len(names) > _SHOWN_COLUMNS:
        table.add_row(Text(f"and {len(names) - _SHOWN_COLUMNS} more (--json shows all)"))
    return table


def _lines(plain: dict[str, Any]) -> list[str]:
    verdict = "private" if plain["private"] else f"NOT PRIVATE: {'; '.join(plain['not_private_because'])}"
    n_hat = plain["n_samples"]
    units = "" if n_hat is None else f", about {n_hat:.0f} units"
    so_far, total = (_epsilon_text(plain[name]["epsilon"]) for name in ("spent", "budget"))
    return [
        f"{plain['n_components']} components of {plain['n_features']} columns{units}, by {plain['algorithm']}",
        *(f"{what}: {how}" for what, how in Layout.of(encode=plain["encode"], fill=plain["fill"]).declared()),
        f"{verdict}; the fit cost epsilon = {plain['epsilon']:g}, delta = {plain['delta']:g}, {plain['relation']}",
        *([] if plain["unit"] is None else [f"one unit: {plain['unit']}"]),
        f"ledger: {plain['spent']['entries']} entries, {so_far} of {total} spent, at the same delta",
        *([] if plain["components_for"] is None else [plain["components_for"]["text"]]),
    ]


def _epsilon_text(epsilon: float | None) -> str:
    return "no finite epsilon" if epsilon is None else f"epsilon = {epsilon:.4g}"
