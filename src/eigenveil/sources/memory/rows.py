"""Rows with random access, in memory or mapped from a file: their interface, and the source made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from eigenveil._typing import IntArray
from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Values, rows_per_block


class Rows(Protocol):
    """Rows that can be read by position."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

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
        """Which columns of the data are read, and how."""
        ...

    @property
    def row_bytes(self) -> float:
        """Approximate size of a row in a block, in bytes."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether the values of blocks are csr_arrays."""
        ...

    def between(self, start: int, stop: int) -> Values:
        """Return rows start to stop as the values of a block."""
        ...

    def at(self, index: IntArray) -> Values:
        """Return the rows at these positions, in this order, as the values of a block."""
        ...

    def ids(self, units: Any) -> Any:
        """Return the ids of the rows if `units` names a column; otherwise `units` itself."""
        ...


class MemoryKind(Protocol):
    """A module of this package that reads one kind of data in memory."""

    def accepts(self, data: Any) -> bool:
        """Return whether the data are of this kind."""
        ...

    def hold(self, data: Any, *, layout: Layout, units: Any) -> Rows:
        """Return the selected columns of the data, after a check of the schema."""
        ...


@dataclass(frozen=True, repr=False, eq=False)
class RowsSource:
    """A source in which every row is a unit."""

    rereadable: ClassVar[bool] = True
    fixed_places: ClassVar[bool] = True

    rows: Rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.rows.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if the data have names."""
        return self.rows.columns

    @property
    def layout(self) -> Layout:
        """Layout of the rows."""
        return self.rows.layout

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return self.rows.sparse

    def partitions(self) -> Sequence[Self]:
        """Return all rows as one partition; pickling it includes the rows."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """Yield slices of the rows, in order."""
        height = rows_per_block(self.rows.row_bytes)
        for start in range(0, self.rows.n_rows, height):
            yield Block(self.rows.between(start, min(start + height, self.rows.n_rows)))
