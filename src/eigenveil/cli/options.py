"""Options of ``eigenveil fit``, named like the parameters of `DPPCA`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_DATA, _PRIVACY, _METHOD, _RESULTS = (
    {"rich_help_panel": panel} for panel in ("Data", "Privacy", "Method", "Output")
)


class AlgorithmName(StrEnum):
    """Names of all algorithms in `algorithms.registry`, repeated here because that module is slow to import."""

    TRACKED = "tracked"
    K_DP_PCA = "k-dp-pca"
    K_DP_OJAS = "k-dp-ojas"
    DP_GAUSS_1 = "dp-gauss-1"
    DP_GAUSS_2 = "dp-gauss-2"
    DP_POWER = "dp-power"


class Neighbours(StrEnum):
    """Neighbouring relation: how two neighbouring datasets differ."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class EngineName(StrEnum):
    """Engine that reads the data and computes the sums."""

    AUTO = "auto"
    DASK = "dask"


Data = Annotated[list[str], typer.Argument(help="Parquet, Feather, CSV, .npy or .npz: files, globs or folders.")]

Units = Annotated[
    str | None,
    typer.Option(help="Column of person ids. All rows of a person are then one unit.", **_DATA),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="Comma-separated names or globs such as 'x*' (for arrays: positions). Default: all columns.", **_DATA
    ),
]
Encode = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=...",
        help="Encoding of a column that is not numeric: a public list of values, as in site=north,south, or for "
        "dates a public origin, as in 'visit=days since 2020-01-01'. May be repeated.",
        **_DATA,
    ),
]
Fill = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COLUMN=]NUMBER",
        help="Public number that replaces missing values: 0 for all columns, or bmi=25 for some (globs allowed). "
        "By default, rows with a missing value are excluded.",
        **_DATA,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="CSV files: whether the first line contains column names. By default it must, and lines that look "
        "like data are rejected.",
        show_default=False,
        **_DATA,
    ),
]

Epsilon = Annotated[float, typer.Option(help="Privacy budget of the fit.", **_PRIVACY)]
Delta = Annotated[float, typer.Option(help="Privacy parameter, well below 1 / (number of units).", **_PRIVACY)]
RelationOption = Annotated[
    Neighbours,
    typer.Option(
        help="Neighbouring relation. 'replace' treats the number of rows as public, and adds more noise.",
        **_PRIVACY,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(help="JSON file that adds up the spending of several fits. Created if missing.", **_PRIVACY),
]
CapEpsilon = Annotated[
    float | None,
    typer.Option(
        help="Privacy budget of all fits on a new ledger file together. Default: the cost of this run.", **_PRIVACY
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Seed for reproducible noise, for tests and teaching: NOT PRIVATE. With --ledger, only for new files "
        "or files started with a seed.",
        **_PRIVACY,
    ),
]
ScoreMap = Annotated[
    float | None,
    typer.Option(
        metavar="EPSILON",
        help="Buy a noisy histogram of the scores on components 1 and 2, at this epsilon in addition to the fit.",
        **_PRIVACY,
    ),
]

Components = Annotated[int, typer.Option("-k", "--components", min=1, help="Number of components.", **_METHOD)]
AlgorithmOption = Annotated[AlgorithmName, typer.Option(help="Algorithm that computes components.", **_METHOD)]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        help="Where to compute: threads of this machine (auto), or workers of a Dask cluster (dask).", **_METHOD
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of the Dask scheduler, such as tcp://scheduler:8786. The workers read the files.",
        **_METHOD,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory for rows of files, such as 500MB or 2GB; more rows go to disk (TMPDIR). Default: a quarter "
        "of the available memory. Sorting people takes at least 256 MB, or 2.5 MB per column.",
        show_default=False,
        **_METHOD,
    ),
]
Center = Annotated[bool, typer.Option(help="Buy a private mean and subtract it from the rows.", **_METHOD)]
Scale = Annotated[
    list[str],
    typer.Option(
        help="Scale to divide columns by: none, private (bought), or one public number per column: 1,2.5,... For "
        "some columns only: 'lab_*=private' or age=10 (repeat the option).",
        **_METHOD,
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        help="Public bounds: 0,255 for all columns, or age=0,110 for some (repeat the option). They reduce the "
        "noise of the mean and of private scales.",
        **_METHOD,
    ),
]

Out = Annotated[Path | None, typer.Option(help="Folder to save the model to.", **_RESULTS)]
ReportFile = Annotated[Path | None, typer.Option(help="HTML report to write.", **_RESULTS)]
Grid = Annotated[
    str | None,
    typer.Option(
        metavar="ROWSxCOLUMNS",
        help="Shape of an image, such as 8x8, if the columns are its pixels, row by row. The report then shows "
        "loadings as images.",
        **_RESULTS,
    ),
]
ScoreGroups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=A,B,...",
        help="One score map per group, for the same budget. The list of groups must be public; rows of other "
        "groups are excluded.",
        **_RESULTS,
    ),
]
ScoreBins = Annotated[
    int,
    typer.Option(
        min=1, max=256, help="Bins of the score map along each axis. Fewer bins mean less noise.", **_RESULTS
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything released as JSON.", **_RESULTS)]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan-only",
        help="Only show what would be done. Reads column names and types, and no values (for CSV: only the head).",
        **_RESULTS,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing model or report.", **_RESULTS)]
