"""Blocks packed into a few large values: for clusters that pass rows to Python slowly, by column or one by one.

A partition is packed once, as records of a data frame. A record holds the bytes of a block, its position in the
partition, and the number of the copy that it belongs to. A very large block takes several records. Unpacking a
partition checks that it is the copy that was kept, that it is complete, and that it is in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.source import Block

PIECE_BYTES = 64 << 20
"""Maximum size of a value: the JVM allows at most 2 GB, and a person with very many rows is one block."""

SCHEMA = pa.schema(
    [
        ("copy", pa.int64()),
        ("place", pa.int64()),
        ("goes_on", pa.bool_()),
        ("offsets", pa.binary()),
        ("values", pa.binary()),
    ]
)


class BlockPacker:
    """BlockPacker of the blocks of one partition; all blocks that a packer packs are one copy.

    Parameters
    ----------
    piece : int
        Maximum size of a value in bytes: a multiple of 8.
    """

    def __init__(self, piece: int = PIECE_BYTES) -> None:
        self._piece = piece
        self._copy = int.from_bytes(os.urandom(7), "little")
        self._place = 0

    def __call__(self, block: Block) -> Iterator[pa.RecordBatch]:
        """Yield the records of a block, one per batch: a batch of many would be as large as the partition."""
        offsets = None if block.offsets is None else block.offsets.tobytes()
        data = memoryview(np.ascontiguousarray(block.values)).cast("B")  # type: ignore[arg-type]  # never sparse
        for start in range(0, len(data), self._piece):
            goes_on = start + self._piece < len(data)
            columns = [self._copy], [self._place], [goes_on], [offsets], [bytes(data[start : start + self._piece])]
            arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
            self._place += 1


@dataclass(frozen=True)
class Unpacker:
    """Opener of a packed partition, with the properties that it had when it was kept.

    Parameters
    ----------
    columns, kind : int, dtype
        Number of columns and type of the rows.
    copy, records : int
        Number of the copy that was kept, and its number of records.
    """

    columns: int
    kind: np.dtype[Any]
    copy: int = 0
    records: int = 0

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Unpacked:
        """Return the partition of these records."""
        return Unpacked(self, batches)


@dataclass(frozen=True, repr=False, eq=False)
class Unpacked:
    """A partition that was packed; it can be read as often as its batches."""

    unpacker: Unpacker
    batches: Iterable[pa.RecordBatch]

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks as they were packed, without a copy; one batch is in memory at a time."""
        known, held, place = self.unpacker, [], 0
        for batch in self.batches:
            for copy, found, goes_on, offsets, values in zip(*batch.select(SCHEMA.names).columns, strict=True):
                if (copy.as_py(), found.as_py()) != (known.copy, place):
                    raise _changed_error()
                place += 1
                held.append(values.as_buffer())
                if not goes_on.as_py():
                    yield self._block(held, offsets.as_buffer())
                    held = []
        if held or place != known.records:
            raise _changed_error()

    def _block(self, held: list[pa.Buffer], offsets: pa.Buffer | None) -> Block:
        data = held[0] if len(held) == 1 else b"".join(held)
        values = np.frombuffer(data, self.unpacker.kind).reshape(-1, self.unpacker.columns)
        return Block(values, None if offsets is None else np.frombuffer(offsets, np.int64))


def _changed_error() -> InvalidInputError:
    return InvalidInputError(
        "the cluster did not return the rows of a partition as it kept them.",
        hint="This is an error of the cluster, not of the data; nothing was released.",
    )
