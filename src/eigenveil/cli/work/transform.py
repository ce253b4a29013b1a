"""``eigenveil transform``: scores of rows along the components of a saved model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from eigenveil.cli.choosing import as_columns, as_data, as_names, check_target
from eigenveil.cli.speaking import NOT_PRIVATE, usage, warn
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.score_files import put_scores, scores_schema, write_scores
from eigenveil.persistence import load
from eigenveil.sources.files import has_named_columns
from eigenveil.sources.kept import open_kept
from eigenveil.sources.paths import FORMATS


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
    """Do it."""
    kind = "csv" if out is None else FORMATS.get(out.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise typer.BadParameter("expected a file that ends in .parquet or .csv.", param_hint="--out")
    loaded = load(model)
    names = [str(name) for name in loaded.get_feature_names_out()]
    with usage():
        files = as_data(data, header=header)
        blocks = _scores(loaded, files, columns)
        kept = None if not keep else open_kept(files, as_names(keep))
        schema = scores_schema(names, kept)
    if out is not None:
        check_target(out, force=force, folder=False)
    warn(f"{NOT_PRIVATE}: scores are functions of single rows. Keep them where the data are; publish the model.")
    if out is None:
        written = put_scores(blocks, schema, sys.stdout.buffer, kept=kept)
    else:
        written = write_scores(blocks, names, out, kept=kept)
    if written.without_scores:
        warn(
            f"{written.without_scores} of {written.rows} rows have no scores: a value is missing or infinite, or "
            "a line has too many or too few entries. They are written in their places, with empty scores."
        )


def _scores(model: DPPCA, data: Any, columns: list[str] | None) -> Iterator[Any]:
    """Scores block by block; files are opened, and their columns checked, before the first is asked for."""
    names = vars(model).get("feature_names_in_")
    named = has_named_columns(data)
    if named and names is None:
        raise InvalidInputError(
            "the model was fitted to an array, whose columns have no names, and these files have names.",
            hint="Fit to files of the same kind.",
        )
    if columns is not None:
        model.layout_ = model.layout_.choosing(as_columns(columns, data))
    return model.transform_blocks(data)
