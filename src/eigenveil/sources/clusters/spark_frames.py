"""Spark data frames: rows are packed and kept by Spark's executors, and opened there."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.clusters.collection import ClusterCollection
from eigenveil.sources.clusters.dask_collections import PieceOpener
from eigenveil.sources.clusters.packed import SCHEMA, BlockPacker, Unpacker
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.arrow_streams import separate_ids_error
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrow import on_schema
from eigenveil.sources.people.buckets import BUCKET, Buckets, check_no_bucket_split
from eigenveil.sources.source import BLOCK_BYTES, Block, Source

_BUCKETS = 1 << 16
_NUMBER = "__eigenveil_partition__"
_IN_IT = "buckets"
_KEPT = f"copy long, place long, goes_on boolean, offsets binary, values binary, {_IN_IT} binary"
_AT_A_TIME = "spark.sql.execution.arrow.maxRecordsPerBatch"


def accepts(data: Any) -> bool:
    """Return whether the data are a Spark data frame, of a session in this process or of Spark Connect."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "mapInArrow")


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Compute the frame, and return a source of its rows, or of people, whose rows Spark groups first.

    Notes
    -----
    Spark passes rows to Python column by column, which takes far longer than the computations on them. So rows are
    passed once, and kept as blocks of floats (`eigenveil.sources.clusters.packed`): each pass gets a few large
    values.

    The coin of a unit depends on the number of its partition and on its position there, and both must stay the
    same between passes. Spark may recompute a lost partition with its rows in another order. So executors keep the
    blocks, in memory and on their disks, as a *local checkpoint*. If blocks are lost with an executor, the fit
    ends with an error; the blocks never return in other positions. Every pass checks that it got the blocks that
    were kept. The frame determines which rows there are and in which order, and may exclude rows by their values,
    so places are not fixed.
    """
    if not isinstance(units, str | None):
        raise separate_ids_error(data)
    exact = layout.by_names(data.columns, units=units)
    names = [str(name) for name in exact.columns or ()]
    if units is not None:
        find_unit(data.columns, units)
        names.append(units)
    chosen = _chosen(data, names)
    empty = _named(on_spark(lambda: chosen.limit(0).toArrow()), names)
    schema = in_memory.open_kind(empty, layout=exact, units=units)
    exact, kind = on_schema(exact, empty.schema, units)
    gathered = chosen if units is None else _gathered(chosen)
    rows = _kept(gathered, names, PieceOpener(exact, units))
    return SparkSource(schema, Unpacker(schema.n_columns, kind), rows)


def on_spark(step: Any) -> Any:
    """Return the value of a Spark computation; Spark's own error message is not shown: it may quote the data."""
    failure = UnreadableError(
        "Spark could not compute the rows of the data frame; Spark's log contains the reason.",
        hint="Try frame.count(). Python on the executors (PYSPARK_PYTHON) needs eigenveil and pyarrow; memory may "
        "be short, or an executor with rows of this fit was lost.",
    )
    return attempt(step, failure, Exception)


@dataclass(frozen=True, repr=False, eq=False)
class SparkRows:
    """A frame of packed blocks that Spark keeps, with the copy and size of each partition that has rows.

    Parameters
    ----------
    frame : DataFrame
        Frame with the columns of `packed.SCHEMA`.
    found : dict
        From the number of a partition to the number of the copy that was kept, and its number of records.
    """

    frame: Any
    found: dict[int, tuple[int, int]]


@dataclass(frozen=True, repr=False, eq=False)
class SparkPiece:
    """One partition of a frame, as an engine addresses it."""

    rows: SparkRows
    number: int


@dataclass(frozen=True, repr=False, eq=False)
class SparkSource(ClusterCollection):
    """A source of the partitions of a frame that Spark keeps; the schema is taken from a table without rows."""

    fixed_places: ClassVar[bool] = False

    unpacker: Unpacker
    rows: SparkRows

    def partitions(self) -> Sequence[SparkPartition]:
        """Return the partitions of the frame by number, without empty partitions at the end."""
        count = 1 + max(self.rows.found, default=-1)
        return [SparkPartition(SparkPiece(self.rows, number), self._unpacker(number)) for number in range(count)]

    def _unpacker(self, number: int) -> Unpacker:
        copy, records = self.rows.found.get(number, (0, 0))
        return replace(self.unpacker, copy=copy, records=records)


@dataclass(frozen=True, repr=False, eq=False)
class SparkPartition:
    """Partition of a Spark data frame."""

    piece: SparkPiece
    unpacker: Unpacker

    @property
    def opened_from(self) -> tuple[Unpacker, SparkPiece]:
        """Opener of the records of the partition, and the piece that has these records."""
        return self.unpacker, self.piece

    def blocks(self) -> Iterator[Block]:
        """Return the blocks of the partition, moved to this process."""
        from pyspark.sql import functions  # noqa: PLC0415  # an extra, and heavy

        frame = self.piece.rows.frame
        with SingleRecordBatches(frame.sparkSession):
            mine = on_spark(frame.where(functions.spark_partition_id() == self.piece.number).toArrow)
        return self.unpacker(mine.to_batches()).blocks()


# -- keeping rows ----------------------------------------------------------------------------------


