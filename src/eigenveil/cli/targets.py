"""Outputs of a fit: model folder, report file, JSON on stdout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from eigenveil._checks import check_grid
from eigenveil._printable import printable
from eigenveil.cli.console import print_json, say, show, usage_errors
from eigenveil.cli.summary import as_plain, as_table
from eigenveil.estimators import DPPCA
from eigenveil.estimators.scores.score_map import ScoreMap
from eigenveil.persistence import save
from eigenveil.persistence.outputs import (
    check_output_path,
    check_outputs_apart,
    check_report_path,
    forget_command,
    save_command,
)
from eigenveil.persistence.score_maps import save_map


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Requested outputs: a folder for the model, a file for the report (with its grid), JSON on stdout."""

    out: Path | None
    report: Path | None
    grid: tuple[int, int] | None
    as_json: bool

    def check(self, *, ledger: Path | None, force: bool) -> None:
        """Check that all outputs can be written, beside the ledger file. Called before any budget is spent."""
        if self.out is None and self.report is None and not self.as_json:
            raise typer.BadParameter("no output requested: give --out, --report or --json.")
        with usage_errors():
            check_outputs_apart(ledger, self.out, self.report)
        if self.report is not None:
            import eigenveil.report  # noqa: F401, PLC0415  # slow to import, and its packages may be missing
        for path, folder in ((self.out, True), (self.report, False)):
            if path is not None:
                check_output_path(path, force=force, folder=folder)
        if self.report is not None:
            check_report_path(self.report)

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
            forget_command(self.out)  # of the model that is replaced
            save(model, self.out)
            save_map(scores, model, self.out)
            save_command(command, self.out)
        if self.report is not None:
            from eigenveil.report import write_report  # noqa: PLC0415  # matplotlib is slow to import

            write_report(model, self.report, command=command, scores=scores, grid=self.grid)
        if self.as_json:
            print_json({**as_plain(model, scores), "warnings": warnings})
        else:
            show(as_table(model, warnings=False), soft_wrap=False)
        for name, path in (("model", self.out), ("report", self.report)):
            if path is not None:
                say(f"{name}: {printable(str(path))}")
