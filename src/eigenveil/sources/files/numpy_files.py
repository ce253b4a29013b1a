"""Arrays in files: .npy (memory-mapped) and .npz (one array, or a sparse matrix as scipy saves it).

Opening a file reads its shape and type only. The array in an .npz file is read as a whole when the first row is
requested. Only the path is sent to another process, which opens the array there.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.columns import refuse_named_unit
from eigenveil.sources.files.free_memory import memory_left
from eigenveil.sources.files.scans import empty_file_error
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrays import check_matrix
from eigenveil.sources.memory.rows import Rows, RowsSource
from eigenveil.sources.people.in_memory import group
from eigenveil.sources.source import Source, Values

_ERRORS = (Exception,)
"""What the parsers of numpy, scipy and zipfile raise for damaged files, for example TokenError and zlib.error."""

_HEADERS: dict[tuple[int, int], Callable[[Any], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def open_numpy(paths: list[str], *, layout: Layout, units: Any) -> Source:
    """Open the array in a file as a source of rows or people."""
    if len(paths) != 1:
        raise InvalidInputError(
            f"expected one .npy or .npz file, got {len(paths)}.",
            hint="Pass a list of arrays: [np.load(path, mmap_mode='r') for path in paths].",
        )
    path = paths[0]
    shape, dtype, is_sparse = _schema(path)
    if dtype.hasobject:
        raise _unreadable_error(path)
    check_matrix("sparse array" if is_sparse else "array", dtype, shape)
    refuse_named_unit(units)
    rows = RowsInFile(path, (shape[0], shape[1]), dtype, layout.by_positions(shape[1]), is_sparse)
    return RowsSource(rows) if units is None else group(rows, units)


@dataclass(frozen=True, repr=False, eq=False)
class RowsInFile:
    """Rows of an array whose shape is known, and whose values are loaded when the first row is requested."""

    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    layout: Layout
    sparse: bool

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone, without the array that has been opened."""
        return {name: value for name, value in vars(self).items() if name != "_rows"}

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1] if self.layout.columns is None else len(self.layout.columns)

    @property
    def columns(self) -> None:
        """None: arrays have no names of columns."""

    @property
    def row_bytes(self) -> float:
        """Approximate size of a row in a block, in bytes."""
        return self._rows.row_bytes

    def between(self, start: int, stop: int) -> Values:
        """Return rows start to stop."""
        return self._rows.between(start, stop)

    def at(self, index: IntArray) -> Values:
        """Return the rows at these positions."""
        return self._rows.at(index)

    def ids(self, units: Any) -> Any:
        """Return the ids that were passed in."""
        return units

    @cached_property
    def _rows(self) -> Rows:
        array = attempt(lambda: _opened(self.path, is_sparse=self.sparse), _unreadable_error(self.path), *_ERRORS)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise UnreadableError(
                f"expected the array in {self.path!r} as it was when opened, but its shape or type has changed.",
                hint="Open the file again when it is completely written.",
            )
        return in_memory.hold(array, layout=self.layout, units=None)


def _unreadable_error(path: str) -> UnreadableError:
    return empty_file_error(path) or UnreadableError(
        f"could not read an array of numbers from {path!r}: it is damaged, or contains objects.",
        hint="Write it with np.save, np.savez (one array) or scipy.sparse.save_npz.",
    )


def _schema(path: str) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Return the shape and type of the array in a file, and whether it is sparse."""
    if not _zipped(path):
        array = attempt(lambda: _opened(path, is_sparse=False), _unreadable_error(path), *_ERRORS)
        return array.shape, array.dtype, False
    with attempt(lambda: zipfile.ZipFile(path), _unreadable_error(path), *_ERRORS) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        is_sparse = {"format", "shape", "data"} <= set(names)
        if not is_sparse and len(names) != 1:
            raise InvalidInputError(
                f"expected one array in {path!r}, found {len(names)}: {names}.",
                hint="Load the array that you need: np.load(path)[name].",
            )
        read = _sparse_schema if is_sparse else _dense_schema
        schema = attempt(lambda: read(archive), _unreadable_error(path), *_ERRORS)
        _refuse_larger_than_memory(path, attempt(lambda: _size(archive), _unreadable_error(path), *_ERRORS))
        return (*schema, is_sparse)


def _zipped(path: str) -> bool:
    return path.lower().endswith(".npz")


def _opened(path: str, *, is_sparse: bool) -> Any:
    """Return the array in a file: memory-mapped, or read as a whole if it is in an archive."""
    if is_sparse:
        return sparse.load_npz(path)
    if not _zipped(path):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("an archive with another extension")  # like np.load for invalid files
        return array
    with np.load(path, allow_pickle=False) as file:
        return file[file.files[0]]


def _dense_schema(archive: zipfile.ZipFile) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type of the only array in an archive, from its header."""
    return _header(archive, archive.namelist()[0])


def _sparse_schema(archive: zipfile.ZipFile) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type of a sparse matrix; its shape is a separate array, with one number per axis."""
    axes, _ = _header(archive, "shape.npy")
    if len(axes) != 1 or axes[0] > 2:
        raise ValueError
    with archive.open("shape.npy") as member:
        shape = np.lib.format.read_array(member, allow_pickle=False)
    return tuple(int(length) for length in shape), _header(archive, "data.npy")[1]


def _size(archive: zipfile.ZipFile) -> int:
    """Return the bytes of all arrays, as stated by their headers; a few compressed bytes can state any number."""
    headers = [_header(archive, name) for name in archive.namelist()]
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in headers)


def _refuse_larger_than_memory(path: str, size: int) -> None:
    left = memory_left()
    if left is not None and size > left:
        raise UnreadableError(
            f"the arrays in {path!r} have {size:,} bytes when unpacked, which do not fit in memory.",
            hint="Save the array with np.save: parts of an .npy file are read when they are needed.",
        )


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        shape, _, dtype = _HEADERS[version](member)
    return shape, dtype
