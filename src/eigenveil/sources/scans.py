"""Scans of files: record batches in a fixed order, a few in memory at a time, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.guard import attempt, guarded
from eigenveil.sources.temporary import TemporaryFolder

_AHEAD = 4
"""Blocks decoded in one go: each go costs the same for any number of rows, and more would only take memory."""

_HEAD = 2000
"""Rows at the head of a CSV file by which its columns are judged."""

_SMALL_GROUP = 100 << 20
_DECODED = 20 << 20
"""Bytes of a row group that is decoded as a whole, and of the columns that are decoded at the same time."""

READ_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)


class Scan(Protocol):
    """Files of one schema, or a dataset."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        ...

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """The named columns in a fixed order, in batches of about `height` rows or what is decoded at once."""
        ...


@dataclass(frozen=True, repr=False, eq=False)
class ParquetScan:
    """Parquet files, read page by page.

    Notes
    -----
    The dataset scanner decodes whole row groups, and a row group may hold a million rows; ``iter_batches``
    holds one page per column, so that memory depends on the number of columns alone.
    """

    paths: list[str]
    schema: pa.Schema
    owner: TemporaryFolder | None = None

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """The named columns of one file after the other."""
        for path in self.paths:
            read = guarded(_parquet_batches(path, list(names), height), unreadable(repr(path)), *READ_ERRORS)
            yield from read


@dataclass(frozen=True, repr=False, eq=False)
class DatasetScan:
    """Any pyarrow dataset, with little read ahead."""

    dataset: Any
    schema: pa.Schema
    what: str

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """The named columns of the dataset."""
        failure = unreadable(self.what)
        for batch in guarded(iter(_dataset_batches(self.dataset, names, height)), failure, *READ_ERRORS):
            yield batch
            del batch


