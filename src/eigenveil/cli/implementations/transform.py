"""Implementation of ``eigenveil transform``: scores of rows along the components of a saved model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from eigenveil.cli.arguments import as_columns, as_data, as_names
from eigenveil.cli.console import NOT_PRIVATE, usage_errors, warn
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.scores.files import put_scores, scores_schema, write_scores
from eigenveil.persistence import load
from eigenveil.persistence.outputs import check_output_path
from eigenveil.sources.carried_columns import open_kept
from eigenveil.sources.files.any_files import has_named_columns, refuse_to_replace
from eigenveil.sources.files.paths import FORMATS


def run(
    data: list[str],
    *,
    model: Path,
    columns: list[str] | None,
    keep: list[str] | None,
    header: bool | None,
    out: Path | None,
    force: bool,
) -> None:
    """Run ``eigenveil transform``."""
    kind = "csv" if out is None else FORMATS.get(out.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise typer.BadParameter("expected a file name that ends in .parquet or .csv.", param_hint="--out")
    loaded = load(model)
    names = [str(name) for name in loaded.get_feature_names_out()]
    with usage_errors():
        files = as_data(data, header=header)
        blocks = _scores(loaded, files, columns)
        kept = None if not keep else open_kept(files, as_names(keep))
        schema = scores_schema(names, kept)
        if out is not None:
            refuse_to_replace(files, out)
    if out is not None:
        check_output_path(out, force=force, folder=False)
    warn(
        f"{NOT_PRIVATE}: scores are functions of single rows. Store them as securely as the data; publish the "
        "model instead."
    )
    if out is None:
        written = put_scores(blocks, schema, sys.stdout.buffer, kept=kept)
    else:
        written = write_scores(blocks, names, out, kept=kept, overwrite=force)
    if written.without_scores:
        warn(
            f"{written.without_scores} of {written.rows} rows have no scores: a value is missing or infinite, or "
            "a line has too many or too few entries. Their output lines have empty scores."
        )


def _scores(model: DPPCA, data: Any, columns: list[str] | None) -> Iterator[Any]:
    """Return scores block by block. Files are opened and their columns checked before the first block is read."""
    names = vars(model).get("feature_names_in_")
    named = has_named_columns(data)
    if named and names is None:
        raise InvalidInputError(
            "the model was fitted to an array, whose columns have no names, but these files have column names.",
            hint="Fit the model to files of the same kind.",
        )
    if columns is not None:
        model.layout_ = model.layout_.choosing(as_columns(columns, data))
    return model.transform_blocks(data)
