"""What ``fit --plan-only`` says: from options and schema, before any value is read."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from eigenveil.cli.speaking import put_json
from eigenveil.errors import BudgetExceededError
from eigenveil.estimators import DPPCA
from eigenveil.privacy import Budget, Ledger

_SHOWN = 12


def show_plan(model: DPPCA, operator: Any, units: str | None, ledger: Ledger | None, *, as_json: bool) -> None:
    """Print the plan to stdout; refuse what the ledger would refuse."""
    plan = as_plan(model, operator, units, ledger)
    if as_json:
        put_json(plan)
    else:
        Console(highlight=False).print(_as_table(plan))
    if plan["ledger"] is not None and not plan["ledger"]["fits"]:
        raise BudgetExceededError(
            "this fit does not fit what the ledger has left.", hint="Nothing was read or drawn."
        )


def as_plan(model: DPPCA, operator: Any, units: str | None, ledger: Ledger | None) -> dict[str, Any]:
    """The plan as plain values."""
    budget = Budget.from_epsilon_delta(model.epsilon, model.delta)
    names = operator.source.columns
    account = None
    if ledger is not None:
        account = {
            "cap_epsilon": ledger.budget.epsilon(model.delta),
            "spent_epsilon": ledger.epsilon(model.delta),
            "fits": budget.mu <= ledger.remaining_mu * (1 + 1e-10),
        }
    return {
        "columns": None if names is None else list(names),
        "n_columns": operator.d,
        "n_components": model.n_components,
        "unit": "row" if units is None else f"all rows with one {units}",
        "epsilon": model.epsilon,
        "delta": model.delta,
        "mu": budget.mu,
        "relation": model.relation,
        "algorithm": model.algorithm,
        "center": model.center,
        "scale": model.scale if model.scale is None or isinstance(model.scale, str) else "declared public",
        "private": model.random_state is None,
        "ledger": account,
    }


def _as_table(plan: dict[str, Any]) -> Table:
    table = Table("what", "value", show_header=False, box=None, pad_edge=False)
    names = plan["columns"]
    shown = {
        "components": f"{plan['n_components']} of {plan['n_columns']} columns",
        "columns": "without names" if names is None else _some(names),
        "one unit": plan["unit"],
        "cost": f"epsilon = {plan['epsilon']:g}, delta = {plan['delta']:g} (mu = {plan['mu']:.4g})",
        "relation": plan["relation"],
        "algorithm": plan["algorithm"],
        "mean": "bought" if plan["center"] else "not taken off",
        "scales": {None: "none", "private": "bought"}.get(plan["scale"], plan["scale"]),
        "private": "yes" if plan["private"] else "NO: seeded",
    }
    if plan["ledger"] is not None:
        account = plan["ledger"]
        fits = "fits" if account["fits"] else "does NOT fit"
        spent = f"epsilon = {account['spent_epsilon']:.4g} of {account['cap_epsilon']:.4g} spent"
        shown["ledger"] = f"{spent}; this fit {fits}"
    for name, value in shown.items():
        table.add_row(name, str(value))
    return table


def _some(names: list[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
