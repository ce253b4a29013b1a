"""Rows of files kept in memory between passes, as far as they fit.

Reading a file costs more than anything that is computed from it: Parquet is decoded, CSV is parsed. A fit reads
its data about ten times, so the blocks of the first pass are kept, file by file, while there is room for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eigenveil.sources.files import FilesSource
from eigenveil.sources.people_on_disk import PeopleOnDisk
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
        Any; what wraps another source wraps the kept one.
    limit : int, optional
        Bytes of blocks that are kept at most: `room_in_memory()` by default. A file that does not fit in what is
        left is read in every pass.
    """
    if isinstance(source, Wrapped):
        return replace(source, source=kept(source.source, limit))
    if not isinstance(source, FilesSource | PeopleOnDisk):
        return source
    return KeptSource(source, Keeper(room_in_memory() if limit is None else limit))


class Keeper:
    """Blocks of whole partitions, up to a number of bytes; a copy in another process starts with none."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._blocks: dict[int, list[Block]] = {}
        self._too_large: set[int] = set()

    def __reduce__(self) -> tuple[type[Keeper], tuple[int]]:
        return Keeper, (self._limit,)

    def blocks(self, number: int, partition: Partition) -> Iterator[Block]:
        """The blocks of a partition: those at hand, or from the partition, and then kept if all of them fit."""
        if number in self._blocks:
            yield from self._blocks[number]
        elif number in self._too_large:
            yield from partition.blocks()
        else:
            yield from self._keeping(number, partition)

    def _keeping(self, number: int, partition: Partition) -> Iterator[Block]:
        held: list[Block] = []
        size = 0
        for block in partition.blocks():
            values: Any = block.values  # files hold no sparse rows
            size += values.nbytes
            if size <= self._limit:
                held.append(block)
            else:
                held.clear()
            yield block
        if size <= self._limit:  # others may have been kept meanwhile
            self._blocks[number] = held
            self._limit -= size
        else:
            self._too_large.add(number)


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