@dataclass(frozen=True, repr=False, eq=False)
class CsvScan:
    """CSV files, whose numbers come as text."""

    text: DatasetScan
    schema: pa.Schema

    def batches(self, names: Sequence[str], height: int) -> Iterator[pa.RecordBatch]:
        """The named columns, numbers as numbers."""
        fields = [self.schema.field(name) for name in names]
        wanted = pa.schema([f if f.type == pa.float64() else f.with_type(pa.string()) for f in fields])
        for batch in self.text.batches(names, height):
            columns = [
                _numbers(column) if field.type == pa.float64() else column
                for column, field in zip(batch.columns, wanted, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def scan_parquet(
    paths: list[str], unit: str | None = None, *, owner: TemporaryFolder | None = None
) -> ParquetScan:
    """A scan of Parquet files, whose schemas are read at once; the folder they may be in lives as long."""
    del unit  # Parquet says what type its ids have
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy, and only for files

    return ParquetScan(paths, shared_schema(paths, pq.read_schema), owner)


def scan_dataset(dataset: Any) -> DatasetScan:
    """A scan of a dataset that the user has opened."""
    return DatasetScan(dataset, dataset.schema, "the dataset")


def scan_feather(paths: list[str], unit: str | None = None) -> DatasetScan:
    """A scan of Feather (Arrow IPC) files."""
    del unit  # Feather says what type its ids have
    return _scan_files(paths, "feather", lambda schema: schema)


def scan_csv(paths: list[str], unit: str | None = None) -> CsvScan:
    """A scan of CSV files. A column holds numbers if most entries at the head of the files do; ids are text.

    All is read as text, and numbers are made entry by entry: what is none becomes null, and lines with too many or
    too few entries are left out. So a single odd entry changes nothing but its own row.
    """
    import pyarrow.csv as pc  # noqa: PLC0415
    import pyarrow.dataset as ds  # noqa: PLC0415

    layout = ds.CsvFileFormat(
        parse_options=pc.ParseOptions(invalid_row_handler=lambda _: "skip"),
        convert_options=pc.ConvertOptions(strings_can_be_null=True),
        read_options=pc.ReadOptions(block_size=4 << 20),
    )
    guessed = _scan_files(paths, layout, lambda schema: _widened(schema, unit))
    texts = pa.schema([(name, pa.string()) for name in guessed.schema.names])
    text = DatasetScan(ds.dataset(paths, format=layout, schema=texts), texts, guessed.what)
    heads = [next(text.batches([name], _HEAD), None) for name in texts.names]
    kinds = [
        pa.string() if field.name == unit else _kind(field, head)
        for field, head in zip(guessed.schema, heads, strict=True)
    ]
    return CsvScan(text, pa.schema(list(zip(texts.names, kinds, strict=True))))


def _kind(field: pa.Field, head: pa.RecordBatch | None) -> pa.DataType:
    """float64 where most entries of the head that are there are numbers, else the type that was guessed."""
    if head is None or field.type == pa.float64():
        return field.type
    there = head.num_rows - head.column(0).null_count
    numbers = head.num_rows - _numbers(head.column(0)).null_count
    return pa.float64() if 2 * numbers > there else field.type


def unreadable(what: str) -> InvalidInputError:
    """The error for a file that is not what its ending says; the reader's own words may quote the data."""
    return InvalidInputError(
        f"could not read {what}: it is damaged, or holds values that do not fit its columns' types.",
        hint="Open it with the program that wrote it, and write it again, best as Parquet.",
    )


def shared_schema(paths: list[str], read: Callable[[str], pa.Schema]) -> pa.Schema:
    """One schema for all files: columns in the order of the first, types wide enough for all."""
    schemas: dict[pa.Schema, str] = {}
    for path in paths:
        schema = attempt(partial(read, path), unreadable(repr(path)), *READ_ERRORS).remove_metadata()
        schemas.setdefault(schema, path)
    first, *others = schemas
    for schema in others:
        _refuse_other_names(first, schema, schemas[first], schemas[schema])
    unlike = InvalidInputError(
        f"expected files with columns of the same types, but those of {schemas[first]!r} and others differ.",
        hint="Write all files with one schema.",
    )
    return attempt(lambda: pa.unify_schemas(list(schemas), promote_options="permissive"), unlike, *READ_ERRORS)


def _refuse_other_names(first: pa.Schema, other: pa.Schema, first_path: str, path: str) -> None:
    missing = sorted(set(first.names) ^ set(other.names))
    if missing:
        raise InvalidInputError(
            f"expected files with the same columns, but {path!r} and {first_path!r} differ in {missing[:8]}.",
            hint="Write all files with one schema, or pass only those that belong together.",
        )


def _scan_files(paths: list[str], layout: Any, widen: Callable[[pa.Schema], pa.Schema]) -> DatasetScan:
    import pyarrow.dataset as ds  # noqa: PLC0415

    dataset = attempt(lambda: ds.dataset(paths, format=layout), unreadable(repr(paths[0])), *READ_ERRORS)
    fragments = {fragment.path: fragment for fragment in dataset.get_fragments()}
    schema = widen(shared_schema(list(fragments), lambda path: widen(fragments[path].physical_schema)))
    return DatasetScan(ds.dataset(paths, format=layout, schema=schema), schema, f"{paths[0]!r}{_others(paths)}")


def _others(paths: list[str]) -> str:
    return f" or one of {len(paths) - 1} more files" if len(paths) > 1 else ""


def _widened(schema: pa.Schema, unit: str | None) -> pa.Schema:
    """Types that the rest of a CSV file fits as well as its head: 1 may be followed by 1.5."""
    return pa.schema([f if f.name == unit else f.with_type(_wide(f.type)) for f in schema])


def _wide(kind: pa.DataType) -> pa.DataType:
    tests = (pa.types.is_integer, pa.types.is_null, pa.types.is_boolean)
    return pa.float64() if any(test(kind) for test in tests) else kind


_NUMBER = r"^-?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf)$"


def _numbers(text: pa.Array) -> pa.Array:
    """Numbers from text; true is 1, false is 0, and what is no number is null."""
    import pyarrow.compute as pc  # noqa: PLC0415

    plain = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    for pattern, plainer in ((r"^\+", ""), ("^true$", "1"), ("^false$", "0")):
        plain = pc.replace_substring_regex(plain, pattern, plainer)
    fine = pc.match_substring_regex(plain, _NUMBER)
    return pc.if_else(fine, plain, pa.scalar(None, pa.string())).cast(pa.float64())


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, the next of which is decoded while the last is in use."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        coming = executor.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = executor.submit(next, batches, None)
            yield batch


def _parquet_batches(path: str, names: list[str], height: int) -> Iterator[pa.RecordBatch]:
    """Row groups in one go where they are small, since that is faster, and page by page where they are not."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    with pq.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as file:
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if rows * len(names) * 8 <= _SMALL_GROUP:
                yield from _small_group(file, group, names, rows)
            else:
                pages = file.iter_batches(batch_size=_AHEAD * height, row_groups=[group], columns=names)
                yield from (batch.select(names) for batch in _ahead(pages))


def _small_group(file: Any, group: int, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """A row group, decoded some columns at a time: decoding takes several times the memory of the result."""
    some = max(1, _DECODED // (8 * max(1, rows)))
    columns: list[pa.ChunkedArray] = []
    for start in range(0, len(names), some):
        wanted = names[start : start + some]
        columns += file.read_row_group(group, columns=wanted).select(wanted).columns
    yield from pa.Table.from_arrays(columns, names=names).to_batches()


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
    yield from scanner.to_batches()
