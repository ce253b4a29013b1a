"""What ``fit --plan-only`` says: from options and schema, before any value is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from eigenveil.cli.ledger_file import Asked, refuse_overspending
from eigenveil.cli.score_map import WantedMap
from eigenveil.cli.speaking import put_json
from eigenveil.estimators.request import FitRequest
from eigenveil.privacy import Ledger
from eigenveil.sources import Layout

_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What is to be done, before any value is read."""

    request: FitRequest
    asked: Asked
    wanted: WantedMap | None
    units: str | None


def show_plan(plan: Planned, ledger: Ledger | None, *, as_json: bool) -> None:
    """Print the plan to stdout; refuse what the ledger would refuse."""
    plain = as_plain_plan(plan, ledger)
    if as_json:
        put_json(plain)
    else:
        Console(highlight=False).print(_as_table(plain))
    if ledger is not None:
        refuse_overspending(plan.asked, ledger)


def as_plain_plan(plan: Planned, ledger: Ledger | None) -> dict[str, Any]:
    """The plan as plain values."""
    settings, units, wanted, fit = plan.request.settings, plan.units, plan.wanted, plan.request.plan()
    groups = None if wanted is None or wanted.groups is None else list(wanted.groups.labels)
    account = None
    if ledger is not None:
        account = {
            "cap_epsilon": _finite(ledger.budget.epsilon(settings.delta)),
            "spent_epsilon": _finite(ledger.epsilon(settings.delta)),
            "fits": plan.asked.fits(ledger),
        }
    return {
        "columns": None if fit.columns is None else list(fit.columns),
        "n_columns": fit.d,
        "encode": fit.layout.plain["encode"],
        "fill": fit.layout.plain["fill"],
        "n_components": fit.k,
        "unit": "row" if units is None else f"all rows with one {units}",
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "mu": fit.budget.mu,
        "score_map_epsilon": None if wanted is None else wanted.epsilon,
        "score_groups": groups,
        "relation": settings.relation.value,
        "algorithm": settings.algorithm.name,
        "center": fit.buys_mean,
        "scale": _scales(plan.request),
        "private": settings.random_state is None,
        "ledger": account,
    }


def _as_table(plan: dict[str, Any]) -> Table:
    table = Table("what", "value", show_header=False, box=None, pad_edge=False)
    names = plan["columns"]
    shown = {
        "components": f"{plan['n_components']} of {plan['n_columns']} columns",
        "columns": "without names" if names is None else _some(names),
        **dict(Layout.of(encode=plan["encode"], fill=plan["fill"]).declared()),
        "one unit": plan["unit"],
        "cost": f"epsilon = {plan['epsilon']:g}, delta = {plan['delta']:g} (mu = {plan['mu']:.4g})",
        "relation": plan["relation"],
        "algorithm": plan["algorithm"],
        "mean": "bought" if plan["center"] else "not taken off",
        "scales": {None: "none", "private": "bought"}.get(plan["scale"], plan["scale"]),
        "private": "yes" if plan["private"] else "NO: seeded",
    }
    if plan["score_map_epsilon"] is not None:
        each = "" if plan["score_groups"] is None else f", for each of {_some(plan['score_groups'])}"
        shown["map of scores"] = f"bought on top, epsilon = {plan['score_map_epsilon']:g}{each}"
    if plan["ledger"] is not None:
        account = plan["ledger"]
        fits = "fits" if account["fits"] else "does NOT fit"
        spent = f"epsilon = {_number(account['spent_epsilon'])} of {_number(account['cap_epsilon'])} spent"
        shown["ledger"] = f"{spent}; this fit {fits}"
    for name, value in shown.items():
        table.add_row(name, str(value))
    return table


def _scales(request: FitRequest) -> str | None:
    """What columns are divided by, in words."""
    standard = request.standard
    bought = "private" if standard.private.size in (0, request.operator.d) else "private for some columns"
    told = [bought] if standard.buy_scale else []
    return ", ".join([*told, *(["declared public"] if standard.scale is not None else [])]) or None


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None


def _number(epsilon: float | None) -> str:
    return "not finite at this delta" if epsilon is None else f"{epsilon:.4g}"


def _some(names: list[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
