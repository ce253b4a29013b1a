"""The one interface of this room: a source hands out partitions, and these their blocks, as often as asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eigenveil._typing import BoolArray, IntArray
from eigenveil.kernels import Columns
from eigenveil.sources.layout import Layout

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
        become an ndarray by `np.asarray`. Units that are matrices come in an ndarray of shape (units, d, d).
    offsets : int64 array, optional
        Only from people: rows ``offsets[u]:offsets[u + 1]`` are those of person u.

    Notes
    -----
    Blocks, and all that hold data in this room, have no repr of their fields: it would show values.

    Examples
    --------
    >>> block = Block(np.eye(3), np.array([0, 2, 3]))
    >>> block.units, block.between(1, 2).values.tolist()
    (2, [[0.0, 0.0, 1.0]])
    >>> block.only(np.array([True, False])).values.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    values: Values
    offsets: IntArray | None = None

    @property
    def units(self) -> int:
        """How many people there are, or rows where every row is a unit."""
        return int(self.values.shape[0]) if self.offsets is None else self.offsets.size - 1

    def only(self, keep: BoolArray) -> Block:
        """The units that are kept, in their order."""
        values: Any = self.values
        if self.offsets is None:
            return Block(values[keep])
        lengths = np.diff(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
        return Block(values[np.repeat(keep, lengths)], offsets)

    def between(self, first: int, last: int) -> Block:
        """Units first to last (not included), without a copy where the values allow it."""
        values: Any = self.values
        if self.offsets is None:
            return Block(values[first:last])
        offsets = self.offsets[first : last + 1]
        return Block(values[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0])


class Partition(Protocol):
    """A part of the data that is read where it is: it can be pickled, and hands out its blocks in any process."""

    def blocks(self) -> Iterator[Block]:
        """A fresh pass over the partition; units come in the same order in every pass."""
        ...


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
    def layout(self) -> Layout:
        """Which columns of the data these are and how they were read, with exact columns; all of it public."""
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

    @property
    def sparse(self) -> bool:
        """Whether the values of all blocks are csr_arrays; by kind or schema, never by values."""
        ...

    def partitions(self) -> Sequence[Partition]:
        """The parts that the data come in, the same and in the same order whenever they are asked for.

        All rows of a person are in one partition.
        """
        ...

    def blocks(self) -> Iterator[Block]:
        """The blocks of one partition after the other; a fresh pass every time."""
        ...


@dataclass(frozen=True, eq=False)
class Schema:
    """What is known of a source without its data: for operators that travel to where the data are."""

    n_columns: int
    columns: tuple[str, ...] | None
    layout: Layout
    rereadable: bool
    fixed_places: bool
    sparse: bool

    @classmethod
    def of(cls, source: Source) -> Schema:
        """The schema of a source."""
        return cls(
            source.n_columns,
            source.columns,
            source.layout,
            source.rereadable,
            source.fixed_places,
            source.sparse,
        )

    def partitions(self) -> Sequence[Partition]:
        """None: there are no data."""
        return ()

    def blocks(self) -> Iterator[Block]:
        """None: there are no data."""
        return iter(())


def rows_per_block(bytes_per_row: float) -> int:
    """How many rows make a block: a multiple of 32 if it can be (loops take 32 at a time), and at least one."""
    rows = max(1, int(BLOCK_BYTES / max(1.0, bytes_per_row)))
    return rows - rows % 32 if rows > 32 else rows
