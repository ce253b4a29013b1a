"""``eigenveil transform``: scores of rows along the components of a saved model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import typer

from eigenveil._atomic_files import written_whole
from eigenveil.cli.choosing import as_columns, as_data, check_target
from eigenveil.cli.speaking import NOT_PRIVATE, warn
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.score_files import write_scores
from eigenveil.persistence import load
from eigenveil.sources.files import has_named_columns
from eigenveil.sources.paths import FORMATS


def run(
    data: list[str],
    *,
    model: Path,
    columns: list[str] | None,
    header: bool | None,
    out: Path | None,
    force: bool,
) -> None:
    """Do it."""
    kind = "csv" if out is None else FORMATS.get(out.suffix.lower())
    if kind not in ("csv", "parquet"):
        raise typer.BadParameter("expected a file that ends in .parquet or .csv.", param_hint="--out")
    loaded = load(model)
    blocks = _scores(loaded, as_data(data, header=header), columns)
    if out is not None:
        check_target(out, force=force, folder=False)
    warn(f"{NOT_PRIVATE}: scores are functions of single rows. Keep them where the data are; publish the model.")
    names = [str(name) for name in loaded.get_feature_names_out()]
    if out is None:
        _write_csv(blocks, names, sys.stdout.buffer)
    elif kind == "parquet":
        write_scores(blocks, names, out)
    else:
        with written_whole(out) as part, part.open("wb") as sink:
            _write_csv(blocks, names, sink)


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


def _write_csv(blocks: Iterator[Any], names: list[str], sink: Any) -> None:
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pc.CSVWriter(pa.PythonFile(sink, mode="w"), schema) as writer:
        for block in blocks:
            writer.write_table(pa.Table.from_arrays([pa.array(column) for column in block.T], schema=schema))
