"""What the user has chosen: one fit, as a `FitRequest`, as a command and as lines of Python."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from starlette.datastructures import QueryParams

from eigenveil.app.files import FileColumns, absolute, columns_of
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA, Progress
from eigenveil.estimators.request import FitRequest
from eigenveil.estimators.settings import read_settings
from eigenveil.persistence.ledger_file import Account, RequestedBudget
from eigenveil.persistence.outputs import PLACES
from eigenveil.planner import PRESETS
from eigenveil.privacy import Budget

STEPS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
"""Values of epsilon that the slider offers, about evenly spaced on a logarithmic scale."""
DEFAULTS = {
    "unit": "",
    "which": "all",
    "k": "2",
    "scale": "none",
    "n": "10000",
    "rows": "1",
    "spectrum": PRESETS[1],
    "delta": "1e-6",
    "ledger": "",
    "cap": "",
    "out": "",
    "step": str(STEPS.index(1.0)),
}
"""Initial values of the form."""


@dataclass(frozen=True, kw_only=True)
class PublicGuess:
    """Numbers that the user guesses for a plan. They are not read from the data."""

    n: int
    rows_each: int
    spectrum: str


@dataclass(frozen=True, kw_only=True)
class Choices:
    """One fit that the user has chosen.

    Parameters
    ----------
    data : str
        Path of the file.
    columns : tuple, optional
        Names or positions of the columns. None: all columns except the unit column.
    names : tuple of str, optional
        Names of all columns of the file, if they have names.
    units : str, optional
        Column of person ids.
    scale : "private" or None
        Whether scales are bought.
    k, epsilon, delta
        As in `DPPCA`.
    ledger : Path, optional
        Ledger file to charge.
    cap_epsilon : float, optional
        Budget of all fits on a new ledger file.
    out : Path, optional
        Folder to save the model to.
    """

    data: str
    columns: tuple[str | int, ...] | None
    names: tuple[str, ...] | None
    units: str | None
    scale: str | None
    k: int
    epsilon: float
    delta: float
    ledger: Path | None
    cap_epsilon: float | None
    out: Path | None

    @classmethod
    def of(cls, given: QueryParams, file: FileColumns) -> Choices:
        """Read what the form sends. Errors name the field."""
        unit = _position("unit", given, file)
        if unit is not None and file.names is None:
            raise InvalidInputError("the columns of arrays have no names, so no column can identify people.")
        step = _whole("step", given, most=len(STEPS) - 1, least=0)
        cap = _text("cap", given)
        return cls(
            data=file.path,
            columns=_columns(given, file, unit),
            names=file.names,
            units=None if unit is None or file.names is None else file.names[unit],
            scale="private" if _text("scale", given) == "private" else None,
            k=_whole("k", given),
            epsilon=STEPS[step],
            delta=_number("delta", given),
            ledger=_path("ledger", given),
            cap_epsilon=_number("cap", given) if cap else None,
            out=_path("out", given),
        )

    # -- the fit ---------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of `DPPCA` that differ from its defaults, and the budget."""
        chosen = {"columns": None if self.columns is None else list(self.columns), "scale": self.scale}
        given = {name: value for name, value in chosen.items() if value is not None}
        return {**given, "epsilon": self.epsilon, "delta": self.delta}

    def model(self, callback: Callable[[Progress], object] | None = None) -> DPPCA:
        """Return the estimator, not fitted."""
        return DPPCA(self.k, **self.parameters(), engine=LocalEngine(), callback=callback)

    def request(self, model: DPPCA) -> FitRequest:
        """Return the request of this fit. It reads the schema of the file, and no values."""
        return FitRequest.of(model, self.data, self.units)

    def requested(self) -> RequestedBudget:
        """Return the budget that this fit requests."""
        return RequestedBudget(fit=read_settings(self.model()).budget)

    def account(self) -> Account | None:
        """Return the ledger file to charge, or None."""
        if self.ledger is None:
            if self.cap_epsilon is not None:
                raise InvalidInputError("a cap is the cap of a ledger file.", hint="Name a ledger file too.")
            return None
        cap = None if self.cap_epsilon is None else (self.cap_epsilon, self.delta)
        if cap is not None:
            Budget.from_epsilon_delta(*cap)
        return Account(path=self.ledger, requested=self.requested(), cap=cap)

    # -- the same fit elsewhere ------------------------------------------------------------------

    def published(self) -> Choices:
        """Return the fit without names of files and folders, to be shown in a report and kept beside a model."""
        ledger = None if self.ledger is None else Path(PLACES["ledger"])
        out = None if self.out is None else Path(PLACES["out"])
        return replace(self, data=PLACES["data"], ledger=ledger, out=out)

    def command(self) -> str | None:
        """Return the command that makes the same fit; None if its options cannot name one of the columns."""
        columns = None if self.columns is None else [self._as_option(column) for column in self.columns]
        if columns is not None and None in columns:
            return None
        options = {
            "-k": self.k,
            "--units": self.units,
            "--columns": None if columns is None else ",".join(map(str, columns)),
            "--scale": self.scale,
            "--epsilon": f"{self.epsilon:g}",
            "--delta": repr(self.delta),
            "--ledger": self.ledger,
            "--cap-epsilon": self.cap_epsilon,
            "--out": self.out,
            "--report": "report.html",
        }
        words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        return shlex.join(["eigenveil", "fit", self.data, *words])

    def python(self) -> str:
        """Return lines of Python that make the same fit."""
        parameters = "".join(f", {name}={value!r}" for name, value in self.parameters().items())
        fit = f"fit({self.data!r})" if self.units is None else f"fit({self.data!r}, units={self.units!r})"
        lines = ["import eigenveil as ev", "", f"pca = ev.DPPCA({self.k}{parameters})"]
        if self.ledger is None:
            lines.append(f"pca.{fit}")
        else:
            cap = "" if self.cap_epsilon is None else f", cap=({self.cap_epsilon!r}, {self.delta!r})"
            lines[1:1] = [
                "from pathlib import Path",
                "from eigenveil.persistence.ledger_file import Account, RequestedBudget, open_ledger",
            ]
            lines += [
                f"requested = RequestedBudget(fit=ev.Budget.from_epsilon_delta({self.epsilon!r}, {self.delta!r}))",
                f"account = Account(path=Path({str(self.ledger)!r}), requested=requested{cap})",
                "with open_ledger(account) as ledger:",
                f"    pca.set_params(ledger=ledger).{fit}",
            ]
        if self.out is not None:
            lines.append(f"ev.save(pca, {str(self.out)!r})")
        return "\n".join([*lines, "ev.write_report(pca, 'report.html')"])

    def _as_option(self, column: str | int) -> str | int | None:
        """Return a column as ``--columns`` names it: a name, or a glob for a name with commas or outer spaces."""
        if isinstance(column, int) or (column and column == column.strip() and "," not in column):
            return column
        if not column.strip() or self.names is None:
            return None
        start, end = len(column) - len(column.lstrip()), len(column.rstrip())
        pattern = "?" * start + glob.escape(column[start:end]).replace(",", "?") + "?" * (len(column) - end)
        return pattern if [name for name in self.names if fnmatchcase(name, pattern)] == [column] else None


