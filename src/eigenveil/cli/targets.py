"""Outputs of a fit: model folder, report file, JSON on stdout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from eigenveil._atomic_files import written_whole
from eigenveil._checks import check_grid
from eigenveil._printable import printable
from eigenveil.cli.arguments import check_output_path
from eigenveil.cli.console import print_json, say
from eigenveil.cli.summary import as_plain, as_table
from eigenveil.estimators import DPPCA
from eigenveil.estimators.scores.score_map import ScoreMap
from eigenveil.persistence import save
from eigenveil.persistence.folders import read_regular
from eigenveil.persistence.score_maps import save_map
from eigenveil.persistence.strict_json import DamagedFileError

COMMAND_FILE = "command.txt"
"""File in the model folder with the command that created the model, for reports."""
_MOST_COMMAND = 1 << 20
"""Maximum size of this file, in bytes."""


def read_command(folder: Path) -> str | None:
    """Return the command that created the model in a folder, or None if it is not known.

    The file is refused if it is a link. A report shows its text, so the folder of someone else could make a report
    publish any file of its reader.
    """
    if not os.path.lexists(folder / COMMAND_FILE):
        return None
    try:
        return read_regular(folder / COMMAND_FILE, most=_MOST_COMMAND, links=False).decode("utf-8").strip()
    except UnicodeDecodeError:
        raise DamagedFileError(f"{COMMAND_FILE} is not UTF-8 text.", hint="Remove the file.") from None


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Requested outputs: a folder for the model, a file for the report (with its grid), JSON on stdout."""

    out: Path | None
    report: Path | None
    grid: tuple[int, int] | None
    as_json: bool

    def check(self, *, force: bool) -> None:
        """Check that all outputs can be written. Called before any budget is spent."""
        if self.out is None and self.report is None and not self.as_json:
            raise typer.BadParameter("no output requested: give --out, --report or --json.")
        for path, folder in ((self.out, True), (self.report, False)):
            if path is not None:
                check_output_path(path, force=force, folder=folder)

    def check_grid(self, d: int) -> None:
        """Check that the pixels of the grid are the `d` columns. Called before any budget is spent."""
        if self.grid is None:
            return
        if self.report is None:
            raise typer.BadParameter("--grid is for the report: give --report too.")
        check_grid(self.grid, d)

    def write(self, model: DPPCA, scores: ScoreMap | None, *, command: str, warnings: list[str]) -> None:
        """Write all requested outputs."""
        if self.out is not None:
            (self.out / COMMAND_FILE).unlink(missing_ok=True)  # of the model that is replaced
            save(model, self.out)
            save_map(scores, model, self.out)
            with written_whole(self.out / COMMAND_FILE) as part:
                part.write_text(printable(command) + "\n", encoding="utf-8")
        if self.report is not None:
            from eigenveil.report import write_report  # noqa: PLC0415  # matplotlib is slow to import

            write_report(model, self.report, command=command, scores=scores, grid=self.grid)
        if self.as_json:
            where = None if self.out is None else str(self.out)
            print_json({**as_plain(model, scores), "warnings": warnings, "model": where})
        else:
            Console(stderr=True, highlight=False).print(as_table(model, warnings=False))
        for name, path in (("model", self.out), ("report", self.report)):
            if path is not None:
                say(f"{name}: {printable(str(path))}")
