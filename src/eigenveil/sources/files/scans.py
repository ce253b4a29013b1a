"""Scans of files: record batches in a fixed order, with a few in memory at a time for any number of rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.columns import is_index
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.guard import attempt, guarded
from eigenveil.sources.kinds import is_text
from eigenveil.sources.memory.arrow import index_of, with_index

_AHEAD = 4
"""Number of blocks decoded per call: a call has a fixed cost, and more blocks would only need more memory."""

_SMALL_GROUP = 100 << 20
_DECODED = 20 << 20
"""Maximum bytes of a row group that is decoded as a whole, and of columns that are decoded at the same time."""

_PAGES = 1 << 20
"""Bytes per column below which a larger group is decoded as a whole, too: its pages would take more memory."""

READ_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)


class Scan(Protocol):
    """Files with one schema, or a dataset."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        ...

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns in a fixed order, in batches of about `height` rows or as they are decoded."""
        ...

    def by_file(self) -> Sequence[Scan]:
        """Return one scan per file, with the schema of all files; together they have the same rows in order."""
        ...


@dataclass(frozen=True, repr=False, eq=False)
class ParquetScan:
    """Scan of Parquet files, read page by page.

    Notes
    -----
    The dataset scanner decodes whole row groups, and a row group may have a million rows. ``iter_batches`` holds
    one page per column, so its memory depends on the number of columns alone.
    """

    paths: list[str]
    schema: pa.Schema
    owner: TemporaryFolder | None = None

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of all files, one file after the other."""
        for path in self.paths:
            read = guarded(_parquet_batches(path, list(names), height), unreadable_file_error(path), *READ_ERRORS)
            yield from read

    def by_file(self) -> Sequence[ParquetScan]:
        """Return one scan per file."""
        return [replace(self, paths=[path]) for path in self.paths]


@dataclass(frozen=True, repr=False, eq=False)
class FeatherScan:
    """Scan of Feather (Arrow IPC) files, read one record batch at a time, with the size at which it was written.

    Notes
    -----
    The dataset scanner holds several batches, and a memory-mapped file would eventually be in memory as a whole.
    """

    paths: list[str]
    schema: pa.Schema

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Yield the named columns of all files, one file after the other."""
        for path in self.paths:
            yield from guarded(_feather_batches(path, list(names)), unreadable_file_error(path), *READ_ERRORS)

    def by_file(self) -> Sequence[FeatherScan]:
        """Return one scan per file."""
        return [replace(self, paths=[path]) for path in self.paths]


@dataclass(frozen=True, repr=False, eq=False)
class DatasetScan:
    """Scan of a pyarrow dataset that the user has opened, with little readahead; it is not split by file."""

    dataset: Any
    schema: pa.Schema

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """Yield the named columns of the dataset."""
        return guarded(
            _dataset_batches(self.dataset, names, height), unreadable_error("the dataset"), *READ_ERRORS
        )

    def by_file(self) -> Sequence[DatasetScan]:
        """Return this scan alone."""
        return [self]


def scan_parquet(
    paths: list[str], unit: str | None = None, *, owner: TemporaryFolder | None = None
) -> ParquetScan:
    """Return a scan of Parquet files, whose schemas are read immediately.

    `owner` is the temporary folder of the files, which is deleted with the scan.
    """
    del unit  # Parquet files define the type of ids
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy, and only for files

    return ParquetScan(paths, shared_schema(paths, pq.read_schema), owner)


def scan_dataset(dataset: Any) -> DatasetScan:
    """Return a scan of a dataset that the user has opened."""
    return DatasetScan(dataset, dataset.schema)


def scan_feather(paths: list[str], unit: str | None = None) -> FeatherScan:
    """Return a scan of Feather (Arrow IPC) files."""
    del unit  # Feather files define the type of ids
    import pyarrow.dataset as ds  # noqa: PLC0415

    dataset = attempt(lambda: ds.dataset(paths, format="feather"), unreadable_file_error(paths[0]), *READ_ERRORS)
    fragments = {fragment.path: fragment for fragment in dataset.get_fragments()}
    schema = shared_schema(list(fragments), lambda path: fragments[path].physical_schema)
    return FeatherScan(paths, schema)


def text_parser_error(what: str) -> InvalidInputError:
    """Return the error for text files that Arrow's own parser would read."""
    return InvalidInputError(
        f"expected the paths of text files, got {what} of text files, whose parser lets one line change others.",
        hint="Pass the paths of CSV files themselves, or write the data as Parquet.",
    )


def empty_file_error(path: str) -> UnreadableError | None:
    """Return the error for an empty file; None for other files."""
    with contextlib.suppress(OSError):
        if not Path(path).stat().st_size:
            return UnreadableError(
                f"could not read {path!r}: it is empty.", hint="Write the file again, with its columns and rows."
            )
    return None


def unreadable_file_error(path: str) -> UnreadableError:
    """Return the error for a file that cannot be read."""
    return empty_file_error(path) or unreadable_error(repr(path))


