"""Arrow streams, as databases hand them out: read once, into a file, and read from there as often as needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.any_files import open_scan
from eigenveil.sources.files.scans import parsed_elsewhere, scan_parquet
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.guard import attempt, guarded
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.arrow import on_schema
from eigenveil.sources.source import Source

_GROUP_BYTES = 16 << 20
"""About how large a row group is; databases hand out batches of any size, many of them tiny."""


def accepts(data: Any) -> bool:
    """Whether this is a reader of record batches, or anything else that Arrow can stream from."""
    return isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__")


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows of the stream, which is read here, once its schema has been found fit.

    Notes
    -----
    A stream can mostly be read only once, and a query that is run again may give its rows in another order. A fit
    reads its data several times, and a unit's coin goes by its place. So the columns that are asked for are
    written to a Parquet file in a folder that only the user can read and that goes with the source. The file holds
    raw data. Which rows came, and in which order, was up to whoever made the stream, so places are not fixed.
    """
    if type(data).__module__ in ("pyarrow._csv", "pyarrow._json"):
        raise parsed_elsewhere("a reader")
    if not isinstance(units, str | None):
        raise ids_by_place(data)
    failure = unanswered(data)
    reader = attempt(lambda: pa.RecordBatchReader.from_stream(data), failure, Exception)
    exact, _ = on_schema(layout, reader.schema, units)
    names = [str(name) for name in exact.columns or ()]
    if units is not None:
        find_unit(reader.schema.names, units)
        names.append(units)
    folder = TemporaryFolder()
    path = folder.path / "read.parquet"
    places = [reader.schema.names.index(name) for name in names]
    schema = pa.schema([reader.schema.field(place) for place in places])
    batches = (batch.select(places) for batch in guarded(iter(reader), failure, Exception))
    _write(batches, schema, str(path))
    return open_scan(scan_parquet([str(path)], owner=folder), layout=exact, units=units, fixed_places=False)


def ids_by_place(data: Any) -> InvalidInputError:
    """The error for ids beside rows that come in an order of their own."""
    return InvalidInputError(
        f"expected the name of a column for units of a {type(data).__name__}, whose rows come in no fixed order.",
        hint="Let the query give the ids as a column, and pass its name: units='person_id'.",
    )


def unanswered(data: Any) -> UnreadableError:
    """The error for a query that fails while it is read; the database's own words may quote the data."""
    return UnreadableError(
        f"could not read all rows of the {type(data).__name__}: it failed, or was closed before.",
        hint="Run the query by itself to see why; often a cast fails on some value (TRY_CAST gives null instead).",
    )


def _write(batches: Iterator[pa.RecordBatch], schema: pa.Schema, path: str) -> None:
    """The batches in their order, a row group of them in memory at a time."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy, and only for files

    with pq.ParquetWriter(path, schema) as writer:
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            waiting.append(batch)
            size += batch.nbytes
            if size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, size = [], 0
        writer.write_table(pa.Table.from_batches(waiting, schema))
