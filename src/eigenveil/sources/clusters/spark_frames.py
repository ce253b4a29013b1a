"""Spark data frames: rows that Spark's executors keep, packed, and opened where they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.clusters.dask_collections import PieceOpener
from eigenveil.sources.clusters.packed import SCHEMA, Packer, Unpacker
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.arrow_streams import ids_by_place
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrow import on_schema
from eigenveil.sources.people.buckets import BUCKET, Buckets, check_whole
from eigenveil.sources.source import BLOCK_BYTES, Block, Source

_BUCKETS = 1 << 16
_NUMBER = "__eigenveil_partition__"
_IN_IT = "buckets"
_KEPT = f"copy long, place long, goes_on boolean, offsets binary, values binary, {_IN_IT} binary"
_AT_A_TIME = "spark.sql.execution.arrow.maxRecordsPerBatch"


def accepts(data: Any) -> bool:
    """Whether this is a Spark data frame, of a session in this process or behind Spark Connect."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "mapInArrow")


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows, or of people, whose rows Spark brings together first; the frame is computed here.

    Notes
    -----
    Spark hands rows to Python column by column, which takes far longer than what is computed of them. So they are
    handed over once, and kept as blocks of floats (`eigenveil.sources.clusters.packed`): each pass gets a few
    large values.

    A unit's coin goes by the number of its partition and by its place there, and both must stay what they are
    between passes. Spark may compute a lost partition again, with its rows in another order. So blocks are kept by
    the executors, in memory and on their disks, as a *local checkpoint*: those that are lost with an executor end
    the fit with an error, and never come back in other places; every pass checks that it got the blocks that were
    kept. Which rows there are, and in which order, is up to the frame, which may leave rows out by their values:
    places are not fixed.
    """
    if not isinstance(units, str | None):
        raise ids_by_place(data)
    exact = layout.by_names(data.columns, unit=units)
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
    """What Spark computes; where it fails, its own words are not passed on: they may quote the data."""
    failure = UnreadableError(
        "Spark could not compute the rows of the data frame; its own log says why.",
        hint="Try frame.count(). Python on the executors (PYSPARK_PYTHON) needs eigenveil and pyarrow; memory may "
        "be short, or an executor with rows of this fit was lost.",
    )
    return attempt(step, failure, Exception)


@dataclass(frozen=True, repr=False, eq=False)
class SparkRows:
    """A frame of packed blocks that Spark keeps, and what was found in each of its partitions that hold rows.

    Parameters
    ----------
    frame : DataFrame
        Its columns are those of `packed.SCHEMA`.
    found : dict
        For the number of a partition, the copy that was kept, and how many records it has.
    """

    frame: Any
    found: dict[int, tuple[int, int]]


@dataclass(frozen=True, repr=False, eq=False)
class SparkPiece:
    """One partition of a frame, as an engine finds it."""

    rows: SparkRows
    number: int


@dataclass(frozen=True, repr=False, eq=False)
class SparkSource:
    """Partitions of a frame that Spark keeps; their schema is that of a table without rows."""

    rereadable: ClassVar[bool] = True
    fixed_places: ClassVar[bool] = False
    sparse: ClassVar[bool] = False

    schema: Source
    unpacker: Unpacker
    rows: SparkRows

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return self.schema.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self.schema.columns

    @property
    def layout(self) -> Layout:
        """How its columns were read."""
        return self.schema.layout

    def partitions(self) -> Sequence[SparkPartition]:
        """As many as the frame has, by their numbers; those at the end that hold no rows are left out."""
        count = 1 + max(self.rows.found, default=-1)
        return [SparkPartition(SparkPiece(self.rows, number), self._unpacker(number)) for number in range(count)]

    def _unpacker(self, number: int) -> Unpacker:
        copy, records = self.rows.found.get(number, (0, 0))
        return replace(self.unpacker, copy=copy, records=records)

    def blocks(self) -> Iterator[Block]:
        """The blocks of one partition after the other, brought here."""
        for partition in self.partitions():
            yield from partition.blocks()


@dataclass(frozen=True, repr=False, eq=False)
class SparkPartition:
    """A partition of a frame."""

    piece: SparkPiece
    unpacker: Unpacker

    @property
    def opened_from(self) -> tuple[Unpacker, SparkPiece]:
        """How it is opened, from its records, and where these are."""
        return self.unpacker, self.piece

    def blocks(self) -> Iterator[Block]:
        """The blocks of the partition, which are brought here."""
        from pyspark.sql import functions  # noqa: PLC0415  # an extra, and heavy

        frame = self.piece.rows.frame
        with OneByOne(frame.sparkSession):
            mine = on_spark(frame.where(functions.spark_partition_id() == self.piece.number).toArrow)
        return self.unpacker(mine.to_batches()).blocks()


# -- keeping rows ----------------------------------------------------------------------------------


def _chosen(frame: Any, names: Sequence[str]) -> Any:
    """The named columns, under names without signs, some of which `mapInArrow` does not take."""
    from pyspark.sql import functions  # noqa: PLC0415

    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*(functions.col(name).alias(f"c{place}") for place, name in enumerate(quoted)))


def _named(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The chosen columns with their own names, without what was added for Spark."""
    return table.select(range(len(names))).rename_columns(list(names))


