"""Public properties that data on a cluster take from a piece without rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Partition, Source


@dataclass(frozen=True, repr=False, eq=False)
class ClusterCollection(ABC):
    """A source whose rows are on a cluster.

    Parameters
    ----------
    schema : Source
        Source of a piece without rows.
    """

    rereadable: ClassVar[bool] = True
    """A cluster keeps the rows, or computes them again."""

    schema: Source

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.schema.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if the data have names."""
        return self.schema.columns

    @property
    def layout(self) -> Layout:
        """Which columns are read, and how."""
        return self.schema.layout

    @property
    def sparse(self) -> bool:
        """Whether the pieces are sparse."""
        return self.schema.sparse

    @abstractmethod
    def partitions(self) -> Sequence[Partition]:
        """Return one partition per piece."""

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all partitions, one partition after the other, moved to this process."""
        for partition in self.partitions():
            yield from partition.blocks()
