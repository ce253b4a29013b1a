"""The numbers of a figure: one row per point of a curve, as CSV with its command on top."""

from __future__ import annotations

import csv
import io
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from scipy.special import stdtrit

from eigenveil.errors import InvalidInputError
from eigenveil.experiments.figure import Figure
from eigenveil.experiments.fits import RELATION
from eigenveil.experiments.methods import METHODS

COLUMNS = ("method", "guarantee", "trials", "mean", "sd", "ci95_low", "ci95_high", "median")


@dataclass(frozen=True)
class Row:
    """A point: its place, how many trials it rests on, and what came of them.

    `sd` is that of a trial; `low` and `high` are the ends of a 95 % interval (Student) for the mean. All three are
    nan where there are too few trials, and for bounds.
    """

    panel: float | None
    x: float
    method: str
    trials: int
    mean: float
    sd: float = math.nan
    low: float = math.nan
    high: float = math.nan
    median: float = math.nan


@dataclass(frozen=True)
class Table:
    """A figure's rows, and the command that made them."""

    figure: str
    command: str
    rows: tuple[Row, ...]

    @property
    def quick(self) -> bool:
        """Whether a quick run made it, whose sizes are not the paper's."""
        return "--quick" in self.command.split()

    def curve(self, method: str, panel: float | None = None) -> dict[float, Row]:
        """The rows of a method by x."""
        return {row.x: row for row in self.rows if row.method == method and row.panel == panel}

    def panels(self) -> tuple[float | None, ...]:
        """The panels, in order."""
        return tuple(dict.fromkeys(row.panel for row in self.rows))


def summary(panel: float | None, x: float, method: str, values: list[float]) -> Row:
    """The row of a point.

    Examples
    --------
    >>> row = summary(None, 1.0, "plain", [1.0, 2.0, 3.0])
    >>> row.mean, row.sd, round(row.low, 2), round(row.high, 2)
    (2.0, 1.0, -0.48, 4.48)
    """
    mean = statistics.fmean(values)
    if METHODS[method].fit is None:
        return Row(panel, x, method, 0, mean)
    median = statistics.median(values)
    if len(values) == 1:
        return Row(panel, x, method, 1, mean, median=median)
    sd = statistics.stdev(values)
    half = float(stdtrit(len(values) - 1, 0.975)) * sd / math.sqrt(len(values))
    return Row(panel, x, method, len(values), mean, sd, mean - half, mean + half, median)


def write_table(table: Table, figure: Figure, path: Path) -> None:
    """Write CSV: comments that say what this is and how it was made, then the rows."""
    setting = figure.base
    terms = f"epsilon = {setting.epsilon:g}, delta = {setting.delta:g}, relation: {RELATION.value} for all methods"
    text = io.StringIO()
    for line in (
        f"made by: {table.command}",
        f"{figure.title}; paper: {figure.where}",
        f"what the paper says: {figure.says}",
        f"what is chosen here: {figure.choice}",
        f"zeta = sqrt(1 - energy kept / best) with the true covariance; {terms}",
        "all fits are seeded, which is for experiments only: the guarantee is that of an unseeded run",
        "sd: of a trial; ci95: of the mean, Student; bounds have no trials",
    ):
        text.write(f"# {line}\n")
    writer = csv.writer(text, lineterminator="\n")
    place = (figure.axis,) if figure.panel is None else (figure.panel, figure.axis)
    writer.writerow([*place, *COLUMNS])
    for row in table.rows:
        where = [row.x] if figure.panel is None else [row.panel, row.x]
        numbers = [_written(value) for value in (row.mean, row.sd, row.low, row.high, row.median)]
        writer.writerow([*where, row.method, guarantee(row.method, figure), row.trials, *numbers])
    path.write_text(text.getvalue(), encoding="utf-8")


def read_table(figure: Figure, path: Path) -> Table:
    """Read what `write_table` wrote."""
    lines = path.read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line.startswith("#")]
    if not said or not said[0].startswith("# made by: "):
        raise InvalidInputError(
            f"expected a table made by `eigenveil reproduce` in {path}, got another file.",
            hint=f"Run: eigenveil reproduce {figure.name}",
        )
    rows = tuple(
        Row(
            None if figure.panel is None else float(one[figure.panel]),
            float(one[figure.axis]),
            one["method"],
            int(one["trials"]),
            *(float(one[name] or "nan") for name in ("mean", "sd", "ci95_low", "ci95_high", "median")),
        )
        for one in csv.DictReader(lines[len(said) :])
    )
    return Table(figure.name, said[0].removeprefix("# made by: "), rows)


def guarantee(method: str, figure: Figure) -> str:
    """What the curve would be worth if it were not seeded."""
    one = METHODS[method]
    if one.private:
        return f"epsilon={figure.base.epsilon:g} delta={figure.base.delta:g}"
    return "none" if one.fit is not None else "bound"


def _written(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
