"""Rows that are in memory, or behave as if they were: what every such kind offers, and the source made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from eigenveil._typing import IntArray
from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Values, rows_per_block


class Rows(Protocol):
    """A number of rows that can be asked for by position."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        ...

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
        """Which columns of the data these are, and how they were read."""
        ...

    @property
    def row_bytes(self) -> float:
        """About how large a row is once it is handed out."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether rows are handed out as csr_arrays."""
        ...

    def between(self, start: int, stop: int) -> Values:
        """Rows start to stop as the values of a block."""
        ...

    def at(self, index: IntArray) -> Values:
        """The rows at these positions, in this order, as the values of a block."""
        ...

    def ids(self, units: Any) -> Any:
        """The ids of the rows, where `units` names a column; otherwise `units` itself."""
        ...


class Kind(Protocol):
    """A file of this room that knows one kind of data in memory."""

    def accepts(self, data: Any) -> bool:
        """Whether this is the kind."""
        ...

    def hold(self, data: Any, *, layout: Layout, units: Any) -> Rows:
        """The chosen columns of the data, checked by schema."""
        ...


@dataclass(frozen=True, repr=False, eq=False)
class RowsSource:
    """A source in which every row is a unit."""

    rereadable: ClassVar[bool] = True
    fixed_places: ClassVar[bool] = True

    rows: Rows

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return self.rows.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, where the data has them."""
        return self.rows.columns

    @property
    def layout(self) -> Layout:
        """As the rows have."""
        return self.rows.layout

    @property
    def sparse(self) -> bool:
        """As the rows are."""
        return self.rows.sparse

    def partitions(self) -> Sequence[Self]:
        """All rows are one partition, with which they travel."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """Slices of the rows, in order."""
        height = rows_per_block(self.rows.row_bytes)
        for start in range(0, self.rows.n_rows, height):
            yield Block(self.rows.between(start, min(start + height, self.rows.n_rows)))
