"""Conversion of the paths that a user passes in to a list of files of one format."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eigenveil.errors import InvalidInputError, UnreadableError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".csv": "csv",
    ".npy": "npy",
    ".npz": "npz",
}
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")
_ENDINGS = "Supported extensions: " + ", ".join(FORMATS) + "."


def is_path(data: Any) -> bool:
    """Return whether the data are a path, a glob, or a list of paths and globs."""
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and all(isinstance(one, (str, os.PathLike)) for one in data)
    return isinstance(data, (str, os.PathLike))


def find(data: Any) -> tuple[str, list[str]]:
    """Return the format and the files: a list in its own order, globs and folders sorted by name."""
    files = find_files(data)
    formats = {_format(Path(file)) for file in files}
    if len(formats) > 1:
        raise InvalidInputError(
            f"expected files of one format, got {', '.join(sorted(formats))}.",
            hint="Select the files with a glob such as 'folder/**/*.parquet'.",
        )
    found = formats.pop()
    if found in ("parquet", "feather"):  # Arrow takes names as UTF-8 only
        _refuse_odd_names(files)
    return found, files


def find_files(data: Any) -> list[str]:
    """Return the files, of any format."""
    files = [file for one in (data if isinstance(data, (list, tuple)) else [data]) for file in _expand(one)]
    _refuse_twice(files)
    return [str(file) for file in files]


def _expand(one: str | os.PathLike[str]) -> list[Path]:
    if not os.fspath(one):  # which would be the current folder
        raise UnreadableError("expected a path, got an empty text.", hint="'.' is the current folder.")
    path = Path(os.path.expanduser(one))  # noqa: PTH111  # keeps the ~ of nobody, instead of raising
    if path.is_dir():
        return _inside(path)
    if path.exists():
        if not path.is_file():  # opening a pipe would wait for someone to write to it
            raise UnreadableError(f"{str(one)!r} is not a regular file.", hint="Write the data to a file first.")
        return [path]
    if not glob.has_magic(str(path)):
        raise UnreadableError(
            f"there is no file or folder {str(one)!r}.",
            hint=f"Relative paths start at {os.getcwd()!r}.",  # noqa: PTH109  # shown, not used
        )
    found = [Path(file) for file in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207  # absolute globs
    files = [file for file in found if file.is_file()]
    if not files:
        raise UnreadableError(
            f"no file matches {str(one)!r}.", hint="'*' matches within a folder, '**' also in all subfolders."
        )
    return files


def _inside(folder: Path) -> list[Path]:
    """Return all data files in a folder and its subfolders, except hidden ones, as writers of datasets expect."""
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in FORMATS and file.is_file() and not _hidden(file.relative_to(folder))
    )
    if not files:
        raise UnreadableError(f"the folder {str(folder)!r} contains no data files.", hint=_ENDINGS)
    return files


def _hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.parts)


def _format(file: Path) -> str:
    if file.suffix.lower() not in FORMATS:
        packed = "Unpack it first. " if file.suffix.lower() in _PACKED else ""
        raise InvalidInputError(
            f"cannot determine the format of {str(file)!r} from its extension.", hint=packed + _ENDINGS
        )
    return FORMATS[file.suffix.lower()]


def _refuse_odd_names(files: Iterable[str]) -> None:
    for file in files:
        if file != file.encode("utf-8", "replace").decode():
            raise UnreadableError(
                f"the name {file!a} is not valid text in the encoding of this process.",
                hint="Rename the file. If its name looks right in the shell, set PYTHONUTF8=1.",
            )


def _refuse_twice(files: Iterable[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise InvalidInputError(
                f"expected every file once, got {str(file)!r} twice: its rows would count twice.",
                hint="Pass every file once; a folder or glob in a list may overlap with other entries.",
            )
        seen.add(file.resolve())