def unreadable_error(what: str) -> UnreadableError:
    """Return the error for unreadable data; the message of the reading library may quote the data."""
    return UnreadableError(
        f"could not read {what}: it is damaged, or contains values that do not fit the types of its columns.",
        hint="Open it with the program that wrote it, and write it again, preferably as Parquet.",
    )


def shared_schema(paths: list[str], read: Callable[[str], pa.Schema]) -> pa.Schema:
    """Return one schema for all files: columns in the order of the first file, types that can hold all files.

    A column is the row index if all files say so. Files that differ in this are refused, so no file makes a column
    of all others an index.
    """
    schemas: dict[pa.Schema, str] = {}
    indices: set[frozenset[str]] = set()
    for path in paths:
        schema = attempt(partial(_with_names, read, path), unreadable_file_error(path), *READ_ERRORS)
        schemas.setdefault(schema.remove_metadata(), path)
        indices.add(frozenset(name for name in index_of(schema) if not is_index(name)))
    first, *others = schemas
    for schema in others:
        _refuse_other_names(first.names, schema.names, schemas[first], schemas[schema])
    index, *different = indices
    if different:
        raise UnreadableError(
            "expected files with the same row index, but not all files say that the same columns are it.",
            hint="Write all files without a row index (pandas: frame.to_parquet(path, index=False); to keep the "
            "index as a column, frame.reset_index() first).",
        )
    if not others:  # unifying refuses duplicate names, which are valid if not selected
        return with_index(first, index)
    unlike = UnreadableError(
        f"expected files with columns of the same types, but types in {schemas[first]!r} and other files differ.",
        hint="Write all files with one schema.",
    )
    unified = attempt(lambda: pa.unify_schemas(list(schemas), promote_options="permissive"), unlike, *READ_ERRORS)
    return with_index(unified, index)


def _with_names(read: Callable[[str], pa.Schema], path: str) -> pa.Schema:
    """Return the schema of a file; raise ValueError if a name is not UTF-8."""
    schema = read(path)
    "".join(schema.names).encode()
    return schema


def _refuse_other_names(first: Sequence[str], other: Sequence[str], first_path: str, path: str) -> None:
    """Refuse a file whose columns are not those of the first file, in any order."""
    missing = sorted(set(first) ^ set(other))
    if missing:
        raise UnreadableError(
            f"expected files with the same columns, but {path!r} and {first_path!r} differ in {missing[:8]}.",
            hint="Write all files with one schema, or pass only files that belong together.",
        )


def ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same batches; the next batch is decoded while the current one is in use."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        coming = executor.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = executor.submit(next, batches, None)
            yield batch


def _parquet_batches(path: str, names: list[str], height: int) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file: small row groups as a whole, which is faster, and large ones page by page."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    how = {"buffer_size": 1 << 16, "pre_buffer": False, "page_checksum_verification": True}
    with pq.ParquetFile(path, **how) as file:
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if rows * len(names) * 8 <= max(_SMALL_GROUP, _PAGES * len(names)):
                yield from _small_group(file, group, names, rows)
            else:
                pages = file.iter_batches(batch_size=_AHEAD * height, row_groups=[group], columns=names)
                yield from (batch.select(names) for batch in ahead(pages))


def _small_group(file: Any, group: int, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield a row group, decoded a few columns at a time: decoding takes several times the result's memory."""
    some = max(1, _DECODED // (8 * max(1, rows)))
    columns: list[pa.ChunkedArray] = []
    for start in range(0, len(names), some):
        wanted = names[start : start + some]
        columns += file.read_row_group(group, columns=wanted).select(wanted).columns
    yield from pa.Table.from_arrays(columns, names=names).to_batches()


def _feather_batches(path: str, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the named columns of one file, with their types in that file; other columns are not decoded."""
    with pa.OSFile(path) as file:
        found = pa.ipc.open_file(file).schema.names
        place_of = {name: place for place, name in reversed(list(enumerate(found)))}
        places = [place_of[name] for name in names]
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=places))
        for number in range(reader.num_record_batches):  # no batch is held here while the next one is decoded
            yield _valid(reader.get_batch(number).select(names))


def _valid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch; raise if its buffers are inconsistent, as reading them could crash.

    Values are not checked: one text that is not UTF-8, or one odd date, must not refuse all other rows.
    """
    batch.validate()
    for column in batch.columns:
        _as_bytes(column).validate(full=True)
    return batch


def _as_bytes(column: pa.Array) -> pa.Array:
    """Return the same buffers as an array of a type in which every value is valid."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(column.indices, _as_bytes(column.dictionary), safe=False)
    if is_text(kind):
        return column.cast(_BYTES[kind])
    if types.is_date(kind) or types.is_time(kind):
        return column.view(f"int{kind.bit_width}")
    return column.view(pa.binary(kind.byte_width)) if types.is_decimal(kind) else column


_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def _dataset_batches(dataset: Any, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
    import pyarrow.dataset as ds  # noqa: PLC0415

    scanner = dataset.scanner(
        columns={name: ds.field(name) for name in names},
        batch_size=height,
        batch_readahead=1,
        fragment_readahead=1,
        use_threads=True,
        cache_metadata=False,
    )
    yield from map(_valid, scanner.to_batches())
