"""Base classes of sources that wrap another source and change each of its blocks separately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Partition, Source


@dataclass(frozen=True, repr=False, eq=False)
class Wrapped:
    """A source that wraps another one, with the same public properties unless a subclass overrides them."""

    source: Source

    @property
    def n_columns(self) -> int:
        """Number of columns of the wrapped source."""
        return self.source.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns of the wrapped source."""
        return self.source.columns

    @property
    def layout(self) -> Layout:
        """Layout of the wrapped source."""
        return self.source.layout

    @property
    def rereadable(self) -> bool:
        """Whether the wrapped source can be read more than once."""
        return self.source.rereadable

    @property
    def fixed_places(self) -> bool:
        """Whether the wrapped source has fixed places."""
        return self.source.fixed_places

    @property
    def sparse(self) -> bool:
        """Whether the wrapped source is sparse."""
        return self.source.sparse


@dataclass(frozen=True, repr=False, eq=False)
class SameRows(Wrapped, ABC):
    """A source that wraps each partition of another one; subclasses define how."""

    @abstractmethod
    def over(self, partition: Partition, number: int) -> Partition:
        """Return the partition that replaces the partition of this number."""

    def partitions(self) -> Sequence[Partition]:
        """Return one partition per partition of the wrapped source."""
        return [self.over(partition, number) for number, partition in enumerate(self.source.partitions())]

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all partitions, one partition after the other."""
        for partition in self.partitions():
            yield from partition.blocks()


@dataclass(frozen=True, repr=False, eq=False)
class WrappedPartition:
    """A partition that wraps another one, and is opened where the data of the wrapped partition are."""

    partition: Any

    @property
    def opened_from(self) -> tuple[Callable[[Any], Partition], Any]:
        """Opener and piece, as `opener_and_piece` returns them."""
        opener, piece = opener_and_piece(self.partition)
        return Reopener(replace(self, partition=None), opener), piece


@dataclass(frozen=True, repr=False, eq=False)
class Reopener:
    """Opener that calls another opener and wraps the partition that it returns."""

    outer: Any
    opener: Callable[[Any], Partition] | None

    def __call__(self, piece: Any) -> Partition:
        """Open a piece as a wrapped partition."""
        wrapped: Partition = replace(self.outer, partition=piece if self.opener is None else self.opener(piece))
        return wrapped


def opener_and_piece(partition: Partition) -> tuple[Callable[[Any], Partition] | None, Any]:
    """Return the opener of a partition, and the piece that it opens; mostly None and the partition itself.

    An engine passes the piece to its cluster, which computes it. The opener then opens the computed piece on the
    worker that holds it.
    """
    found: tuple[Callable[[Any], Partition], Any] | None = getattr(partition, "opened_from", None)
    return (None, partition) if found is None else found
