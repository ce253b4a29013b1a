"""Write scores to Parquet or CSV, block by block."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from eigenveil._atomic_files import written_whole
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.sources.carried_columns import KeptColumns


@dataclass(frozen=True)
class WrittenScores:
    """Number of rows written, and of rows without scores. Exact counts, so *not private*."""

    rows: int
    without_scores: int


def write_scores(
    blocks: Iterator[FloatArray],
    names: list[str],
    path: str | os.PathLike[str],
    *,
    kept: KeptColumns | None = None,
    overwrite: bool = False,
) -> WrittenScores:
    """Write blocks of scores to one CSV (.csv) or Parquet file, which appears when it is complete.

    Unless `overwrite`, a file that is there by then stays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(iter([np.zeros((2, 1)), np.full((1, 1), np.nan)]), ["pc1"], f"{folder}/scores.parquet")
    ...     pq.read_table(f"{folder}/scores.parquet").to_pydict()
    WrittenScores(rows=3, without_scores=1)
    {'pc1': [0.0, 0.0, None]}
    """
    schema = scores_schema(names, kept)
    last_check = (lambda: None) if overwrite else functools.partial(refuse_existing, path)
    with written_whole(path, last_check=last_check) as part:
        if Path(path).suffix.lower() == ".csv":
            with part.open("wb") as sink:
                return put_scores(blocks, schema, sink, kept=kept)
        with pq.ParquetWriter(part, schema) as writer:
            return _put(writer, blocks, schema, kept)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raise if there is a file, a folder or a link at `path`."""
    if os.path.lexists(path):
        raise InvalidInputError(
            f"{os.fspath(path)!r} already exists.", hint="Choose another name, or replace it with overwrite=True."
        )


def put_scores(
    blocks: Iterator[FloatArray], schema: pa.Schema, sink: Any, *, kept: KeptColumns | None = None
) -> WrittenScores:
    """Write blocks of scores as CSV to an open file."""
    with pc.CSVWriter(pa.PythonFile(sink, mode="w"), schema) as writer:
        return _put(writer, blocks, schema, kept)


def scores_schema(names: list[str], kept: KeptColumns | None) -> pa.Schema:
    """Return the schema: kept columns, then scores. Raises if a name occurs twice."""
    carried = [] if kept is None else list(kept.schema)
    twice = [field.name for field in carried if field.name in names]
    if twice:
        raise InvalidInputError(
            f"the kept column {twice[0]!r} has the name of a score.", hint="Rename it, or do not keep it."
        )
    return pa.schema([*carried, *((name, pa.float64()) for name in names)])


def _put(writer: Any, blocks: Iterator[FloatArray], schema: pa.Schema, kept: KeptColumns | None) -> WrittenScores:
    """Write blocks; scores that are not finite become missing values."""
    rows = without = 0
    beside = None if kept is None else kept.reader()
    for block in blocks:
        there = np.isfinite(block)
        scores = [pa.array(column, mask=~fine) for column, fine in zip(block.T, there.T, strict=True)]
        carried = [] if beside is None else beside(len(block))
        writer.write_table(pa.Table.from_arrays([*carried, *scores], schema=schema))
        rows += len(block)
        without += int(np.sum(~there.all(axis=1)))
    return WrittenScores(rows, without)


@functools.cache
def warn_once_of_scores() -> None:
    """Warn, once per process, that scores of training rows are not private."""
    warnings.warn(
        "scores of the training rows depend on single rows: the model is private, the scores are not, and neither "
        "is anything trained on them. To publish scores, buy a private histogram: pca.private_scores(...).",
        PrivacyWarning,
        stacklevel=4,  # past fit_transform, and what scikit-learn wraps it in
    )
