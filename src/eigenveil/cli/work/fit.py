"""``eigenveil fit``: private components of the rows, or people, in files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import typer

from eigenveil.cli import options as o
from eigenveil.cli.choosing import (
    as_bounds,
    as_columns,
    as_data,
    as_encode,
    as_engine,
    as_fill,
    as_groups,
    as_scale,
)
from eigenveil.cli.ledger_file import Account, Asked, open_ledger, planned_ledger
from eigenveil.cli.planned import Planned, show_plan
from eigenveil.cli.progress import Watch, counted
from eigenveil.cli.score_map import buy_map, check_groups, rows_to_map, want_map
from eigenveil.cli.speaking import NOT_PRIVATE, heeding, say, usage, warn, words
from eigenveil.cli.targets import Targets
from eigenveil.engines import LocalEngine
from eigenveil.errors import BudgetExceededError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.request import FitRequest
from eigenveil.estimators.settings import read_settings
from eigenveil.operators import PeopleOperator, RowsOperator, made_of_rows
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
    score_bins: o.ScoreBins,
    score_groups: o.ScoreGroups,
    as_json: o.Json,
    plan_only: o.PlanOnly,
    force: o.Force,
) -> None:
    """Do it."""
    watch = Watch()
    with usage():
        files = as_data(data, header=header)
        chosen = as_columns(columns, files)
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
        wanted = want_map(model, score_map, bins=score_bins, groups=as_groups(score_groups))
        asked = Asked(fit=settings.budget, score_map=None if wanted is None else wanted.budget)
        account = _account(model, asked, ledger, cap_epsilon)
    if seed is not None:
        warn(f"{NOT_PRIVATE}: with --seed the noise can be repeated, so that no guarantee holds.")
    found = None if account is None else _found(account)
    with usage():
        request = FitRequest.of(model, files, units, settings=settings)
        operator = request.operator
        assert made_of_rows(operator), "files hold rows"
        if wanted is not None and wanted.groups is not None:
            check_groups(wanted.groups, files, operator, units)
    if plan_only:
        show_plan(Planned(request=request, asked=asked, wanted=wanted, units=units), found, as_json=as_json)
        return
    targets = Targets(out=out, report=report, as_json=as_json)
    targets.check(force=force)
    rows = operator
    if isinstance(where, LocalEngine):  # a cluster reads elsewhere, and by itself
        kept = where.keeping(operator)
        assert made_of_rows(kept), "as before"
        _try_reading(kept)
        rows = counted(kept, watch)
    watch.expect(request.plan().most_passes, more=wanted is not None)
    own = nullcontext(None if wanted is None else Ledger(asked.whole, relation=model.relation))
    charging = own if account is None else open_ledger(account)
    scores = None
    with charging as charged, heeding() as told, _owning_up(watch, account), watch.shown():
        model.set_params(ledger=charged).run_request(request.of_rows(rows).charging(charged))
        if wanted is not None:
            scores = buy_map(model, wanted, rows_to_map(wanted, files, rows, units), model.ledger_, watch)
    targets.write(model, scores, command=shlex.join(["eigenveil", *sys.argv[1:]]), warnings=told)


def _account(model: DPPCA, asked: Asked, path: Path | None, cap_epsilon: float | None) -> Account | None:
    """The ledger file that is meant, and what its cap is to be."""
    if path is None and cap_epsilon is not None:
        raise typer.BadParameter("--cap-epsilon is the cap of a ledger file: give --ledger too.")
    if path is None:
        return None
    cap = None if cap_epsilon is None else (cap_epsilon, model.delta)
    if cap is not None:
        Budget.from_epsilon_delta(*cap)
    seeded = model.random_state is not None
    return Account(path=path, asked=asked, cap=cap, relation=model.relation, seeded=seeded)


def _found(account: Account) -> Ledger:
    """The ledger as it is now; what is wrong with it is told before the data are opened."""
    ledger = planned_ledger(account)
    if not account.seeded and not ledger.private:
        warn(f"{NOT_PRIVATE}: {str(account.path)!r} says so ({'; '.join(ledger.reasons)}), so the model will too.")
    return ledger


def _try_reading(operator: RowsOperator | PeopleOperator) -> None:
    """Read a first block, so that a file that cannot be read is found out before anything is spent.

    People are brought together for it, once, which may take a while.
    """
    with words().status("opening the data") if words().is_terminal else nullcontext():
        next(iter(operator.source.blocks()), None)


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
