"""Rows written to a temporary file as they are read, so that what was slow to read is read once."""

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
    """Blocks of rows in a file: the bytes of one row after the other, in plain form.

    The file is in a folder that only the user can read and that goes with this object. It holds raw data.

    Formal guarantees
    -----------------
    Blocks come back as they were written, to the bit and in their order, so a row is what it was in the first pass
    and holds the same place, whatever has become of the file that it came from.
    """

    def __init__(self) -> None:
        self._shapes: list[tuple[int, ...]] = []
        self._dtype: np.dtype[Any] = np.dtype(np.float64)

    @cached_property
    def _folder(self) -> TemporaryFolder:
        """Made when there is something to write."""
        return TemporaryFolder()

    @property
    def _path(self) -> Path:
        return self._folder.path / "rows"

    def write(self, blocks: Sequence[Block]) -> None:
        """Add blocks of dense rows of one type; raises OSError where there is no space for them."""
        with self._path.open("ab") as file:
            for block in blocks:
                rows = np.ascontiguousarray(block.values)
                self._shapes.append(rows.shape)
                self._dtype = rows.dtype
                file.write(rows.data)

    def blocks(self) -> Iterator[Block]:
        """The blocks that were written; a fresh pass every time."""
        gone = UnreadableError(
            "the temporary copy of the rows was removed or changed while it was in use.",
            hint="Set TMPDIR to a folder that nobody cleans up, and fit again.",
        )
        return guarded(self._read(), gone, OSError, ValueError)

    def _read(self) -> Iterator[Block]:
        with self._path.open("rb") as file:
            for shape in self._shapes:
                yield Block(np.fromfile(file, self._dtype, count=math.prod(shape)).reshape(shape))