def read_form(given: QueryParams) -> tuple[Choices, PublicGuess]:
    """Return the chosen fit, and the guess for its plan."""
    choices = Choices.of(given, columns_of(given.get("data", "")))
    spectrum = _text("spectrum", given)
    if spectrum not in PRESETS:
        raise InvalidInputError(f"expected a spectrum among {', '.join(PRESETS)}, got {spectrum!r}.")
    rows = 1 if choices.units is None else _whole("rows", given)
    return choices, PublicGuess(n=_whole("n", given), rows_each=rows, spectrum=spectrum)


# -- fields of the form ------------------------------------------------------------------------------

_LABELS = {
    "unit": "the column of person ids",
    "column": "the columns",
    "k": "the number of components",
    "n": "the number of people",
    "rows": "the number of rows per person",
    "delta": "delta",
    "cap": "the cap",
    "step": "the position of the slider",
}


def _text(name: str, given: Mapping[str, str]) -> str:
    return given.get(name, DEFAULTS.get(name, "")).strip()


def _whole(name: str, given: Mapping[str, str], *, least: int = 1, most: int = 10**9) -> int:
    text = _text(name, given)
    if text.isascii() and text.isdecimal() and len(text) <= 10 and least <= int(text) <= most:
        return int(text)
    raise InvalidInputError(f"{_LABELS[name]}: expected a whole number from {least} to {most:,}, got {text!r}.")


def _number(name: str, given: Mapping[str, str]) -> float:
    text = _text(name, given)
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"{_LABELS[name]}: expected a number, got {text!r}.") from None


def _path(name: str, given: Mapping[str, str]) -> Path | None:
    text = _text(name, given)
    return absolute(text) if text else None


def _position(name: str, given: Mapping[str, str], file: FileColumns) -> int | None:
    return _whole(name, given, least=0, most=len(file.types) - 1) if _text(name, given) else None


def _columns(given: QueryParams, file: FileColumns, unit: int | None) -> tuple[str | int, ...] | None:
    """Return the keys of the ticked columns, without the unit column; None for all columns.

    Types never select columns: in CSV files they depend on values, so one person could change what is released.
    """
    if _text("which", given) == "all":
        return None
    most = len(file.types) - 1
    ticked = {_whole("column", {"column": text}, least=0, most=most) for text in given.getlist("column")} - {unit}
    if not ticked:
        raise InvalidInputError("expected at least one column of numbers, got none.", hint="Tick some columns.")
    return tuple(file.keys[position] for position in sorted(ticked))