def _kept(frame: Any, names: Sequence[str], opener: PieceOpener) -> SparkRows:
    """The rows of the frame, computed, packed and kept, and what was found in each partition; checks people."""
    from pyspark.sql import functions  # noqa: PLC0415

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _packed(batches, names, opener)

    kept = on_spark(frame.mapInArrow(packed, _KEPT).localCheckpoint)
    marks = kept.select(functions.spark_partition_id().alias(_NUMBER), "copy", _IN_IT)
    table: pa.Table = on_spark(marks.toArrow)
    check_whole(np.frombuffer(b"".join(table.column(_IN_IT).to_pylist()), np.int64), "Spark")
    counted = table.group_by([_NUMBER, "copy"]).aggregate([([], "count_all")])
    found = {one[_NUMBER]: (one["copy"], one["count_all"]) for one in counted.to_pylist()}
    return SparkRows(kept.select(*SCHEMA.names), found)


def _packed(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], opener: PieceOpener
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition as packed blocks; the first of those that hold some buckets says which these are."""
    packer = Packer()
    for table in _tables(batches):
        in_it = np.unique(table.column(BUCKET)).tobytes() if BUCKET in table.column_names else b""
        for block in opener(_named(table, names)).blocks():
            for record in packer(block):
                yield record.append_column(_IN_IT, pa.array([in_it], pa.binary()))
                in_it = b""


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches, joined until there is enough for a block, and whole buckets where there are buckets."""
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
    """The frame with all rows of a person in one partition: by a keyed hash of the id, whose bucket comes last.

    The last column holds the ids. A shuffle brings rows in any order, so those of a partition are put in one by
    what is in them: what is computed of a person depends, in its last bits, on the order of the person's rows, and
    must not depend on when others' rows arrive.
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
    """The rows that have an id, with its bucket."""
    places, there = buckets.of(batch.column(batch.num_columns - 1))
    return batch.append_column(BUCKET, pa.array(places)).filter(pa.array(there))


# -- for the engine --------------------------------------------------------------------------------


class OneByOne:
    """While this is open a session hands records to Python one by one, as each is as large as a block.

    Spark has one number for that, which is the session's. So the user's is put back, once nobody needs the other
    any more: fits on several threads may share a session.

    Parameters
    ----------
    session : SparkSession
        Of the frame.
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


def refuse_others(pieces: Sequence[Any]) -> SparkRows:
    """The rows that all pieces are of; raises if they are not pieces of one Spark data frame."""
    rows = {id(piece.rows): piece.rows for piece in pieces if isinstance(piece, SparkPiece)}
    if len(rows) != 1 or not all(isinstance(piece, SparkPiece) for piece in pieces):
        raise InvalidInputError(
            "SparkEngine goes over Spark data frames, and these data are something else.",
            hint="Let Spark read them, as with spark.read.parquet(path), or leave engine='auto'.",
        )
    return next(iter(rows.values()))
