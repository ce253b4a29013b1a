"""Atomic writing of files: a file exists completely or not at all."""

from __future__ import annotations

import os
import pathlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """Yield a temporary path that replaces `path` when the block ends.

    If the block raises an exception, the temporary file is deleted and `path` stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(f"{folder}/note") as part:
    ...         _ = part.write_text("all of it")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['note']
    """
    whole = pathlib.Path(path)
    part = beside(whole)
    try:
        yield part
        to_disk(part)
        part.replace(whole)
        to_disk(whole.parent)
    finally:
        part.unlink(missing_ok=True)


def beside(path: pathlib.Path) -> pathlib.Path:
    """Return an unused hidden file name in the folder of `path`."""
    return path.with_name(f".{path.name}.part-{secrets.token_hex(8)}")


def to_disk(path: pathlib.Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk.

    Windows cannot do this for folders, so the function returns immediately there.
    """
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
