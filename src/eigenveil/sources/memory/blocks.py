"""Any iterable of blocks: arrays, sparse matrices, frames or Arrow tables, of any number of rows each."""

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
    """Whether this can be walked through."""
    return isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping))


def open_kind(data: Any, *, layout: Layout, units: Any) -> BlocksSource:
    """A source of these blocks."""
    if units is not None:
        raise InvalidInputError(
            f"units cannot be given with blocks ({type(data).__name__}): rows of one person may be in several.",
            hint="Load the blocks into one array or frame, or write them to Parquet and pass the path.",
        )
    return BlocksSource(data, layout)


class BlocksSource:
    """A source of blocks that someone else makes; large ones are cut.

    Parameters
    ----------
    data : iterable
        Of 2-D blocks. One that can be walked through only once is read only once.
    layout : Layout
        Which columns to take of each block, and how to read them.
    """

    def __init__(self, data: Iterable[Any], layout: Layout) -> None:
        self._data = data
        self._wanted = layout
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

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process; refused where blocks come from an iterator."""
        if self._once is None:
            return vars(self)
        raise InvalidInputError(
            f"a {type(self._data).__name__} can be read only here and only once, so it cannot be sent to another "
            "process.",
            hint="Pass a list of blocks or an array, or write the rows to Parquet and pass the path.",
        )

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return self._n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, where the blocks have them."""
        return self._columns

    @property
    def layout(self) -> Layout:
        """As the first block has."""
        return self._layout

    @property
    def rereadable(self) -> bool:
        """False for a generator or any other iterator."""
        return self._once is None

    @property
    def fixed_places(self) -> bool:
        """Every row holds its place."""
        return True

    @property
    def sparse(self) -> bool:
        """As the first block is; one of another kind is refused."""
        return self._sparse

    def partitions(self) -> Sequence[Self]:
        """All blocks are one partition, which can travel unless they come from an iterator."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """The blocks in order."""
        if self._once is None:
            return self._pass(iter(self._data))
        if self._first is None:
            raise InvalidInputError(
                f"a {type(self._data).__name__} can be read only once, and it has been.",
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
        return in_memory.hold(item, layout=self._wanted, units=None)

    def _check(self, rows: Rows, number: int) -> None:
        if rows.n_columns != self._n_columns:
            raise InvalidInputError(
                f"block {number} has {rows.n_columns} columns, block 0 has {self._n_columns}.",
                hint="All blocks need the same columns; columns=[...] can choose those they share.",
            )
        if rows.columns != self._columns or type(rows) is not self._kind:
            raise InvalidInputError(
                f"block {number} is of another kind than block 0, or has other names or another order of columns.",
                hint="Make all blocks alike: all dense, all sparse, or frames with the same columns in one order.",
            )
