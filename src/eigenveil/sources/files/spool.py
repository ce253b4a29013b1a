"""Temporary files for rows that are slow to read: rows are written as they are read, so they are parsed once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eigenveil.errors import UnreadableError
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.guard import guarded
from eigenveil.sources.source import Block


class Spool:
    """Blocks of rows in a temporary file: the plain bytes of one row after the other.

    The file is in a folder that only the user can read and that is deleted with this object. It holds raw data.

    Formal guarantees
    -----------------
    Blocks are read as they were written, to the bit and in the same order. So every row has the same values and
    position as in the first pass, even if the original file has changed since.
    """

    def __init__(self) -> None:
        self._shapes: list[tuple[int, ...]] = []
        self._dtype: np.dtype[Any] = np.dtype(np.float64)

    @cached_property
    def _folder(self) -> TemporaryFolder:
        """Folder of the file, created when the first block is written."""
        return TemporaryFolder()

    @property
    def _path(self) -> Path:
        return self._folder.path / "rows"

    def write(self, blocks: Sequence[Block]) -> None:
        """Append blocks of dense rows of one type; raise OSError if there is no space for them."""
        with self._path.open("ab") as file:
            for block in blocks:
                rows = np.ascontiguousarray(block.values)
                self._shapes.append(rows.shape)
                self._dtype = rows.dtype
                file.write(rows.data)

    def blocks(self) -> Iterator[Block]:
        """Start a new pass over the blocks that were written."""
        gone = UnreadableError(
            "the temporary copy of the rows was removed or changed while it was in use.",
            hint="Set TMPDIR to a folder that is not cleaned up automatically, and fit again.",
        )
        return guarded(self._read(), gone, OSError, ValueError)

    def _read(self) -> Iterator[Block]:
        with self._path.open("rb") as file:
            for shape in self._shapes:
                yield Block(np.fromfile(file, self._dtype, count=math.prod(shape)).reshape(shape))
