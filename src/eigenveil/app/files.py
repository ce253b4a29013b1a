"""Files on this machine: a listing of folders with data files, and the columns and types of a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources import open_source
from eigenveil.sources.files.any_files import scan_of
from eigenveil.sources.files.paths import FORMATS
from eigenveil.sources.kinds import ColumnType, Kind, arrow_type

MOST_COLUMNS = 2000
"""Maximal number of columns that the page lists."""


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A folder: its subfolders and its data files, without hidden ones.

    Parameters
    ----------
    folder, parent : Path
        The folder, and the folder that contains it.
    folders, files : tuple of Path
        Subfolders, and files with the extension of a supported format, sorted by name.
    """

    folder: Path
    parent: Path
    folders: tuple[Path, ...]
    files: tuple[Path, ...]


def list_folder(folder: str) -> Listing:
    """List a folder. Names that are not valid Unicode are left out, because an address cannot contain them."""
    path = absolute(folder)
    if not path.is_dir():
        raise UnreadableError(f"there is no folder {str(path)!r}.")
    found = sorted(one for one in path.iterdir() if not one.name.startswith(".") and _is_text(one.name))
    return Listing(
        folder=path,
        parent=path.parent,
        folders=tuple(one for one in found if one.is_dir()),
        files=tuple(one for one in found if one.suffix.lower() in FORMATS and one.is_file()),
    )


def absolute(path: str) -> Path:
    """Return the absolute path of what a user has typed."""
    if not path.strip() or "\0" in path or not _is_text(path):
        raise InvalidInputError("expected the path of a file or folder, as text, got none.")
    home = os.path.expanduser(path.strip())  # noqa: PTH111  # keeps the ~ of nobody, instead of raising
    return Path(os.path.abspath(home))  # noqa: PTH100  # keeps links, unlike resolve


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class FileColumns:
    """Columns of a file: schema only, no values.

    Parameters
    ----------
    path : str
        Absolute path of a file or folder, or a glob.
    names : tuple of str, optional
        Names of the columns. None for arrays, whose columns have no names.
    types : tuple of ColumnType
        Types of the columns.
    """

    path: str
    names: tuple[str, ...] | None
    types: tuple[ColumnType, ...]

    @property
    def keys(self) -> tuple[str | int, ...]:
        """How a column is selected: by name, or by position if it has none."""
        return self.names if self.names is not None else tuple(range(len(self.types)))

    def label(self, position: int) -> str:
        """Return the name of a column for a reader."""
        return f"column {position}" if self.names is None else self.names[position]


def columns_of(data: str) -> FileColumns:
    """Read the columns and types of a file. Types in CSV files come from the head; no other value is read."""
    path = str(absolute(data))
    scan = scan_of(path, None)
    if scan is not None:
        names = tuple(scan.schema.names)
        types = tuple(arrow_type(kind) for kind in scan.schema.types)
    else:
        names = None
        types = (ColumnType("number", Kind.NUMBER),) * open_source(path).n_columns
    if len(types) > MOST_COLUMNS:
        raise InvalidInputError(
            f"this page lists up to {MOST_COLUMNS:,} columns, but the file has {len(types):,}.",
            hint="Use the command line: eigenveil fit --help.",
        )
    return FileColumns(path=path, names=names, types=types)
