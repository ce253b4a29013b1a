"""Render a fitted model as an HTML report."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eigenveil._atomic_files import written_whole
from eigenveil._printable import printable
from eigenveil.estimators.settings import as_fitted
from eigenveil.estimators.uncertainty import known_angles, known_components_for
from eigenveil.plots import ScreeDisplay
from eigenveil.privacy import Entry, Ledger
from eigenveil.report.methods import methods_of
from eigenveil.report.pictures import report_figures
from eigenveil.report.reading import ALARM, Reading, read_guarantee
from eigenveil.report.warnings import warnings_of


def write_report(
    model: Any, path: str | os.PathLike[str], *, command: str | None = None, scores: Any = None
) -> Path:
    """Write a report on a fitted model as one HTML file that opens offline.

    Parameters
    ----------
    model : DPPCA
        Fitted or loaded model.
    path : path
        File to write. An existing file is replaced once the new report is complete.
    command : str, optional
        Command that created the model, shown verbatim.
    scores : optional
        Result of `DPPCA.private_scores`. Buy it on the ledger of the fit, so that the report shows the total cost.

    Returns
    -------
    Path
        Path of the report.

    Formal guarantees
    -----------------
    Post-processing: everything in the report comes from released attributes, the parameters of the fit and
    `command`. The guarantee it states is the budget of the ledger, which holds for everything that is ever charged
    to the ledger.
    """
    text = render_report(model, command=command, scores=scores)
    with written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return Path(path)


def render_report(model: Any, *, command: str | None = None, scores: Any = None) -> str:
    """Return the report as a string of HTML; see `write_report`."""
    environment = Environment(
        loader=PackageLoader("eigenveil.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    release = version("eigenveil")
    methods, references = methods_of(model, release)
    fitted = as_fitted(model)
    reading = read_guarantee(model.ledger_, fitted["delta"])
    return environment.get_template("page.html").render(
        model=model,
        ledger=model.ledger_,
        private=model.ledger_.private,
        facts=_facts(model),
        warnings=warnings_of(model, scores),
        reading=reading,
        epsilon=_epsilon_shown(fitted["epsilon"], reading),
        delta=fitted["delta"],
        spent=model.ledger_.epsilon(fitted["delta"]),
        alarm=ALARM,
        figures=report_figures(model, scores),
        variances=list(_variances(model)),
        enough=_enough(model),
        columns=_columns(model),
        rows=list(ledger_rows(model.ledger_)),
        methods=methods,
        references=references,
        command=command,
        version=release,
    )


def _shown(value: Any) -> Any:
    """Return what the page shows: control characters in text, such as column names, as their codes."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value, keep="\n\t")


def _epsilon_shown(epsilon: float, reading: Reading | None) -> str:
    """Return the epsilon of the fit, or that of the ledger's budget if it is larger."""
    if reading is None or reading.epsilon <= epsilon * 1.001:
        return f"{epsilon:g}"
    return f"{reading.epsilon:.4g}"


def _facts(model: Any) -> list[tuple[str, str]]:
    """Return key facts about the model as pairs of name and value."""
    n_hat = vars(model).get("n_samples_")
    seen, fitted = vars(model).get("n_samples_seen_"), as_fitted(model)
    facts = [
        ("Components", f"{model.n_components_} of {model.n_features_in_} columns"),
        ("Budget of the fit", f"ε = {fitted['epsilon']:g}, δ = {fitted['delta']:g}"),
        ("Neighbouring relation", model.ledger_.relation.value),
        ("Algorithm", fitted["algorithm"]),
    ]
    if n_hat is not None:
        facts.append(("Units", f"about {n_hat:,.0f} (noisy count)"))
    if seen is not None:
        facts.append(("Arrivals", f"{seen:,}"))
    if "explained_variance_ratio_" in vars(model):
        facts.append(("Variance explained", f"about {100 * float(sum(model.explained_variance_ratio_)):.0f} %"))
    return facts


def _variances(model: Any) -> Iterator[tuple[str, ...]]:
    """Yield name, variance, interval, noise, share and angle of every component, if variances were released."""
    if "explained_variance_" not in vars(model):
        return
    bought = model.release_.variances
    ratios = vars(model).get("explained_variance_ratio_")
    intervals, angles = ScreeDisplay.from_estimator(model).intervals, known_angles(model)
    names = model.get_feature_names_out()
    for i, value in enumerate(model.explained_variance_):
        yield (
            names[i],
            f"{value:.4g}",
            "unknown" if intervals is None else f"{intervals[i, 0]:.4g} to {intervals[i, 1]:.4g}",
            "unknown" if bought is None else f"{bought.noise:.2g}",
            "unknown" if ratios is None else f"{100 * ratios[i]:.1f} %",
            "unknown" if angles is None else f"{angles[i]:.1f}°",
        )


def _enough(model: Any) -> str:
    """Return a sentence on how many components capture the default share of the variance; "" if unknown."""
    found = known_components_for(model)
    return "" if found is None else f"{str(found)[0].upper()}{str(found)[1:]}."


def _columns(model: Any) -> list[tuple[str, ...]]:
    """Return name, mean and scale of every column, if a mean was subtracted or columns were scaled."""
    if not model.mean_.any() and model.scale_ is None:
        return []
    names = vars(model).get("feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    scales = ["none"] * len(names) if model.scale_ is None else [f"{scale:.4g}" for scale in model.scale_]
    return [(str(name), f"{mean:.4g}", by) for name, mean, by in zip(names, model.mean_, scales, strict=True)]


def ledger_rows(ledger: Ledger) -> Iterator[tuple[str, ...]]:
    """Yield label, cost, share of the budget, sensitivity and noise scale of every entry."""
    for entry in ledger.entries:
        share = entry.mu**2 / ledger.budget.mu**2 if entry.mu and ledger.budget.mu else None
        yield (
            entry.what + (f" ({entry.note})" if entry.note else ""),
            _cost(entry),
            "" if share is None else f"{100 * share:.1f} %",
            "" if entry.sensitivity is None else f"{entry.sensitivity:.4g}",
            "" if entry.scale is None else f"{entry.scale:.4g}",
        )


def _cost(entry: Entry) -> str:
    if entry.kind == "gaussian":
        return f"μ = {entry.mu:.4g}"
    return f"({entry.epsilon:.4g}, {entry.delta:.4g})" if entry.kind == "approximate" else "declared public"
