"""The options of ``eigenveil fit``, by the names that the parameters of `DPPCA` have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_DATA, _PRIVACY, _METHOD, _RESULTS = (
    {"rich_help_panel": panel}
    for panel in ("Which data", "What it may cost", "How it is done", "Where results go")
)


class Algorithm(StrEnum):
    """How directions are found: all that `subspace.registry` lists, which takes its time to import."""

    TRACKED = "tracked"
    K_DP_PCA = "k-dp-pca"
    K_DP_OJAS = "k-dp-ojas"
    DP_GAUSS_1 = "dp-gauss-1"
    DP_GAUSS_2 = "dp-gauss-2"
    DP_POWER = "dp-power"


class Neighbours(StrEnum):
    """What may differ between two data sets that must look alike."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class EngineName(StrEnum):
    """Who does the sums."""

    AUTO = "auto"
    DASK = "dask"


Data = Annotated[list[str], typer.Argument(help="Parquet, Feather, CSV, .npy or .npz: files, globs or folders.")]
Units = Annotated[
    str | None,
    typer.Option(help="Column that says whose row it is; all rows of a person are then one unit.", **_DATA),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="Names, or globs such as 'x*', with commas between (for arrays: numbers). All by default.", **_DATA
    ),
]
Encode = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=...",
        help="How to read a column that holds no numbers: by a public list of values, as site=north,south, or for "
        "dates by a public origin, as 'visit=days since 2020-01-01'. May be given for several.",
        **_DATA,
    ),
]
Fill = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COLUMN=]NUMBER",
        help="A public number for missing values: 0 for all columns, or bmi=25 (globs too) for some. By default a "
        "row with a missing value is left out.",
        **_DATA,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="CSV files: whether the first line holds names. By default it must, and must not look like data.",
        show_default=False,
        **_DATA,
    ),
]

Epsilon = Annotated[float, typer.Option(help="What the fit may cost every unit.", **_PRIVACY)]
Delta = Annotated[float, typer.Option(help="Well below 1 over the number of units.", **_PRIVACY)]
RelationOption = Annotated[
    Neighbours,
    typer.Option(help="'replace' takes the number of rows as public, and costs more noise.", **_PRIVACY),
]
LedgerFile = Annotated[
    Path | None, typer.Option(help="JSON file that adds up what several fits cost; made if missing.", **_PRIVACY)
]
CapEpsilon = Annotated[
    float | None,
    typer.Option(
        help="What all fits on a new ledger file may cost together. By default what this one costs.", **_PRIVACY
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Noise that can be repeated, for tests and teaching: NOT PRIVATE. With --ledger: new files only, or "
        "those begun with a seed.",
        **_PRIVACY,
    ),
]
ScoreMap = Annotated[
    float | None,
    typer.Option(
        metavar="EPSILON",
        help="Buy a noisy map of where units lie along components 1 and 2, at this epsilon on top of the fit.",
        **_PRIVACY,
    ),
]

Components = Annotated[int, typer.Option("-k", "--components", min=1, help="How many directions.", **_METHOD)]
AlgorithmOption = Annotated[Algorithm, typer.Option(help="How directions are found.", **_METHOD)]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        help="Who does the sums: the threads of this machine, or the workers of a Dask cluster.", **_METHOD
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of the cluster's scheduler, such as tcp://scheduler:8786; the workers read the files.",
        **_METHOD,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="How much memory rows of files may take, such as 500MB or 2GB; what is more goes to disk (TMPDIR). "
        "A quarter of what is available by default. People are sorted in 256 MB at least, or 2.5 MB per column.",
        show_default=False,
        **_METHOD,
    ),
]
Center = Annotated[bool, typer.Option(help="Buy a private mean and take it off.", **_METHOD)]
Scale = Annotated[
    list[str],
    typer.Option(
        help="What columns are divided by: none, private (bought), or public numbers: 1,2.5,...; or for some "
        "columns by name: 'lab_*=private', age=10 (once for each).",
        **_METHOD,
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        help="Public bounds: 0,255 for all columns, or age=0,110 for some (once for each). A mean and private "
        "scales then cost less noise.",
        **_METHOD,
    ),
]

Out = Annotated[Path | None, typer.Option(help="Folder for the model.", **_RESULTS)]
ReportFile = Annotated[Path | None, typer.Option(help="HTML file that shows it.", **_RESULTS)]
ScoreGroups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=A,B,...",
        help="A map for each of these groups, for the same price. Their list must be public; other rows are left "
        "out.",
        **_RESULTS,
    ),
]
ScoreBins = Annotated[
    int, typer.Option(min=1, max=256, help="Cells of the map along each axis; fewer show more.", **_RESULTS)
]
Json = Annotated[bool, typer.Option("--json", help="Print everything released as JSON.", **_RESULTS)]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan-only",
        help="Only say what would be done. Reads names and types of columns, no values (of CSV files the head).",
        **_RESULTS,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a model or report that is there.", **_RESULTS)]
