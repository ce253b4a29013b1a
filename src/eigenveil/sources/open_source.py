"""Entry point of the package: opens any supported data as a source."""

from __future__ import annotations

from typing import Any, Protocol

from eigenveil.errors import InvalidInputError
from eigenveil.sources.clusters import dask_collections, spark_frames
from eigenveil.sources.files import any_files, arrow_streams, lazy
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import blocks, in_memory
from eigenveil.sources.source import Source


class Opener(Protocol):
    """A module of this package that opens one kind of data."""

    def accepts(self, data: Any) -> bool:
        """Return whether the data are of this kind."""
        ...

    def open_kind(self, data: Any, *, layout: Layout, units: Any) -> Source:
        """Open the data as a source."""
        ...


OPENERS: tuple[Opener, ...] = (any_files, in_memory, dask_collections, spark_frames, lazy, arrow_streams, blocks)
"""Openers in the order in which they are tried; `blocks` accepts any iterable, so it is last."""


def open_source(
    data: Any, *, columns: Any = None, units: Any = None, encode: Any = None, fill: Any = None
) -> Source:
    """Open data as a source of blocks of rows, or of people with all their rows.

    Parameters
    ----------
    data : array, sparse matrix, frame, table, dataset, path(s), or iterable of blocks
        Numpy arrays (also memory-mapped or masked), lists of rows, scipy sparse matrices, pandas and polars
        frames, Arrow tables, batches, readers and datasets; DuckDB relations and any other object that Arrow can
        stream from, which is first written to a temporary file; Dask collections; Spark data frames; paths to
        .npy, .npz, Parquet, Feather and CSV files, as one path, a list, a glob or a folder; or any iterable of 2-D
        blocks of these.
    columns : list of str or int, optional
        Columns to read, in this order: names or globs if columns have names, else positions.
        By default all columns except the unit column.
    units : str or array-like of ids, optional
        Which person each row belongs to: the name of a column, or one id per row. None: every row is a unit.
    encode : mapping, optional
        From columns that are not numeric to their encodings: a public list of values, which become columns of 0
        and 1, or text such as "days since 2020-01-01" for dates.
    fill : float or mapping, optional
        Public replacement for missing values: one number for all columns, or numbers by name, glob or position.

    Returns
    -------
    Source
        A source whose schema has been checked. Values are read when its blocks are requested.

    Raises
    ------
    InvalidInputError
        The data, their schema or their columns are not as expected. The message contains no value of the data.

    Notes
    -----
    *Edge cases.* Missing and masked values become nan. Rows whose id is missing are excluded. Data without rows
    give no blocks. A person with more rows than fit in a block is one block.

    Examples
    --------
    >>> import numpy as np
    >>> source = open_source(np.arange(6).reshape(3, 2), units=["b", "a", "b"])
    >>> [(block.values.tolist(), block.offsets.tolist()) for block in source.blocks()]
    [([[2.0, 3.0], [0.0, 1.0], [4.0, 5.0]], [0, 1, 3])]
    """
    return open_with(data, Layout.of(columns, encode, fill), units)


def open_with(data: Any, layout: Layout, units: Any = None) -> Source:
    """Open data as a source, with a layout in place of columns, encodings and fill values."""
    for opener in OPENERS:
        if opener.accepts(data):
            return opener.open_kind(data, layout=layout, units=units)
    raise InvalidInputError(
        f"expected an array, a frame, a table, a path or an iterable of blocks, got {type(data).__name__}.",
        hint="See help(eigenveil.sources.open_source) for the data that can be opened.",
    )
