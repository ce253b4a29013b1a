"""Iterables of blocks: arrays, sparse matrices, frames or Arrow tables, each with any number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Self

from eigenveil.errors import InvalidInputError
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.rows import Rows, RowsSource
from eigenveil.sources.source import Block


def accepts(data: Any) -> bool:
    """Return whether the data are iterable."""
    return isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping))


def open_kind(data: Any, *, layout: Layout, units: Any) -> BlocksSource:
    """Open an iterable of blocks as a source."""
    if units is not None:
        raise InvalidInputError(
            f"units cannot be used with blocks ({type(data).__name__}): rows of one person may be in several.",
            hint="Load the blocks into one array or frame, or write them to Parquet and pass the path.",
        )
    return BlocksSource(data, layout)


class BlocksSource:
    """A source of blocks from an iterable; large blocks are split.

    Parameters
    ----------
    data : iterable
        2-D blocks. An iterator, which can be read only once, is read only once. In a list or tuple, the columns of
        all blocks are checked at once; otherwise when they are read.
    layout : Layout
        Which columns of each block to read, and how to read them.
    """

    def __init__(self, data: Iterable[Any], layout: Layout) -> None:
        self._data = data
        self._declared_layout = layout
        iterator = iter(data)
        self._once = iterator if iterator is data else None
        self._first = next(iterator, None)
        if self._first is None:
            raise InvalidInputError(
                "expected at least one block of rows, got an empty iterable.",
                hint="Yield at least one 2-D block; it may have no rows.",
            )
        rows = self._held(self._first, 0)
        self._n_columns, self._columns, self._kind = rows.n_columns, rows.columns, type(rows)
        self._layout, self._sparse = rows.layout, rows.sparse
        for number, item in enumerate(data[1:] if isinstance(data, (list, tuple)) else (), 1):
            self._check(self._held(item, number), number)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process; refuse if the blocks come from an iterator."""
        if self._once is None:
            return vars(self)
        raise InvalidInputError(
            f"a {type(self._data).__name__} can be read only here and only once, so it cannot be sent to another "
            "process.",
            hint="Pass a list of blocks or an array, or write the rows to Parquet and pass the path.",
        )

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if the blocks have names."""
        return self._columns

    @property
    def layout(self) -> Layout:
        """Layout of the first block."""
        return self._layout

    @property
    def rereadable(self) -> bool:
        """Whether the blocks can be read again: False for a generator or another iterator."""
        return self._once is None

    @property
    def fixed_places(self) -> bool:
        """True: every row keeps its position."""
        return True

    @property
    def sparse(self) -> bool:
        """Whether the first block is sparse; blocks of another kind are refused."""
        return self._sparse

    def partitions(self) -> Sequence[Self]:
        """Return all blocks as one partition, which can be pickled unless the blocks come from an iterator."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        if self._once is None:
            return self._pass(iter(self._data))
        if self._first is None:
            raise InvalidInputError(
                f"a {type(self._data).__name__} can be read only once, and it has been read already.",
                hint="Pass a list of blocks or an array, or write the rows to Parquet and pass the path.",
            )
        first, self._first = self._first, None
        return self._pass(chain([first], self._once))

    def _pass(self, items: Iterator[Any]) -> Iterator[Block]:
        for number, item in enumerate(items):
            rows = self._held(item, number)
            self._check(rows, number)
            yield from RowsSource(rows).blocks()

    def _held(self, item: Any, number: int) -> Rows:
        if not in_memory.accepts(item):
            raise InvalidInputError(
                f"expected 2-D blocks of rows, got {type(item).__name__} as block {number}.",
                hint="A block is an array, a sparse matrix, a data frame or an Arrow table.",
            )
        return in_memory.hold(item, layout=self._declared_layout, units=None)

    def _check(self, rows: Rows, number: int) -> None:
        if rows.n_columns != self._n_columns:
            raise InvalidInputError(
                f"expected the same columns in all blocks, but block {number} has {rows.n_columns} columns and "
                f"block 0 has {self._n_columns}.",
                hint="columns=[...] can select the columns that all blocks have.",
            )
        if rows.columns != self._columns or type(rows) is not self._kind:
            raise InvalidInputError(
                f"expected blocks of one kind with the same columns in the same order, but block {number} differs "
                "from block 0.",
                hint="Make all blocks dense, all sparse, or all frames with the same columns in the same order.",
            )
