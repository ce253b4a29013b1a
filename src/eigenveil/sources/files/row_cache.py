"""Rows of files kept in memory between passes, as far as they fit.

Reading a file costs more than anything that is computed from it: Parquet is decoded, CSV is parsed. A fit reads
its data about ten times, so the blocks of the first pass are kept, file by file, while there is room for them.
Parsing text is by far the slowest, so rows of text files that do not fit are written to a temporary file, as
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from eigenveil.sources.files.any_files import FilesSource
from eigenveil.sources.files.csv_files import CsvScan
from eigenveil.sources.files.spool import Spool
from eigenveil.sources.people.on_disk import PeopleOnDisk
from eigenveil.sources.source import Block, Partition, Source
from eigenveil.sources.wrapped import SameRows, Wrapped

_SHARE = 4
"""One part in so many of the memory that is available may be taken by kept blocks."""

_UNKNOWN = 1 << 30
"""Taken to be available where the system does not say."""


def kept(source: Source, limit: int | None) -> Source:
    """The source with its blocks kept between passes, if it reads files; else as it is.

    Parameters
    ----------
    source : Source
        Any; what wraps another source wraps the kept one, and one that is kept already stays as it is.
    limit : int, optional
        Bytes of blocks that are kept at most: `room_in_memory()` by default. A file that does not fit in what is
        left is read in every pass; a text file is parsed once and its numbers are read from a temporary file.
        People are sorted within the same limit, before any block is kept.
    """
    if isinstance(source, KeptSource):
        return source
    if isinstance(source, Wrapped):
        return replace(source, source=kept(source.source, limit))
    if not isinstance(source, FilesSource | PeopleOnDisk):
        return source
    room = room_in_memory() if limit is None else limit
    if isinstance(source, PeopleOnDisk):  # sorted into a file of numbers, whatever they were read from
        source.sort_within(room)
        return KeptSource(source, Keeper(room))
    return KeptSource(source, Keeper(room, spools=isinstance(source.scan, CsvScan)))


class Keeper:
    """Blocks of whole partitions, up to a number of bytes; a copy in another process starts with none.

    Parameters
    ----------
    limit : int
        Bytes of blocks that are kept in memory at most.
    spools : bool
        Whether the blocks of a partition that does not fit are written to a temporary file, and read from there.
        Where the disk has no space for it, the partition itself is read in every pass.
    """

    def __init__(self, limit: int, *, spools: bool = False) -> None:
        self._limit = limit
        self._spools = spools
        self._blocks: dict[int, list[Block]] = {}
        self._again: dict[int, Partition | Spool] = {}
        """What is read again in every pass, in place of partitions that do not fit."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return partial(Keeper, spools=self._spools), (self._limit,)

    def blocks(self, number: int, partition: Partition) -> Iterator[Block]:
        """The blocks of a partition: those at hand, or from the partition, and then kept if all of them fit."""
        if number in self._blocks:
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
            values: Any = block.values  # files hold no sparse rows
            size += values.nbytes
            held.append(block)
            if size > self._limit:
                spool = _put_by(held, spool)
            yield block
        if size <= self._limit:  # others may have been kept meanwhile
            self._blocks[number] = held
            self._limit -= size
        else:
            spool = _put_by(held, spool)
            self._again[number] = partition if spool is None else spool


def _put_by(held: list[Block], spool: Spool | None) -> Spool | None:
    """Let go of blocks, to a spool where there is one; None, and no file, once the disk has no space for them."""
    try:
        if spool is not None:
            spool.write(held)
    except OSError:
        spool = None
    held.clear()
    return spool


@dataclass(frozen=True, repr=False, eq=False)
class KeptSource(SameRows):
    """Another source's rows, kept between passes."""

    keeper: Keeper

    def over(self, partition: Partition, number: int) -> Partition:
        """The same blocks."""
        return KeptPartition(partition, number, self.keeper)


@dataclass(frozen=True, repr=False, eq=False)
class KeptPartition:
    """Another partition's blocks, kept between passes."""

    partition: Partition
    number: int
    keeper: Keeper = field(repr=False)

    def blocks(self) -> Iterator[Block]:
        """The same blocks in the same order."""
        return self.keeper.blocks(self.number, self.partition)


def room_in_memory() -> int:
    """Bytes that kept blocks may take: a quarter of what is available, to this process and in its container."""
    return min(_available_here(), *_limits()) // _SHARE


def _available_here() -> int:
    found = _number_after("MemAvailable:", Path("/proc/meminfo"))
    return _UNKNOWN if found is None else found << 10


def _limits() -> Iterator[int]:
    """What a container and the shell leave to this process, where they limit it."""
    groups = Path("/sys/fs/cgroup")
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, taken = (_number_after("", groups / name) for name in (limit, used))
        if most is not None:
            yield max(0, most - (taken or 0))
    try:
        import resource  # noqa: PLC0415  # not on Windows
    except ImportError:
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY:
        yield most


def _number_after(word: str, path: Path) -> int | None:
    """The whole number behind a word in a small file; None if there is none."""
    try:
        text = path.read_text()
    except OSError:
        return None
    found = text[text.find(word) + len(word) :].split()[:1] if word in text else []
    return int(found[0]) if found and found[0].isdigit() else None
