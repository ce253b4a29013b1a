"""The door: whatever the user has becomes a source."""

from __future__ import annotations

from typing import Any, Protocol

from eigenveil.errors import InvalidInputError
from eigenveil.sources.clusters import dask_collections, spark_frames
from eigenveil.sources.files import any_files, arrow_streams, lazy
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import blocks, in_memory
from eigenveil.sources.source import Source


class Opener(Protocol):
    """A file of this room that opens one kind of data."""

    def accepts(self, data: Any) -> bool:
        """Whether this is the kind."""
        ...

    def open_kind(self, data: Any, *, layout: Layout, units: Any) -> Source:
        """A source of the data."""
        ...


OPENERS: tuple[Opener, ...] = (any_files, in_memory, dask_collections, spark_frames, lazy, arrow_streams, blocks)
"""In the order in which they are tried; `blocks` takes anything that can be walked through, so it is last."""


def open_source(
    data: Any, *, columns: Any = None, units: Any = None, encode: Any = None, fill: Any = None
) -> Source:
    """Turn anything a user has into blocks of rows, or of people with all their rows.

    Parameters
    ----------
    data : array, sparse matrix, frame, table, dataset, path(s), or iterable of blocks
        Numpy arrays (also memory-mapped or masked), lists of rows, scipy sparse matrices, pandas and polars
        frames, Arrow tables, batches, readers and datasets; DuckDB relations and whatever else Arrow can stream
        from, which is first written to a temporary file; Dask collections; Spark data
        frames; paths to .npy, .npz, Parquet, Feather
        and CSV files, as one path, a list, a glob or a folder; or any iterable of 2-D blocks of these.
    columns : list of str or int, optional
        Which columns to take, in this order: names or globs where columns have names, else positions.
        All but the unit column by default.
    units : str or array-like of ids, optional
        Whose row each row is: the name of a column, or one id per row. None: every row is a unit.
    encode : mapping, optional
        From columns that hold no numbers to how they are read: a public list of values, which become columns of 0
        and 1, or text such as "days since 2020-01-01" for dates.
    fill : float or mapping, optional
        A public number for values that are missing: one for all columns, or numbers by name, glob or position.

    Returns
    -------
    Source
        Its schema has been checked; values are read when its blocks are asked for.

    Raises
    ------
    InvalidInputError
        The data, its schema or its columns are not what is expected. The message holds no value.

    Notes
    -----
    *Edge cases.* Missing and masked values become nan. Rows whose id is missing are left out. No rows: no
    blocks. A person with more rows than fit in a block comes as one block.

    Examples
    --------
    >>> import numpy as np
    >>> source = open_source(np.arange(6).reshape(3, 2), units=["b", "a", "b"])
    >>> [(block.values.tolist(), block.offsets.tolist()) for block in source.blocks()]
    [([[2.0, 3.0], [0.0, 1.0], [4.0, 5.0]], [0, 1, 3])]
    """
    return open_with(data, Layout.of(columns, encode, fill), units)


def open_with(data: Any, layout: Layout, units: Any = None) -> Source:
    """The same, by a layout."""
    for opener in OPENERS:
        if opener.accepts(data):
            return opener.open_kind(data, layout=layout, units=units)
    raise InvalidInputError(
        f"expected an array, a frame, a table, a path or an iterable of blocks, got {type(data).__name__}.",
        hint="See help(eigenveil.sources.open_source) for what can be opened.",
    )
