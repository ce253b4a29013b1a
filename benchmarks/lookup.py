"""Numbers of the tables in results: what benchmarks/README.md, README.md and docs quote is looked up here."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass

RESULTS = pathlib.Path(__file__).parent / "results"
WORDS = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
)


class MissingError(LookupError):
    """A page of results has not what is looked up; the message says what it has."""


@dataclass(frozen=True)
class Table:
    """A table of a page: the heading above it, its columns and its rows."""

    heading: str
    head: list[str]
    rows: list[list[str]]


def page(name: str) -> str:
    """The text of results/<name>.md."""
    file = RESULTS / f"{name}.md"
    if not file.exists():
        raise MissingError(f"results/{name}.md is not there.")
    return file.read_text("utf-8")


def tables(name: str) -> list[Table]:
    """All tables of a page."""
    found: list[Table] = []
    heading, before = "", ""
    for line in page(name).splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|---"):
            found.append(Table(heading, _cells(before), []))
        elif line.startswith("|") and before.startswith("|"):
            found[-1].rows.append(_cells(line))
        before = line
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(name: str, column: str, *, under: str = "") -> dict[tuple[str, ...], str]:
    """The cells of a column of the first table that has it, by all cells of their rows; empty ones are left out.

    Parameters
    ----------
    name, column : str
        Page and column.
    under : str, optional
        What the heading above the table contains.
    """
    for table in tables(name):
        if column in table.head and under in table.heading:
            place = table.head.index(column)
            return {tuple(row): row[place] for row in table.rows if row[place]}
    heads = "; ".join(f"{one.heading}: {', '.join(one.head)}" for one in tables(name))
    raise MissingError(f"results/{name}.md has no column {column!r} under a heading {under!r}. It has {heads}.")


def cell(name: str, row: str | tuple[str, ...], column: str, *, under: str = "") -> str:
    """One cell: of the first row that begins with these cells."""
    wanted = (row,) if isinstance(row, str) else row
    found = rows(name, column, under=under)
    for cells, value in found.items():
        if cells[: len(wanted)] == wanted:
            return value
    names = "; ".join(cells[0] for cells in found)
    raise MissingError(f"results/{name}.md has no row {wanted} with {column!r}. It has {names}.")


def numbers(name: str, column: str, only: Callable[[str], bool] = bool, *, under: str = "") -> list[float]:
    """The numbers of a column, in rows whose first cell is wanted."""
    found = [number(value) for cells, value in rows(name, column, under=under).items() if only(cells[0])]
    if not found:
        raise MissingError(f"results/{name}.md has none of the wanted rows in column {column!r}.")
    return found


def said(name: str, pattern: str, nth: int = 0) -> str:
    """What the first group of a pattern is in the text of a page, the first time or a later one."""
    found = re.findall(pattern, page(name))
    if len(found) <= nth:
        raise MissingError(f"results/{name}.md says {pattern!r} {len(found)} times, not {nth + 1}.")
    return str(found[nth])


def number(text: str) -> float:
    """The number that a cell begins with, such as 0.0189 +- 0.002, 47.2 % or +42 MB."""
    found = re.match(r"[-+]?[\d.,]+(?:e[-+]?\d+)?", text)
    if found is None:
        raise MissingError(f"{text!r} does not begin with a number.")
    return float(found[0].replace(",", ""))


# -- how numbers are written ---------------------------------------------------------------------------


def short(value: float, digits: int = 2) -> str:
    """With so many digits after the point, and no zero before it: .80."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def whole(value: float) -> str:
    """Without digits after the point."""
    return f"{value:.0f}"


def brief(value: float) -> str:
    """With two digits that count: .052, 3.1, 12."""
    text = f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def word(count: int) -> str:
    """A count as a word, if there is one."""
    return WORDS[count] if count < len(WORDS) else f"{count}"


def ends(values: list[float], write: Callable[[float], str]) -> str:
    """From the smallest to the largest."""
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"
