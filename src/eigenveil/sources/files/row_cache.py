"""Cache of the rows of files: blocks are kept in memory between passes, as far as they fit.

Reading a file takes longer than all computations on it: Parquet is decoded, CSV is parsed. A fit reads its data
about ten times, so the blocks of the first pass are kept, file by file, as long as they fit. Parsing text is by
far the slowest, so rows of text files that do not fit in memory are written to a temporary file, as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from eigenveil.sources.files.any_files import FilesSource
from eigenveil.sources.files.csv_files import CsvScan
from eigenveil.sources.files.free_memory import memory_left
from eigenveil.sources.files.spool import Spool
from eigenveil.sources.people.on_disk import PeopleOnDisk
from eigenveil.sources.source import Block, Partition, Source
from eigenveil.sources.wrapped import SameRows, Wrapped

_SHARE = 4
"""Kept blocks may take the available memory divided by this number."""

_UNKNOWN = 1 << 30
"""Memory in bytes that is assumed to be available if the system does not report it."""


def kept(source: Source, limit: int | None) -> Source:
    """Return the source with its blocks kept between passes, if it reads files; other sources unchanged.

    Parameters
    ----------
    source : Source
        Any source. If it wraps another source, the result wraps the kept version of that source. A source that is
        already kept is returned unchanged.
    limit : int, optional
        Maximum size of the kept blocks, in bytes: `memory_for_blocks()` by default. A file that exceeds the
        remaining memory is read in every pass; a text file is parsed once, and its numbers are then read from a
        temporary file. People are sorted within the same limit, before any block is kept.
    """
    if isinstance(source, KeptSource):
        return source
    if isinstance(source, Wrapped):
        return replace(source, source=kept(source.source, limit))
    if not isinstance(source, FilesSource | PeopleOnDisk):
        return source
    memory = memory_for_blocks() if limit is None else limit
    if isinstance(source, PeopleOnDisk):  # sorted into a file of numbers, whatever the format of the data
        source.sort_within(memory)
        return KeptSource(source, Keeper(memory))
    return KeptSource(source, Keeper(memory, spools=isinstance(source.scan, CsvScan)))


class Keeper:
    """Cache of the blocks of whole partitions, with a maximum size; a copy in another process starts empty.

    Parameters
    ----------
    limit : int
        Maximum size of the blocks in memory, in bytes.
    spools : bool
        Whether the blocks of a partition that does not fit are written to a temporary file, and read from that
        file. If the disk has no space for them, the partition itself is read in every pass.
    """

    def __init__(self, limit: int, *, spools: bool = False) -> None:
        self._limit = limit
        self._spools = spools
        self._blocks: dict[int, list[Block]] = {}
        self._again: dict[int, Partition | Spool] = {}
        """By number of a partition that does not fit: the partition or spool that is read in every pass."""
        self._begun: dict[int, tuple[Block, Iterator[Block]]] = {}
        """By number of a partition that only `first` has read: its first block, and an iterator of the rest."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return partial(Keeper, spools=self._spools), (self._limit,)

    def first(self, number: int, partition: Partition) -> Block | None:
        """Return the first block of a partition, None if it is empty; its first pass continues from there."""
        if number not in self._begun:
            rest = self.blocks(number, partition)
            block = next(rest, None)
            if block is None:
                return None
            self._begun[number] = block, rest
        return self._begun[number][0]

    def blocks(self, number: int, partition: Partition) -> Iterator[Block]:
        """Yield the blocks of a partition, from the cache or from the partition; keep them if all of them fit."""
        begun = self._begun.pop(number, None)
        if begun is not None:
            block, rest = begun
            yield block
            yield from rest
        elif number in self._blocks:
            yield from self._blocks[number]
        elif number in self._again:
            yield from self._again[number].blocks()
        else:
            yield from self._keeping(number, partition)

    def _keeping(self, number: int, partition: Partition) -> Iterator[Block]:
        held: list[Block] = []
        size = 0
        spool = Spool() if self._spools else None
        for block in partition.blocks():
            values: Any = block.values  # files have no sparse rows
            size += values.nbytes
            held.append(block)
            if size > self._limit:
                spool = _evict(held, spool)
            yield block
        if size <= self._limit:  # other partitions may have been kept in the meantime
            self._blocks[number] = held
            self._limit -= size
        else:
            spool = _evict(held, spool)
            self._again[number] = partition if spool is None else spool


def _evict(held: list[Block], spool: Spool | None) -> Spool | None:
    """Remove blocks from memory, after writing them to the spool if there is one.

    Return the spool; None, without a file, if the disk has no space for the blocks.
    """
    try:
        if spool is not None:
            spool.write(held)
    except OSError:
        spool = None
    held.clear()
    return spool


@dataclass(frozen=True, repr=False, eq=False)
class KeptSource(SameRows):
    """A source whose rows are kept between passes."""

    keeper: Keeper

    def first(self) -> Block | None:
        """Return the first block, if there is one; the first pass does not read it again."""
        found = (self.keeper.first(*one) for one in enumerate(self.source.partitions()))
        return next((block for block in found if block is not None), None)

    def over(self, partition: Partition, number: int) -> Partition:
        """Return a partition that yields the same blocks, with the cache."""
        return KeptPartition(partition, number, self.keeper)


@dataclass(frozen=True, repr=False, eq=False)
class KeptPartition:
    """A partition whose blocks are kept between passes."""

    partition: Partition
    number: int
    keeper: Keeper = field(repr=False)

    def blocks(self) -> Iterator[Block]:
        """Yield the same blocks in the same order."""
        return self.keeper.blocks(self.number, self.partition)


def memory_for_blocks() -> int:
    """Return the memory for kept blocks, in bytes: a quarter of what this process and its container have left."""
    left = memory_left()
    return (_UNKNOWN if left is None else left) // _SHARE
