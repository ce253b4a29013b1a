"""Output of ``fit --plan-only``. Computed from options and schema alone; no value is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eigenveil._printable import printable
from eigenveil.algorithms.open_units import unit_of
from eigenveil.cli.console import print_json
from eigenveil.cli.score_map import ScoreMapRequest
from eigenveil.estimators.request import FitRequest
from eigenveil.persistence.ledger_file import RequestedBudget, refuse_overspending
from eigenveil.planner import outlook
from eigenveil.privacy import Ledger
from eigenveil.sources import Layout

_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class PlannedFit:
    """A fit that has been checked but not run."""

    request: FitRequest
    requested: RequestedBudget
    map_request: ScoreMapRequest | None


def show_plan(plan: PlannedFit, ledger: Ledger | None, *, as_json: bool) -> None:
    """Print the plan to stdout. Raise if the ledger would refuse the fit."""
    plain = plan_as_dict(plan, ledger)
    if as_json:
        print_json(plain)
    else:
        Console(highlight=False).print(_as_table(plain))
    if ledger is not None:
        ledger.check_unit(unit_of(plan.request.operator))
        refuse_overspending(plan.requested, ledger)


def plan_as_dict(plan: PlannedFit, ledger: Ledger | None) -> dict[str, Any]:
    """Return the plan as values for JSON."""
    settings, map_request, fit = plan.request.settings, plan.map_request, plan.request.plan()
    groups = None if map_request is None or map_request.groups is None else list(map_request.groups.labels)
    account = None
    if ledger is not None:
        account = {
            "cap_epsilon": _finite(ledger.budget.epsilon(settings.delta)),
            "spent_epsilon": _finite(ledger.epsilon(settings.delta)),
            "fits": plan.requested.fits(ledger),
        }
    return {
        "columns": None if fit.columns is None else list(fit.columns),
        "n_columns": fit.d,
        "encode": fit.layout.plain["encode"],
        "fill": fit.layout.plain["fill"],
        "n_components": fit.k,
        "unit": str(unit_of(plan.request.operator)),
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "mu": fit.budget.mu,
        "score_map_epsilon": None if map_request is None else map_request.epsilon,
        "score_groups": groups,
        "relation": settings.relation.value,
        "algorithm": settings.algorithm.name,
        "center": fit.buys_mean,
        "scale": _scales(plan.request),
        "private": settings.random_state is None,
        "ledger": account,
        "before_spending": before_spending(plan.request),
    }


def before_spending(request: FitRequest) -> list[str]:
    """Return what to consider before the fit, and what to expect of it, as sentences."""
    settings, fit = request.settings, request.plan()
    if settings.algorithm.name != "tracked":
        return list(fit.hints)
    scale = "private" if fit.buys_scale else None
    budget = {"epsilon": settings.epsilon, "delta": settings.delta}
    return [*fit.hints, outlook(fit.d, fit.k, center=fit.buys_mean, scale=scale, **budget)]


def _as_table(plan: dict[str, Any]) -> Table:
    table = Table("what", "value", show_header=False, box=None, pad_edge=False)
    names = plan["columns"]
    shown = {
        "components": f"{plan['n_components']} of {plan['n_columns']} columns",
        "columns": "without names" if names is None else _shortened(names),
        **dict(Layout.of(encode=plan["encode"], fill=plan["fill"]).declared()),
        "one unit": plan["unit"],
        "cost": f"epsilon = {plan['epsilon']:g}, delta = {plan['delta']:g} (mu = {plan['mu']:.4g})",
        "relation": plan["relation"],
        "algorithm": plan["algorithm"],
        "mean": "bought" if plan["center"] else "not subtracted",
        "scales": {None: "none", "private": "bought"}.get(plan["scale"], plan["scale"]),
        "private": "yes" if plan["private"] else "NO: seeded",
    }
    if plan["score_map_epsilon"] is not None:
        each = "" if plan["score_groups"] is None else f", for each of {_shortened(plan['score_groups'])}"
        shown["map of scores"] = f"bought in addition, epsilon = {plan['score_map_epsilon']:g}{each}"
    if plan["ledger"] is not None:
        account = plan["ledger"]
        fits = "fits" if account["fits"] else "does NOT fit"
        spent = f"epsilon = {_number(account['spent_epsilon'])} of {_number(account['cap_epsilon'])} spent"
        shown["ledger"] = f"{spent}; this fit {fits}"
    for name, value in shown.items():
        table.add_row(name, Text(printable(str(value))))
    for place, sentence in enumerate(plan["before_spending"]):
        table.add_row("" if place else "before spending", Text(printable(sentence)))
    return table


def _scales(request: FitRequest) -> str | None:
    """Return a description of what columns are divided by, or None."""
    standard = request.standard
    bought = "private" if standard.private.size == request.operator.d else "private for some columns"
    kinds = [bought] if standard.private.size else []
    return ", ".join([*kinds, *(["declared public"] if standard.scale is not None else [])]) or None


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None


def _number(epsilon: float | None) -> str:
    return "not finite at this delta" if epsilon is None else f"{epsilon:.4g}"


def _shortened(names: list[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
