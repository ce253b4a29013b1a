"""Options of ``eigenveil fit``: private principal components of the rows, or people, in files."""

from __future__ import annotations

from eigenveil.cli import options as o
from eigenveil.cli.console import runs_work_module

EXAMPLES = "\n\n".join(  # noqa: FLY002  # one example per line
    [
        "Examples:",
        "eigenveil fit people.parquet -k 5 --epsilon 1 --out model/ --report report.html",
        "eigenveil fit 'visits/*.csv' -k 3 --units person_id --columns 'age,income,x*' --scale private --out m/",
        "eigenveil fit visits.csv -k 3 --units person_id --encode site=north,south --fill bmi=25 --out m/",
        "eigenveil fit data/ -k 2 --ledger budget.json --cap-epsilon 3 --json > model.json",
        "eigenveil fit people.parquet -k 2 --score-map 0.5 --report report.html",
        "eigenveil fit people.parquet -k 5 --plan-only",
    ]
)


@runs_work_module
def command(
    data: o.Data,
    *,
    units: o.Units = None,
    columns: o.Columns = None,
    encode: o.Encode = None,
    fill: o.Fill = None,
    header: o.Header = None,
    epsilon: o.Epsilon = 1.0,
    delta: o.Delta = 1e-6,
    relation: o.RelationOption = o.Neighbours.ADD_REMOVE,
    ledger: o.LedgerFile = None,
    cap_epsilon: o.CapEpsilon = None,
    seed: o.Seed = None,
    score_map: o.ScoreMap = None,
    components: o.Components = 2,
    algorithm: o.AlgorithmOption = o.AlgorithmName.TRACKED,
    center: o.Center = True,
    scale: o.Scale = ["none"],  # noqa: B006
    bounds: o.Bounds = None,
    engine: o.EngineOption = o.EngineName.AUTO,
    scheduler: o.Scheduler = None,
    memory: o.Memory = None,
    out: o.Out = None,
    report: o.ReportFile = None,
    grid: o.Grid = None,
    score_bins: o.ScoreBins = 16,
    score_groups: o.ScoreGroups = None,
    as_json: o.Json = False,
    plan_only: o.PlanOnly = False,
    force: o.Force = False,
) -> None:
    """Compute differentially private principal components of the rows, or people, in files.

    One unit is a row, or a person with all their rows (--units). The fit is (epsilon, delta)-differentially
    private with respect to every unit. Each further fit on the same people spends more budget. --ledger adds up
    the spending of several fits, and refuses a fit that exceeds the budget before any noise is drawn. --score-map
    buys, in addition, a noisy two-dimensional histogram of the scores for the report.
    """
