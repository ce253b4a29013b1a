"""What sources share that hand on the rows of another one, each block changed by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Partition, Source


@dataclass(frozen=True, repr=False, eq=False)
class Wrapped:
    """A source over another: all that is public of it is as there, unless a subclass says otherwise."""

    source: Source

    @property
    def n_columns(self) -> int:
        """As the source has."""
        return self.source.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """As the source has."""
        return self.source.columns

    @property
    def layout(self) -> Layout:
        """As the source has."""
        return self.source.layout

    @property
    def rereadable(self) -> bool:
        """As the source is."""
        return self.source.rereadable

    @property
    def fixed_places(self) -> bool:
        """As the source has."""
        return self.source.fixed_places

    @property
    def sparse(self) -> bool:
        """As the source is."""
        return self.source.sparse


@dataclass(frozen=True, repr=False, eq=False)
class SameRows(Wrapped, ABC):
    """A source over another with the same partitions; what becomes of each is up to the subclass."""

    @abstractmethod
    def over(self, partition: Partition, number: int) -> Partition:
        """What is handed on in place of the source's partition of this number."""

    def partitions(self) -> Sequence[Partition]:
        """As many as the source has."""
        return [self.over(partition, number) for number, partition in enumerate(self.source.partitions())]

    def blocks(self) -> Iterator[Block]:
        """The blocks of one partition after the other."""
        for partition in self.partitions():
            yield from partition.blocks()


@dataclass(frozen=True, repr=False, eq=False)
class WrappedPartition:
    """A partition over another, in whose place it is opened where that one's data are."""

    partition: Any

    @property
    def opened_from(self) -> tuple[Callable[[Any], Partition], Any]:
        """See `where`."""
        opener, piece = where(self.partition)
        return Reopener(replace(self, partition=None), opener), piece


@dataclass(frozen=True, repr=False, eq=False)
class Reopener:
    """Opens what another opener opens, and wraps it as before."""

    outer: Any
    opener: Callable[[Any], Partition] | None

    def __call__(self, piece: Any) -> Partition:
        """The wrapped partition."""
        wrapped: Partition = replace(self.outer, partition=piece if self.opener is None else self.opener(piece))
        return wrapped


def where(partition: Partition) -> tuple[Callable[[Any], Partition] | None, Any]:
    """How to open a partition, and what a cluster computes of it before; None and the partition itself, mostly.

    An engine hands the second to its cluster, and opens what has become of it on the worker that has it.
    """
    found: tuple[Callable[[Any], Partition], Any] | None = getattr(partition, "opened_from", None)
    return (None, partition) if found is None else found
