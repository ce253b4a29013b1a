"""``eigenveil fit``: private components of the rows, or people, in files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from eigenveil.cli import options as o
from eigenveil.cli.choosing import as_columns, as_data, as_scale
from eigenveil.cli.ledger_file import open_ledger, planned_ledger
from eigenveil.cli.planned import show_plan
from eigenveil.cli.progress import Watch, counted
from eigenveil.cli.speaking import NOT_PRIVATE, ending_well, heeding, say, usage, warn
from eigenveil.cli.targets import Targets
from eigenveil.errors import BudgetExceededError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.settings import read_settings
from eigenveil.operators import PeopleOperator, RowsOperator, samples
from eigenveil.privacy import Budget
from eigenveil.subspace.opening import check_k

EXAMPLES = "\n\n".join(  # noqa: FLY002  # one line each
    [
        "Examples:",
        "eigenveil fit people.parquet -k 5 --epsilon 1 --out model/ --report report.html",
        "eigenveil fit 'visits/*.csv' -k 3 --units person_id --columns 'age,income,x*' --scale private --out m/",
        "eigenveil fit data/ -k 2 --ledger budget.json --cap-epsilon 3 --json > model.json",
        "eigenveil fit people.parquet -k 5 --plan-only",
    ]
)


@dataclass(frozen=True, kw_only=True)
class Account:
    """The ledger file of a fit, and the cap it gets if it is new."""

    path: Path
    cap: Budget
    cap_given: bool
    relation: str


@ending_well
def command(
    data: o.Data,
    *,
    units: o.Units = None,
    columns: o.Columns = None,
    epsilon: o.Epsilon = 1.0,
    delta: o.Delta = 1e-6,
    relation: o.RelationOption = o.Neighbours.ADD_REMOVE,
    ledger: o.LedgerFile = None,
    cap_epsilon: o.CapEpsilon = None,
    seed: o.Seed = None,
    components: o.Components = 2,
    algorithm: o.AlgorithmOption = o.Algorithm.TRACKED,
    center: o.Center = True,
    scale: o.Scale = "none",
    out: o.Out = None,
    report: o.ReportFile = None,
    as_json: o.Json = False,
    plan_only: o.PlanOnly = False,
    force: o.Force = False,
) -> None:
    """Find private principal components of the rows, or people, in files.

    One unit is a row, or a person with all their rows (--units). The fit is (epsilon, delta)-differentially
    private for every unit. A second fit on the same people is a new cost; --ledger adds costs up, and refuses what
    is too much before anything is drawn.
    """
    watch = Watch()
    with usage():
        model = DPPCA(
            components,
            epsilon=epsilon,
            delta=delta,
            algorithm=algorithm.value,
            relation=relation.value,
            center=center,
            scale=as_scale(scale),
            random_state=seed,
            callback=watch,
        )
        account = _account(model, ledger, cap_epsilon)
    if seed is not None:
        warn(f"{NOT_PRIVATE}: with --seed the noise can be repeated, so that no guarantee holds.")
    operator = _open(model, as_data(data), columns, units)
    if plan_only:
        planned = None if account is None else planned_ledger(account)
        show_plan(model, operator, units, planned, as_json=as_json)
        return
    targets = Targets(out=out, report=report, as_json=as_json)
    targets.check(force=force)
    told = _fit(model, operator, account, watch)
    targets.write(model, command=shlex.join(["eigenveil", *sys.argv[1:]]), warnings=told)


def _account(model: DPPCA, path: Path | None, cap_epsilon: float | None) -> Account | None:
    """Check what can be checked without data, and say which ledger file is meant."""
    read_settings(model)
    if path is None and cap_epsilon is not None:
        raise typer.BadParameter("--cap-epsilon is the cap of a ledger file: give --ledger too.")
    cap = Budget.from_epsilon_delta(model.epsilon if cap_epsilon is None else cap_epsilon, model.delta)
    if path is None:
        return None
    return Account(path=path, cap=cap, cap_given=cap_epsilon is not None, relation=model.relation)


def _open(model: DPPCA, data: Any, columns: list[str] | None, units: str | None) -> RowsOperator | PeopleOperator:
    """The rows or people, as far as schema goes; no value is read."""
    chosen = as_columns(columns, data)
    operator = samples.rows(data, columns=chosen) if units is None else samples.people(data, units, columns=chosen)
    check_k(model.n_components, operator.d)
    read_settings(model).declared_scale(operator.d)
    return operator


def _fit(model: DPPCA, operator: Any, account: Account | None, watch: Watch) -> list[str]:
    """Fit, with progress; returns what was warned of."""
    ledger = nullcontext() if account is None else open_ledger(account)
    with ledger as charged, heeding() as told, _owning_up(watch, account):
        model.set_params(ledger=charged)
        with watch.shown():
            model.fit(counted(operator, watch))
    return told


@contextmanager
def _owning_up(watch: Watch, account: Account | None) -> Iterator[None]:
    """If the fit does not come to its end, say what it has cost all the same."""
    try:
        yield
    except BudgetExceededError:
        raise
    except BaseException:
        if watch.last is not None:
            where = "" if account is None else f", as {account.path} shows"
            say(
                f"No model was written. {watch.last.step} releases were charged, {watch.last.share:.0%} of what "
                f"this fit may cost{where}; count them as spent."
            )
        raise
