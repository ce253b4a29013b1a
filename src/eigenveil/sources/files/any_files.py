"""Files given by path, list of paths, glob or folder, and pyarrow datasets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Columns
from eigenveil.sources.files import numpy_files
from eigenveil.sources.files.csv_files import CsvFiles, CsvScan, read_as_encoded, scan_csv
from eigenveil.sources.files.paths import find, find_files, is_path
from eigenveil.sources.files.scans import Scan, scan_dataset, scan_feather, scan_parquet, text_parser_error
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrow import on_schema
from eigenveil.sources.people.on_disk import PeopleOnDisk
from eigenveil.sources.source import Block, Source, rows_per_block

_SCANS: dict[str, Callable[[list[str], str | None], Scan]] = {
    "parquet": scan_parquet,
    "feather": scan_feather,
    "csv": scan_csv,
}


def accepts(data: Any) -> bool:
    """Return whether the data are a path, a list of paths, CSV files or a dataset."""
    return has_paths(data) or _is_dataset(data)


def has_paths(data: Any) -> bool:
    """Return whether the data are paths of files."""
    return is_path(data) or isinstance(data, CsvFiles)


def refuse_to_replace(data: Any, path: str | os.PathLike[str]) -> None:
    """Raise if the data are paths of files, and `path` is, by whatever name, one of these files."""
    out = Path(path)
    if not has_paths(data) or not out.exists():
        return
    files = find_files(data.paths if isinstance(data, CsvFiles) else data)
    if any(file.exists() and file.samefile(out) for file in map(Path, files)):
        raise InvalidInputError(
            f"{os.fspath(path)!r} is one of the files to read: the result would replace the data.",
            hint="Write the result to another file.",
        )


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Open files or a dataset as a source of rows or people, in the order of the files."""
    if not has_paths(data):
        chosen = bool(getattr(data, "_scan_options", None))  # a filter may select rows by values
        return open_scan(_scan_of_dataset(data), layout=layout, units=units, fixed_places=not chosen)
    scan = scan_of(data, units)
    if scan is not None:
        return open_scan(scan, layout=layout, units=units)
    in_memory.check_order(data, units, "units")
    return numpy_files.open_numpy(find(data)[1], layout=layout, units=units)


def has_named_columns(data: Any) -> bool:
    """Return whether the columns of these files have names; columns of .npy and .npz files have none."""
    return isinstance(data, CsvFiles) or find(data)[0] in _SCANS


def scan_of(data: Any, units: Any) -> Scan | None:
    """Return a scan of files whose columns have names; None for .npy and .npz files."""
    unit = units if isinstance(units, str) else None
    if isinstance(data, CsvFiles):
        return scan_csv(find_files(data.paths), unit, header=data.header)
    layout, paths = find(data)
    return _SCANS[layout](paths, unit) if layout in _SCANS else None


def open_scan(scan: Scan, *, layout: Layout, units: Any, fixed_places: bool = True) -> Source:
    """Check the schema of a scan, and return a source of its rows or people.

    `fixed_places` is False if the files hold the result of a query, which may exclude or order rows by values. The
    rows of each person are then ordered by their content.
    """
    in_memory.check_order(scan, units, "units")
    if isinstance(scan, CsvScan):
        layout = layout.by_names(scan.schema.names, units=units)
        scan = read_as_encoded(scan, layout)
    exact, dtype = on_schema(layout, scan.schema, units)
    if units is None:
        return FilesSource(scan, exact, dtype, fixed_places)
    return PeopleOnDisk(scan, exact, dtype, units, by_content=not fixed_places)


def _scan_of_dataset(data: Any) -> Scan:
    """Return a scan of a dataset; refuse datasets of text files, where one malformed line can change others."""
    if _of_text(data):
        raise text_parser_error("a dataset")
    return scan_dataset(data)


def _of_text(data: Any) -> bool:
    own = getattr(getattr(data, "format", None), "default_extname", None) in ("csv", "json")
    return own or any(map(_of_text, getattr(data, "children", ())))


def _is_dataset(data: Any) -> bool:
    return type(data).__module__.startswith("pyarrow._dataset") and hasattr(data, "scanner")


@dataclass(frozen=True, repr=False, eq=False)
class FilesSource:
    """A source of rows in files; every row is a unit."""

    rereadable: ClassVar[bool] = True
    sparse: ClassVar[bool] = False

    scan: Scan
    layout: Layout
    dtype: np.dtype[Any]
    fixed_places: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names or ()

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def partitions(self) -> Sequence[FileRows]:
        """Return one partition per file; pickling a partition includes the path, not the rows."""
        return [FileRows(scan, self.layout, self.dtype) for scan in self.scan.by_file()]

    def blocks(self) -> Iterator[Block]:
        """Yield the rows of all files, one file after the other."""
        for partition in self.partitions():
            yield from partition.blocks()


@dataclass(frozen=True, repr=False, eq=False)
class FileRows:
    """Partition with the rows of one file."""

    scan: Scan
    layout: Layout
    dtype: np.dtype[Any]

    def blocks(self) -> Iterator[Block]:
        """Yield the rows in order; a few batches are decoded at a time."""
        height = rows_per_block(len(self.layout.names or ()) * self.dtype.itemsize)
        for batch in self.scan.batches([str(name) for name in self.layout.columns or ()], height):
            rows = Columns(self.layout.read(batch.columns, self.dtype))
            last = (len(rows) - 1) // height * height
            for start in range(0, last, height):
                yield Block(rows[start : start + height])
            if len(rows):  # a copy, so that holding it does not keep this batch while the next is decoded
                block = Block(np.asarray(rows[last:]))
                del batch, rows
                yield block
