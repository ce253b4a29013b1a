"""Interface of all sources: a source has partitions, and a partition yields its blocks in every pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eigenveil._typing import BoolArray, IntArray
from eigenveil.kernels import Columns, Rescaled
from eigenveil.sources.layout import Layout

Values: TypeAlias = "npt.NDArray[Any] | sparse.csr_array[Any, Any] | Columns | Rescaled"

BLOCK_BYTES = 4 << 20
"""Approximate maximum size of a block. Larger blocks exceed the cache, and need new memory pages each time."""


@dataclass(frozen=True, repr=False, eq=False)
class Block:
    """Some rows of the data, or some people with all their rows.

    Parameters
    ----------
    values : ndarray, csr_array, Columns or Rescaled of shape (rows, n_columns)
        float64 or float32. An ndarray is C-contiguous; a csr_array has sorted indices and no duplicates; Columns
        and Rescaled become an ndarray by `np.asarray`. Units that are matrices come in an ndarray of shape
        (units, d, d).
    offsets : int64 array, optional
        Only if units are people: rows ``offsets[u]:offsets[u + 1]`` belong to person u.

    Notes
    -----
    Blocks, and all classes of this package that hold data, have no repr of their fields: it would show values.

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
        """Number of people, or of rows if every row is a unit."""
        return int(self.values.shape[0]) if self.offsets is None else self.offsets.size - 1

    def only(self, keep: BoolArray) -> Block:
        """Return the block of the units that are True in `keep`, in the same order."""
        values: Any = self.values
        if self.offsets is None:
            return Block(values[keep])
        lengths = np.diff(self.offsets)
        offsets = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
        return Block(values[np.repeat(keep, lengths)], offsets)

    def between(self, first: int, last: int) -> Block:
        """Return units first to last (excluded), without a copy if the values allow it."""
        values: Any = self.values
        if self.offsets is None:
            return Block(values[first:last])
        offsets = self.offsets[first : last + 1]
        return Block(values[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0])


class Partition(Protocol):
    """A part of the data that can be pickled, and yields its blocks in any process."""

    def blocks(self) -> Iterator[Block]:
        """Start a new pass over the partition; units have the same order in every pass."""
        ...


class Source(Protocol):
    """Data that can be read in blocks of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if the data have names."""
        ...

    @property
    def layout(self) -> Layout:
        """Which columns are read, and how, with exact columns; all of it is public."""
        ...

    @property
    def rereadable(self) -> bool:
        """Whether `blocks` can be called more than once."""
        ...

    @property
    def fixed_places(self) -> bool:
        """Whether replacing one unit changes neither the number of units nor the position of any unit.

        True if every row keeps its position, whatever its values. False if people are grouped by their ids:
        positions then follow the order of ids, and a person whose ids are missing has no position.
        """
        ...

    @property
    def sparse(self) -> bool:
        """Whether the values of all blocks are csr_arrays; determined by kind or schema, never by values."""
        ...

    def partitions(self) -> Sequence[Partition]:
        """Return the parts of the data, the same and in the same order in every call.

        All rows of a person are in one partition.
        """
        ...

    def blocks(self) -> Iterator[Block]:
        """Start a new pass over the blocks of all partitions, one partition after the other."""
        ...


@dataclass(frozen=True, eq=False)
class Schema:
    """Public properties of a source without its data: for operators that are sent to the workers with the data."""

    n_columns: int
    columns: tuple[str, ...] | None
    layout: Layout
    rereadable: bool
    fixed_places: bool
    sparse: bool

    @classmethod
    def of(cls, source: Source) -> Schema:
        """Return the schema of a source."""
        return cls(
            source.n_columns,
            source.columns,
            source.layout,
            source.rereadable,
            source.fixed_places,
            source.sparse,
        )

    def partitions(self) -> Sequence[Partition]:
        """Return no partitions: there are no data."""
        return ()

    def blocks(self) -> Iterator[Block]:
        """Return no blocks: there are no data."""
        return iter(())


def rows_per_block(bytes_per_row: float) -> int:
    """Return the number of rows per block: at least 1, and a multiple of 32 if possible (loops take 32)."""
    rows = max(1, int(BLOCK_BYTES / max(1.0, bytes_per_row)))
    return rows - rows % 32 if rows > 32 else rows
