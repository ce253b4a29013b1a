"""Arrow streams, for example from databases: written to a file once, and read from the file in every pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.any_files import open_scan
from eigenveil.sources.files.scans import scan_parquet, text_parser_error
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.guard import attempt, guarded
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.arrow import on_schema
from eigenveil.sources.source import Source

_GROUP_BYTES = 16 << 20
"""Approximate size of a row group; databases return batches of any size, many of them tiny."""


def accepts(data: Any) -> bool:
    """Return whether the data are a reader of record batches, or another object that Arrow can stream from."""
    return isinstance(data, pa.RecordBatchReader) or hasattr(data, "__arrow_c_stream__")


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Check the schema of a stream, write its rows to a file, and return a source of them.

    Notes
    -----
    Most streams can be read only once, and a query that is run again may return its rows in another order. A fit
    reads its data several times, and the coin of a unit depends on its position. So the selected columns are
    written to a Parquet file, in a folder that only the user can read and that is deleted with the source. The
    file holds raw data. The creator of the stream determines which rows it has and in which order, so places are
    not fixed.
    """
    if type(data).__module__ in ("pyarrow._csv", "pyarrow._json"):
        raise text_parser_error("a reader")
    if not isinstance(units, str | None):
        raise separate_ids_error(data)
    failure = failed_query_error(data)
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
    no_space = UnreadableError(
        f"could not write the rows to a temporary file in {str(folder.path.parent)!r}.",
        hint="Check its free space, or set TMPDIR to another folder.",
    )
    attempt(lambda: _write(batches, schema, str(path)), no_space, OSError)
    return open_scan(scan_parquet([str(path)], owner=folder), layout=exact, units=units, fixed_places=False)


def separate_ids_error(data: Any) -> InvalidInputError:
    """Return the error for ids that are passed in separately from rows without a fixed order."""
    return InvalidInputError(
        f"expected the name of a column for units of a {type(data).__name__}, whose rows have no fixed order.",
        hint="Make the ids a column of the query, and pass its name: units='person_id'.",
    )


def failed_query_error(data: Any) -> UnreadableError:
    """Return the error for a query that fails during reading; the database's own message may quote the data."""
    return UnreadableError(
        f"could not read all rows of the {type(data).__name__}: it failed, or was already closed.",
        hint="Run the query alone to see why; often a cast fails on some value (TRY_CAST returns null instead).",
    )


def _write(batches: Iterator[pa.RecordBatch], schema: pa.Schema, path: str) -> None:
    """Write the batches in order, with one row group in memory at a time."""
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
