"""Scores on their way out of the house: Parquet, block by block, and one word of warning."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from eigenveil._atomic_files import written_whole
from eigenveil._typing import FloatArray
from eigenveil.errors import PrivacyWarning


def write_scores(blocks: Iterator[FloatArray], names: list[str], path: str | os.PathLike[str]) -> None:
    """Write blocks of scores to one Parquet file, which appears when all of it is there.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(iter([np.zeros((2, 1)), np.ones((1, 1))]), ["dppca0"], f"{folder}/scores.parquet")
    ...     pq.read_table(f"{folder}/scores.parquet").to_pydict()
    {'dppca0': [0.0, 0.0, 1.0]}
    """
    schema = pa.schema([(name, pa.float64()) for name in names])
    with written_whole(path) as part, pq.ParquetWriter(part, schema) as writer:
        for block in blocks:
            columns = [pa.array(column) for column in block.T]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


@functools.cache
def warn_once_of_scores() -> None:
    """Say, once per process, that scores of training rows are not private."""
    warnings.warn(
        "scores of the rows that a model was fitted to are functions of single rows: the model is private, they "
        "are not, and neither is what is trained on them. To show them, buy a picture: pca.private_scores(...).",
        PrivacyWarning,
        stacklevel=4,  # past fit_transform, and what scikit-learn wraps it in
    )