def _chosen(frame: Any, names: Sequence[str]) -> Any:
    """Return the named columns under plain names, since `mapInArrow` does not accept some special characters."""
    from pyspark.sql import functions  # noqa: PLC0415

    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*(functions.col(name).alias(f"c{place}") for place, name in enumerate(quoted)))


def _named(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the selected columns with their own names, without the columns that were added for Spark."""
    return table.select(range(len(names))).rename_columns(list(names))


def _kept(frame: Any, names: Sequence[str], opener: PieceOpener) -> SparkRows:
    """Compute, pack and keep the rows of the frame, and check that no person is in two partitions."""
    from pyspark.sql import functions  # noqa: PLC0415

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _packed(batches, names, opener)

    kept = on_spark(frame.mapInArrow(packed, _KEPT).localCheckpoint)
    marks = kept.select(functions.spark_partition_id().alias(_NUMBER), "copy", _IN_IT)
    table: pa.Table = on_spark(marks.toArrow)
    check_no_bucket_split(np.frombuffer(b"".join(table.column(_IN_IT).to_pylist()), np.int64), "Spark")
    counted = table.group_by([_NUMBER, "copy"]).aggregate([([], "count_all")])
    found = {one[_NUMBER]: (one["copy"], one["count_all"]) for one in counted.to_pylist()}
    return SparkRows(kept.select(*SCHEMA.names), found)


def _packed(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], opener: PieceOpener
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition as packed blocks; the first record of a table lists the table's buckets."""
    packer = BlockPacker()
    for table in _tables(batches):
        in_it = np.unique(table.column(BUCKET)).tobytes() if BUCKET in table.column_names else b""
        for block in opener(_named(table, names)).blocks():
            for record in packer(block):
                yield record.append_column(_IN_IT, pa.array([in_it], pa.binary()))
                in_it = b""


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of joined batches, large enough for a block, and with whole buckets if there are buckets."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        cut = 0
        if sum(one.nbytes for one in held) < BLOCK_BYTES:
            cut = batch.num_rows
        elif BUCKET in batch.schema.names:
            others = np.flatnonzero(batch.column(BUCKET).to_numpy() != held[-1].column(BUCKET)[-1].as_py())
            cut = int(others[0]) if others.size else batch.num_rows
        if cut:
            held.append(batch.slice(0, cut))
        if cut < batch.num_rows:
            yield pa.Table.from_batches(held)
            held = [batch.slice(cut)]
    if held:
        yield pa.Table.from_batches(held)


# -- people ----------------------------------------------------------------------------------------


def _gathered(frame: Any) -> Any:
    """Return the frame with all rows of a person in one partition, by a keyed hash of the id.

    The last column of `frame` holds the ids; the result has one more column, the bucket of the id. A shuffle
    returns rows in any order, so the rows of a partition are sorted by their content: results for a person depend,
    in their last bits, on the order of the person's rows, and must not depend on when rows of other people arrive.
    """
    from pyspark.sql.types import LongType, StructType  # noqa: PLC0415

    buckets = Buckets(_BUCKETS)

    def marked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _marked(batch, buckets)

    schema = StructType([*frame.schema.fields]).add(BUCKET, LongType())
    gathered = frame.mapInArrow(marked, schema).repartition(BUCKET)
    return gathered.sortWithinPartitions(BUCKET, *reversed(frame.columns))


def _marked(batch: pa.RecordBatch, buckets: Buckets) -> pa.RecordBatch:
    """Return the rows that have an id, with the bucket of the id."""
    places, there = buckets.of(batch.column(batch.num_columns - 1))
    return batch.append_column(BUCKET, pa.array(places)).filter(pa.array(there))


# -- for the engine --------------------------------------------------------------------------------


class SingleRecordBatches:
    """Context in which a session passes records to Python one by one, since each is as large as a block.

    The number of records per batch is a setting of the session. The user's value is restored when the last context
    of the session ends: fits on several threads may share a session.

    Parameters
    ----------
    session : SparkSession
        Session of the frame.
    """

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _open: ClassVar[dict[Any, tuple[int, str]]] = {}

    def __init__(self, session: Any) -> None:
        self._session = session

    def __enter__(self) -> None:
        conf = self._session.conf
        with self._lock:
            count, before = self._open.get(self._session) or (0, conf.get(_AT_A_TIME))
            conf.set(_AT_A_TIME, "1")
            self._open[self._session] = count + 1, before

    def __exit__(self, *_: object) -> None:
        with self._lock:
            count, before = self._open.pop(self._session)
            if count > 1:
                self._open[self._session] = count - 1, before
            else:
                self._session.conf.set(_AT_A_TIME, before)


def common_rows(pieces: Sequence[Any]) -> SparkRows:
    """Return the rows that all pieces belong to; raise an error unless they are pieces of one Spark data frame."""
    rows = {id(piece.rows): piece.rows for piece in pieces if isinstance(piece, SparkPiece)}
    if len(rows) != 1 or not all(isinstance(piece, SparkPiece) for piece in pieces):
        raise InvalidInputError(
            "expected a Spark data frame for SparkEngine, got other data.",
            hint="Read the data with Spark, for example spark.read.parquet(path), or use engine='auto'.",
        )
    return next(iter(rows.values()))
