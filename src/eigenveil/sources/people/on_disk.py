"""People whose rows are spread over files: sorted once by DuckDB, which spills to disk, then read in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Columns
from eigenveil.sources.files.scans import Scan, scan_parquet
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.kinds import is_text
from eigenveil.sources.layout import Layout, floats
from eigenveil.sources.people.in_memory import HEAD, check_length, exact, refuse_odd, sortable, starts, to_ids
from eigenveil.sources.source import Block, rows_per_block

_LEAST_MEGABYTES = 256
_VECTORS = 160
"""DuckDB processes vectors of 2048 rows; memory for this many vectors was enough for every size that was tried."""

_GROUP = 1 << 12
_UNIT, _ROW = "unit", "row"


class PeopleOnDisk:
    """A source of people: a unit is all rows with the same id, anywhere in the files.

    Parameters
    ----------
    scan : Scan
        Scan of the files.
    layout : Layout
        Which columns to read, by exact name, and how to read them.
    dtype : numpy dtype
        Type of the values: float32 or float64.
    units : str or array-like
        Name of the unit column, or one id per row.
    by_content : bool
        Whether the rows of a person are ordered by their content, not by their position. Needed if the order of
        rows may depend on rows of other people, for example in the result of a database query. Results for a
        person depend, in their last bits, on the order of the person's rows.

    Notes
    -----
    The first pass sorts the rows by (id, position), or (id, content), into a temporary Parquet file, which is
    deleted with this object. Every pass then reads that file from start to end. The sort takes the memory that
    `sort_within` allows, and spills the rest to disk. All people are one partition. A copy in another process
    sorts the rows there again. Clusters group the rows of each person themselves (`buckets`).
    """

    rereadable: ClassVar[bool] = True
    fixed_places: ClassVar[bool] = False
    sparse: ClassVar[bool] = False

    def __init__(
        self, scan: Scan, layout: Layout, dtype: np.dtype[Any], units: Any, *, by_content: bool = False
    ) -> None:
        from eigenveil._extras import duckdb  # noqa: F401, PLC0415  # if missing, raise before anything is charged

        self._scan = scan
        self._memory = 0
        self._by_content = by_content
        self.layout = layout
        self._dtype = dtype
        self._named = units if isinstance(units, str) else None
        self._ids = None if isinstance(units, str) else _sorted_exactly(to_ids(units))
        if self._named is not None:
            _refuse_nested(self._named, scan.schema.field(self._named).type)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the sorted file, which belongs to this object and this machine."""
        return {name: value for name, value in vars(self).items() if name != "_sorted"}

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names or ()

    def partitions(self) -> Sequence[Self]:
        """Return all people as one partition."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of whole people: about as many as fit in a block, and at least one."""
        people = _PeopleBuffer(self._height)
        previous = None
        names = [*map(str, range(self.n_columns)), _UNIT]
        for batch in _slices(self._sorted.batches(names, self._height), self._height):
            ids = batch.column(self.n_columns)
            values = np.asarray(Columns([floats(column, self._dtype) for column in batch.columns[:-1]]))
            yield from people.add(values, starts(ids, previous=previous))
            previous = ids[-1]
        yield from people.rest()

    def sort_within(self, memory: int) -> None:
        """Set the memory for the sort in bytes, if the sort has not been done yet.

        The sort takes at least 256 MB, or 2.5 MB per column if that is more. The order of rows does not depend on
        the memory.
        """
        self._memory = memory

    @property
    def _height(self) -> int:
        return rows_per_block(self.n_columns * self._dtype.itemsize)

    @cached_property
    def _sorted(self) -> Scan:
        folder = TemporaryFolder()
        path = folder.path / "people.parquet"
        content = [f'"{position}"' for position in range(self.n_columns)] if self._by_content else []
        by = ", ".join([_UNIT, *content, _ROW])
        _sort(self._numbered(), self._schema, by=by, folder=folder.path, path=path, memory=self._memory)
        return scan_parquet([str(path)], owner=folder)

    @cached_property
    def _schema(self) -> pa.Schema:
        kind = _sorted_exactly(pa.array([], self._id_type)).type if self._ids is None else self._ids.type
        number = pa.from_numpy_dtype(self._dtype)
        numbers = [(str(position), number) for position in range(self.n_columns)]
        return pa.schema([*numbers, (_UNIT, kind), (_ROW, pa.int64())])

    @property
    def _id_type(self) -> pa.DataType:
        """Type in which the ids of all files are compared."""
        return sortable(pa.array([], self._scan.schema.field(self._named).type)).type

    def _numbered(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that have an id, with the id and their position in the files."""
        done = 0
        chosen = [str(name) for name in self.layout.columns or ()]
        names = chosen if self._named is None else [*chosen, self._named]
        for batch in _slices(self._scan.batches(names, self._height), self._height):
            ids = self._ids_of(batch, done)
            rows = pa.array(np.arange(done, done + batch.num_rows))
            done += batch.num_rows
            numbers = self.layout.read(batch.columns[: len(chosen)], self._dtype)
            columns = [*map(pa.array, numbers), ids, rows]
            cast = [
                column.cast(kind, safe=False) for column, kind in zip(columns, self._schema.types, strict=True)
            ]
            yield pa.record_batch(cast, schema=self._schema).filter(ids.is_valid())
        if self._ids is not None:
            check_length(self._ids, done)

    def _ids_of(self, batch: pa.RecordBatch, done: int) -> pa.Array:
        if self._ids is None:
            plain = sortable(batch.columns[-1])
            ids = exact(plain, self._id_type)
            if done == 0:
                refuse_odd(pc.count(plain[:HEAD]).as_py(), pc.count(ids[:HEAD]).as_py())
            return _sorted_exactly(ids.cast(self._id_type, safe=False))
        if len(self._ids) < done + batch.num_rows:
            raise InvalidInputError(
                f"expected one id per row, got {len(self._ids)} ids for a larger number of rows.",
                hint="units=[...] must contain the id of each row's person, in the order of the rows.",
            )
        return self._ids.slice(done, batch.num_rows)


class _PeopleBuffer:
    """Buffer of rows in the order of people; the last person is held until all of that person's rows have come."""

    def __init__(self, height: int) -> None:
        self._height = height
        self._values: list[npt.NDArray[Any]] = []
        self._fresh: list[npt.NDArray[np.bool_]] = []

    def add(self, values: npt.NDArray[Any], fresh: npt.NDArray[np.bool_]) -> Iterator[Block]:
        """Add rows, and whether each is the first of a person; yield a block if enough people are complete."""
        held = sum(map(len, self._values))
        begins = np.flatnonzero(fresh)
        if held + len(values) >= self._height and len(begins) > 0 and held + begins[-1] > 0:
            last = begins[-1]
            yield self._block(values[:last], fresh[:last])
            self._values, self._fresh = [values[last:]], [fresh[last:]]
        else:
            self._values.append(values)
            self._fresh.append(fresh)

    def rest(self) -> Iterator[Block]:
        """Yield the remaining rows after all rows have been added."""
        if self._values:
            values, fresh = self._values.pop(), self._fresh.pop()
            yield self._block(values, fresh)

    def _block(self, values: npt.NDArray[Any], fresh: npt.NDArray[np.bool_]) -> Block:
        offsets = np.append(np.flatnonzero(np.concatenate([*self._fresh, fresh])), 0).astype(np.int64)
        joined = np.concatenate([*self._values, values])
        offsets[-1] = len(joined)
        return Block(joined, offsets)


def _sorted_exactly(ids: pa.Array) -> pa.Array:
    """Return ids in a type that DuckDB keeps to the bit.

    DuckDB stores times in microseconds, and refuses text that is not UTF-8.
    """
    if is_text(ids.type):
        return ids.cast(pa.large_binary())
    return ids.view(f"int{ids.type.bit_width}") if pa.types.is_temporal(ids.type) else ids


def _refuse_nested(name: str, kind: pa.DataType) -> None:
    if pa.types.is_nested(kind):
        raise InvalidInputError(
            f"expected a unit column of numbers, text or dates, but {name!r} is of type {kind}.",
            hint="Write the id as one number or text per row.",
        )


def _sort(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, *, by: str, folder: Path, path: Path, memory: int
) -> None:
    """Sort rows by the columns of `by` into a Parquet file, with `memory` bytes or the minimum if that is more."""
    import duckdb  # noqa: PLC0415  # heavy, and only for people in files

    failures: list[InvalidInputError] = []
    reader = pa.RecordBatchReader.from_batches(schema, _recording_failures(batches, failures))
    megabytes = max(_LEAST_MEGABYTES, _VECTORS * 2048 * 8 * len(schema) >> 20, memory >> 20)
    spill = str(folder / "spill")
    limits: dict[str, Any] = {"memory_limit": f"{megabytes}MiB", "temp_directory": spill, "threads": 1}
    with contextlib.suppress(duckdb.Error), duckdb.connect(config=limits) as connection:
        connection.execute("SET enable_progress_bar = false")  # else drawn on stdout, in sessions and python -c
        connection.register("rows", reader)
        ordered = connection.table("rows").order(by)
        ordered.write_parquet(str(path), row_group_size=_GROUP, compression="uncompressed")
        return
    raise (
        failures[0]
        if failures
        else InvalidInputError(
            f"could not sort the rows by id (type {schema.field(_UNIT).type}) on disk, within {megabytes} MB.",
            hint=f"Check the free space in {str(folder.parent)!r} (TMPDIR), allow more memory "
            "(LocalEngine(memory=...), or --memory), or use whole numbers or text as ids.",
        )
    )


def _slices(batches: Iterator[pa.RecordBatch], height: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of at most `height` rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, height):
            yield batch.slice(start, height)


def _recording_failures(
    batches: Iterator[pa.RecordBatch], failures: list[InvalidInputError]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches; record a failure in `failures`, since DuckDB raises its own error instead."""
    try:
        yield from batches
    except InvalidInputError as failure:
        failures.append(failure)
        raise
