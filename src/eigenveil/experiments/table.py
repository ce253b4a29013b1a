"""Tables of figures: one row per point of a curve, as CSV that starts with its command."""

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
    """Point of a curve: its position, its number of trials, and statistics of zeta over the trials.

    `sd` is the standard deviation over trials; `low` and `high` are the ends of a 95 % interval (Student) for the
    mean. All three are nan if there are too few trials, and for bounds.
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
    """Rows of a figure, and the command that created them."""

    figure: str
    command: str
    rows: tuple[Row, ...]

    @property
    def quick(self) -> bool:
        """Whether the table is from a quick run, which does not use the paper's sizes."""
        return "--quick" in self.command.split()

    def curve(self, method: str, panel: float | None = None) -> dict[float, Row]:
        """Return the rows of a method, by x."""
        return {row.x: row for row in self.rows if row.method == method and row.panel == panel}

    def panels(self) -> tuple[float | None, ...]:
        """Return the panels, in order."""
        return tuple(dict.fromkeys(row.panel for row in self.rows))


def summary(panel: float | None, x: float, method: str, values: list[float]) -> Row:
    """Summarise the trials of a point as a row.

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
    """Write the table as CSV: comments with its description and command, then the rows."""
    setting = figure.base
    terms = f"epsilon = {setting.epsilon:g}, delta = {setting.delta:g}, relation: {RELATION.value} for all methods"
    text = io.StringIO()
    for line in (
        f"made by: {table.command}",
        f"{figure.title}; paper: {figure.where}",
        f"according to the paper: {figure.says}",
        f"our choices: {figure.choice}",
        f"zeta = sqrt(1 - captured energy / best energy) with the true covariance; {terms}",
        "all fits are seeded, which is for experiments only: the guarantee is that of an unseeded run",
        "sd: standard deviation over trials; ci95: Student interval of the mean; bounds have no trials",
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
    """Read a table written by `write_table`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    if not comments or not comments[0].startswith("# made by: "):
        raise InvalidInputError(
            f"expected a table from `eigenveil reproduce` in {path}, got another file.",
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
        for one in csv.DictReader(lines[len(comments) :])
    )
    return Table(figure.name, comments[0].removeprefix("# made by: "), rows)


def guarantee(method: str, figure: Figure) -> str:
    """Return the guarantee that the method would have without a seed."""
    one = METHODS[method]
    if one.private:
        return f"epsilon={figure.base.epsilon:g} delta={figure.base.delta:g}"
    return "none" if one.fit is not None else "bound"


def _written(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
