"""Spark data frames: rows that Spark's executors keep, opened where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources import memory
from eigenveil.sources.arrow_streams import ids_by_place
from eigenveil.sources.buckets import BUCKET, Buckets, check_whole
from eigenveil.sources.columns import find_unit
from eigenveil.sources.dask_collections import PieceOpener
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Partition, Source

_BUCKETS = 1 << 16
_NUMBER = "__eigenveil_partition__"


def accepts(data: Any) -> bool:
    """Whether this is a Spark data frame, of a session in this process or behind Spark Connect."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "mapInArrow")


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows, or of people, whose rows Spark brings together first; the frame is computed here.

    Notes
    -----
    A unit's coin goes by the number of its partition and by its place there, and both must stay what they are
    between passes. Spark may compute a lost partition again, with its rows in another order. So the chosen columns
    are computed once and kept by the executors, in memory and on their disks, as a *local checkpoint*: rows that
    are lost with an executor end the fit with an error, and never come back in other places. Which rows there are,
    and in which order, is up to the frame, which may leave rows out by their values: places are not fixed.
    """
    if not isinstance(units, str | None):
        raise ids_by_place(data)
    exact = layout.by_names(data.columns, unit=units)
    names = [str(name) for name in exact.columns or ()]
    if units is not None:
        find_unit(data.columns, units)
        names.append(units)
    chosen = _chosen(data, names)
    opener = SparkOpener(tuple(names), PieceOpener(exact, units))
    empty: pa.Table = on_spark(lambda: chosen.limit(0).toArrow())
    schema = memory.open_kind(opener.named(empty), layout=exact, units=units)
    kept, numbers = _kept(chosen) if units is None else _gathered(chosen)
    return SparkSource(schema, opener, SparkRows(kept, frozenset(numbers)))


def on_spark(step: Any) -> Any:
    """What Spark computes; where it fails, its own words are not passed on: they may quote the data."""
    failure = UnreadableError(
        "Spark could not compute the rows of the data frame; its own log says why.",
        hint="Try frame.count(). Python on the executors (PYSPARK_PYTHON) needs eigenveil and pyarrow; memory may "
        "be short, or an executor with rows of this fit was lost.",
    )
    return attempt(step, failure, Exception)


@dataclass(frozen=True, repr=False, eq=False)
class SparkOpener:
    """Opens the rows of a partition, an Arrow table, where they are: what travels is public."""

    names: tuple[str, ...]
    opener: PieceOpener

    def __call__(self, table: pa.Table) -> Partition:
        """The rows as a partition."""
        return self.opener(self.named(table))

    def named(self, table: pa.Table) -> pa.Table:
        """The table with its own names, without what was added for Spark."""
        return table.select(range(len(self.names))).rename_columns(list(self.names))


@dataclass(frozen=True, repr=False, eq=False)
class SparkRows:
    """A frame that Spark keeps, and the numbers of its partitions that hold rows."""

    frame: Any
    numbers: frozenset[int]


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
    opener: SparkOpener
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
        count = 1 + max(self.rows.numbers, default=-1)
        return [SparkPartition(SparkPiece(self.rows, number), self.opener) for number in range(count)]

    def blocks(self) -> Iterator[Block]:
        """The blocks of one partition after the other, brought here."""
        for partition in self.partitions():
            yield from partition.blocks()


@dataclass(frozen=True, repr=False, eq=False)
class SparkPartition:
    """A partition of a frame."""

    piece: SparkPiece
    opener: SparkOpener

    @property
    def opened_from(self) -> tuple[SparkOpener, SparkPiece]:
        """How it is opened, from its rows as an Arrow table, and where these are."""
        return self.opener, self.piece

    def blocks(self) -> Iterator[Block]:
        """The blocks of the partition, whose rows are brought here."""
        from pyspark.sql import functions  # noqa: PLC0415  # an extra, and heavy

        mine = self.piece.rows.frame.where(functions.spark_partition_id() == self.piece.number)
        return self.opener(on_spark(mine.toArrow)).blocks()


def _chosen(frame: Any, names: Sequence[str]) -> Any:
    """The named columns, under names without signs, some of which `mapInArrow` does not take."""
    from pyspark.sql import functions  # noqa: PLC0415

    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    return frame.select(*(functions.col(name).alias(f"c{place}") for place, name in enumerate(quoted)))


def _kept(frame: Any, *more: str) -> tuple[Any, Any]:
    """The frame, computed and kept, and the numbers of the partitions in which it has rows.

    Other columns that are named are found too: each of their values once in every partition.
    """
    from pyspark.sql import functions  # noqa: PLC0415

    kept = on_spark(frame.localCheckpoint)
    marks = kept.select(functions.spark_partition_id().alias(_NUMBER), *more).distinct()
    table: pa.Table = on_spark(marks.toArrow)
    if more:
        check_whole(table.column(BUCKET), "Spark")
    return kept, np.unique(table.column(_NUMBER)).tolist()


# -- people ----------------------------------------------------------------------------------------


def _gathered(frame: Any) -> tuple[Any, Any]:
    """The frame with all rows of a person in one partition: by a keyed hash of the id, kept, and checked.

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
    return _kept(gathered.sortWithinPartitions(BUCKET, *reversed(frame.columns)), BUCKET)


def _marked(batch: pa.RecordBatch, buckets: Buckets) -> pa.RecordBatch:
    """The rows that have an id, with its bucket."""
    places, there = buckets.of(batch.column(batch.num_columns - 1))
    return batch.append_column(BUCKET, pa.array(places)).filter(pa.array(there))


def refuse_others(pieces: Sequence[Any]) -> SparkRows:
    """The rows that all pieces are of; raises if they are not pieces of one Spark data frame."""
    rows = {id(piece.rows): piece.rows for piece in pieces if isinstance(piece, SparkPiece)}
    if len(rows) != 1 or not all(isinstance(piece, SparkPiece) for piece in pieces):
        raise InvalidInputError(
            "SparkEngine goes over Spark data frames, and these data are something else.",
            hint="Let Spark read them, as with spark.read.parquet(path), or leave engine='auto'.",
        )
    return next(iter(rows.values()))
