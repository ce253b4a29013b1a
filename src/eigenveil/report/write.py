"""Render a fitted model as an HTML report."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from eigenveil._atomic_files import written_whole
from eigenveil._checks import check_grid
from eigenveil._printable import on_page
from eigenveil.estimators.settings import as_fitted
from eigenveil.persistence.outputs import check_report_path
from eigenveil.report.facts import epsilon_shown, facts_of, sentence, why_that_epsilon
from eigenveil.report.ledger_groups import ledger_groups
from eigenveil.report.methods import methods_of
from eigenveil.report.pictures import report_figures
from eigenveil.report.reading import ALARM, read_guarantee
from eigenveil.report.reported_ledger import reported_ledger
from eigenveil.report.tables import column_rows, variance_rows
from eigenveil.report.warnings import warnings_of


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    scores: Any = None,
    grid: tuple[int, int] | None = None,
) -> Path:
    """Write a report on a fitted model as one HTML file that opens offline.

    Parameters
    ----------
    model : DPPCA
        Fitted or loaded model.
    path : path
        File to write. An existing report is replaced once the new one is complete. Any other file is refused.
    command : str, optional
        Command that created the model, shown verbatim: it should name no file, since names may tell who is in the
        data.
    scores : optional
        Result of `DPPCA.private_scores`. If it was bought on a ledger of its own, the report states the total cost
        of both ledgers.
    grid : (int, int), optional
        Numbers of rows and columns, if the columns of the model are the pixels of an image, row by row. Loadings
        are then drawn as images.

    Returns
    -------
    Path
        Path of the report.

    Formal guarantees
    -----------------
    Post-processing: everything in the report comes from released attributes, the parameters of the fit, `command`
    and `grid`. The guarantee it states is the budget of the ledger, which holds for everything that is ever
    charged to the ledger; of both ledgers together, if the map has its own.
    """
    check_report_path(Path(path))
    text = render_report(model, command=command, scores=scores, grid=grid)
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def render_report(
    model: Any, *, command: str | None = None, scores: Any = None, grid: tuple[int, int] | None = None
) -> str:
    """Return the report as a string of HTML; see `write_report`."""
    environment = Environment(
        loader=PackageLoader("eigenveil.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=on_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if grid is not None:
        check_grid(grid, model.n_features_in_)
    release = version("eigenveil")
    ledger, delta = reported_ledger(model, scores), as_fitted(model)["delta"]
    reading = read_guarantee(ledger, delta)
    epsilon = epsilon_shown(model, reading)
    methods, references = methods_of(model, release, epsilon, ledger)
    return environment.get_template("page.html").render(
        ledger=ledger,
        private=ledger.private,
        sentence=sentence(model, epsilon, private=ledger.private),
        why=why_that_epsilon(model, reading, epsilon, ledger),
        facts=facts_of(model),
        warnings=warnings_of(model, scores, ledger),
        reading=reading,
        epsilon=epsilon,
        delta=delta,
        spent=ledger.epsilon(delta),
        alarm=ALARM,
        figures=report_figures(model, scores, grid, ledger),
        variances=list(variance_rows(model)),
        columns=column_rows(model),
        groups=ledger_groups(ledger),
        methods=methods,
        references=references,
        command=command,
        version=release,
    )
