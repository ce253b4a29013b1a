"""Implementation of ``eigenveil fit``: private principal components of the rows, or people, in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import typer

from eigenveil._printable import printable
from eigenveil.cli import options as o
from eigenveil.cli.arguments import (
    as_bounds,
    as_columns,
    as_data,
    as_encode,
    as_engine,
    as_fill,
    as_grid,
    as_groups,
    as_scale,
)
from eigenveil.cli.console import NOT_PRIVATE, collected_warnings, say, stderr_console, usage_errors, warn
from eigenveil.cli.plan_only import PlannedFit, before_spending, show_plan
from eigenveil.cli.score_map import NO_MAP, buy_score_map, check_groups, request_score_map, score_map_data
from eigenveil.cli.shown_command import shown_command
from eigenveil.cli.targets import Targets
from eigenveil.engines import LocalEngine
from eigenveil.errors import BudgetExceededError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.progress import Watch
from eigenveil.estimators.request import FitRequest
from eigenveil.estimators.settings import read_settings
from eigenveil.operators import PeopleOperator, RowsOperator, made_of_rows
from eigenveil.persistence.ledger_file import Account, RequestedBudget, ledger_before_fit, open_ledger
from eigenveil.privacy import Budget, Ledger


def run(
    data: o.Data,
    *,
    units: o.Units,
    columns: o.Columns,
    encode: o.Encode,
    fill: o.Fill,
    header: o.Header,
    epsilon: o.Epsilon,
    delta: o.Delta,
    relation: o.RelationOption,
    ledger: o.LedgerFile,
    cap_epsilon: o.CapEpsilon,
    seed: o.Seed,
    score_map: o.ScoreMap,
    components: o.Components,
    algorithm: o.AlgorithmOption,
    center: o.Center,
    scale: o.Scale,
    bounds: o.Bounds,
    engine: o.EngineOption,
    scheduler: o.Scheduler,
    memory: o.Memory,
    out: o.Out,
    report: o.ReportFile,
    grid: o.Grid,
    score_bins: o.ScoreBins,
    score_groups: o.ScoreGroups,
    as_json: o.Json,
    plan_only: o.PlanOnly,
    force: o.Force,
) -> None:
    """Run ``eigenveil fit``."""
    command = shown_command(locals())
    watch = Watch()
    with usage_errors():
        files = as_data(data, header=header)
        chosen = as_columns(columns, files)
        targets = Targets(out=out, report=report, grid=as_grid(grid), as_json=as_json)
        where = as_engine(engine.value, scheduler, memory)
        model = DPPCA(
            components,
            columns=chosen,
            encode=as_encode(encode),
            fill=as_fill(fill),
            epsilon=epsilon,
            delta=delta,
            algorithm=algorithm.value,
            relation=relation.value,
            center=center,
            scale=as_scale(scale, data[0]),
            bounds=as_bounds(bounds, data[0]),
            engine=where,
            random_state=seed,
            callback=watch,
        )
        settings = read_settings(model)
        map_request = request_score_map(model, score_map, bins=score_bins, groups=as_groups(score_groups))
        map_budget = None if map_request is None else map_request.budget
        requested = RequestedBudget(fit=settings.budget, score_map=map_budget)
        account = _account(model, requested, ledger, cap_epsilon)
    if seed is not None:
        warn(f"{NOT_PRIVATE}: with --seed the noise is reproducible, so no guarantee holds.")
    current = None if account is None else _current_ledger(account)
    with usage_errors(), collected_warnings():
        request = FitRequest.of(model, files, units, settings=settings)
        operator = request.operator
        assert made_of_rows(operator), "files contain rows"
        targets.check_grid(operator.d)
        if map_request is not None and map_request.groups is not None:
            check_groups(map_request.groups, files, operator, units)
    if plan_only:
        show_plan(
            PlannedFit(request=request, requested=requested, map_request=map_request), current, as_json=as_json
        )
        return
    targets.check(ledger=ledger, force=force)
    say("\n".join(before_spending(request)))
    if isinstance(where, LocalEngine):  # the workers of a cluster read the files themselves
        kept = where.keeping(operator)
        assert made_of_rows(kept), "as before"
        _check_readable(kept)
        request = request.of_rows(kept)
    request = request.counted_by(watch)
    watch.expect(request.plan().most_passes, more=map_request is not None)
    own = nullcontext(None if map_request is None else Ledger(requested.whole, relation=model.relation))
    charging = own if account is None else open_ledger(account)
    scores = None
    on_failure = _report_spending_on_failure(watch, account)
    with charging as charged, collected_warnings() as messages, on_failure, watch.shown():
        model.set_params(ledger=charged).run_request(request.charging(charged))
        if map_request is not None:
            map_data = score_map_data(map_request, files, request.operator, units)
            scores = buy_score_map(model, map_request, map_data, model.ledger_, watch)
    ours = {NO_MAP, *(one.text for one in model.warnings_)}  # a warning of another library may quote the data
    try:
        targets.write(model, scores, command=command, warnings=[text for text in messages if text in ours])
    except BaseException:
        say("The fit is complete, but not all of its results were written. Count its budget as spent.")
        raise


def _account(
    model: DPPCA, requested: RequestedBudget, path: Path | None, cap_epsilon: float | None
) -> Account | None:
    """Return the ledger file with its settings, or None without --ledger."""
    if path is None and cap_epsilon is not None:
        raise typer.BadParameter("--cap-epsilon sets the cap of a ledger file: give --ledger too.")
    if path is None:
        return None
    cap = None if cap_epsilon is None else (cap_epsilon, model.delta)
    if cap is not None:
        Budget.from_epsilon_delta(*cap)
    seeded = model.random_state is not None
    return Account(path=path, requested=requested, cap=cap, relation=model.relation, seeded=seeded)


def _current_ledger(account: Account) -> Ledger:
    """Return the ledger as it is now. Errors and warnings about it come before the data are opened."""
    with usage_errors():
        ledger = ledger_before_fit(account)
    if not account.seeded and not ledger.private:
        reasons = "; ".join(ledger.reasons)
        warn(
            f"{NOT_PRIVATE}: {str(account.path)!r} is not private ({reasons}), so the model is not private either."
        )
    return ledger


def _check_readable(operator: RowsOperator | PeopleOperator) -> None:
    """Read a first block, so that an unreadable file raises before any budget is spent.

    With people as units this groups the rows by person, once, which may take a while.
    """
    with stderr_console().status("opening the data") if stderr_console().is_terminal else nullcontext():
        next(iter(operator.source.blocks()), None)


@contextmanager
def _report_spending_on_failure(watch: Watch, account: Account | None) -> Iterator[None]:
    """If the fit fails or is interrupted, report the budget it has spent."""
    try:
        yield
    except BudgetExceededError:
        raise
    except BaseException:
        if watch.last is not None:
            where = "" if account is None else f" and recorded in {printable(str(account.path))}"
            say(
                f"No model was written. {watch.last.step} releases were charged{where}: {watch.last.share:.0%} of "
                "the budget of this fit. Count this budget as spent."
            )
        raise
