"""Columns that are copied unchanged next to scores, such as ids: any type, row by row, in the original order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import narwhals as nw
import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import choose_names
from eigenveil.sources.files.any_files import has_paths, scan_of
from eigenveil.sources.files.csv_files import CsvScan, as_text
from eigenveil.sources.files.scans import Scan
from eigenveil.sources.memory import arrow
from eigenveil.sources.memory.frames import names_of, to_narwhals

_HEIGHT = 1 << 15


class KeptColumns:
    """Some columns of the data, read a few rows at a time.

    Files are read a second time for these columns.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names and types of the columns.
    batches : callable
        Function that starts a new pass over the columns and returns an iterator of record batches.

    Examples
    --------
    >>> kept = open_kept(pa.table({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}), ["id"])
    >>> rows = kept.reader()
    >>> rows(2)[0].to_pylist(), rows(1)[0].to_pylist()
    (['a', 'b'], ['c'])
    """

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.schema = pa.schema([(field.name, _plain_type(field)) for field in schema])
        self._batches = batches

    def reader(self) -> Callable[[int], list[pa.Array]]:
        """Return a function of a number of rows, which returns that many next rows: one array per column."""
        coming, held = self._batches(), self.schema.empty_table()

        def rows(number: int) -> list[pa.Array]:
            nonlocal held
            while held.num_rows < number:
                batch = pa.Table.from_batches([next(coming)]).cast(self.schema)
                held = pa.concat_tables([held, batch])
            taken, held = held.slice(0, number), held.slice(number)
            return [pa.concat_arrays(column.chunks) if column.chunks else column for column in taken.columns]

        return rows


def open_kept(data: Any, requested: Any) -> KeptColumns:
    """Return the requested columns, by name or glob, of files or a frame.

    Notes
    -----
    Every row keeps its position. A line of a CSV file with too many or too few entries counts as a row, too: all
    its entries are missing. Ids in CSV files are kept as they are written.
    """
    scan = scan_of(data, None) if has_paths(data) else None
    if scan is not None:
        return _of_scan(scan, requested)
    table = data if arrow.accepts(data) else to_narwhals(data)
    if isinstance(table, nw.DataFrame):
        frame = nw.maybe_reset_index(table)
        chosen = frame[:, choose_names(names_of(frame), requested)].to_arrow()
    elif arrow.accepts(table):
        chosen = table.select(choose_names(table.schema.names, requested))
    else:
        what = ".npy and .npz files" if has_paths(data) else f"this {type(data).__name__}"
        raise InvalidInputError(
            f"expected data with named columns to keep columns of, but the columns of {what} have no names.",
            hint="Pass a data frame in memory, an Arrow table, or the path of Parquet, Feather or CSV files.",
        )
    whole = chosen if isinstance(chosen, pa.Table) else pa.Table.from_batches([chosen])
    return KeptColumns(whole.schema, partial(_batches_of, whole))


def _of_scan(scan: Scan, requested: Any) -> KeptColumns:
    names = [scan.schema.names[place] for place in choose_names(scan.schema.names, requested)]
    if isinstance(scan, CsvScan):
        for name in names:
            scan = as_text(scan, name)
    return KeptColumns(
        pa.schema([scan.schema.field(name) for name in names]), lambda: scan.batches(names, _HEIGHT)
    )


def _batches_of(table: pa.Table) -> Iterator[pa.RecordBatch]:
    return iter(table.to_batches(max_chunksize=_HEIGHT))


def _plain_type(field: pa.Field) -> pa.DataType:
    """Return the type in which a column is kept; refuse types whose entries are not single values."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_nested(kind):
        raise InvalidInputError(
            f"column {field.name!r} is of type {kind}, which cannot be kept next to scores.",
            hint="Keep columns of text, numbers or dates.",
        )
    return pa.string() if pa.types.is_string_view(kind) else kind
