"""The one interface of this room: a source hands out blocks of rows, as often as it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt
from scipy import sparse

from eigenveil._typing import IntArray
from eigenveil.kernels import Columns

Values: TypeAlias = "npt.NDArray[Any] | sparse.csr_array[Any, Any] | Columns"

BLOCK_BYTES = 4 << 20
"""A block is about this large at most. Larger ones leave the cache, and cost fresh pages of memory each time."""


@dataclass(frozen=True, repr=False, eq=False)
class Block:
    """Some rows of the data, or some people with all their rows.

    Parameters
    ----------
    values : ndarray, csr_array or Columns of shape (rows, n_columns)
        float64 or float32. An ndarray is C-contiguous; a csr_array has sorted indices and no duplicates; Columns
        become an ndarray by `np.asarray`.
    offsets : int64 array, optional
        Only from people: rows ``offsets[u]:offsets[u + 1]`` are those of person u.

    Notes
    -----
    Blocks, and all that hold data in this room, have no repr of their fields: it would show values.
    """

    values: Values
    offsets: IntArray | None = None


class Source(Protocol):
    """Anything that hands out its rows in blocks."""

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, where the data has them."""
        ...

    @property
    def rereadable(self) -> bool:
        """Whether `blocks` can be called more than once."""
        ...

    @property
    def fixed_places(self) -> bool:
        """Whether a unit's place and the number of units stay what they are when one unit becomes another.

        True where every row holds a place whatever is in it. False where people are gathered by their ids: places
        then follow the order of ids, and a person whose ids are missing has none.
        """
        ...

    def blocks(self) -> Iterator[Block]:
        """A fresh pass over the data; the order of rows is the same in every pass."""
        ...


def rows_per_block(bytes_per_row: float) -> int:
    """How many rows make a block: a multiple of 32 if it can be (loops take 32 at a time), and at least one."""
    rows = max(1, int(BLOCK_BYTES / max(1.0, bytes_per_row)))
    return rows - rows % 32 if rows > 32 else rows
