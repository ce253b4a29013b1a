"""Dask arrays and dataframes: partitions are opened on the workers of the cluster that hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.clusters.collection import ClusterCollection
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.paths import find
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrays import check_matrix
from eigenveil.sources.people.buckets import BUCKET, Buckets, check_no_bucket_split
from eigenveil.sources.source import Block, Partition, Source

_PLACE = "__eigenveil_place__"
_BUCKETS_PER_PARTITION = 8
_PARTITION_ROWS = 1 << 40
"""Upper bound of the number of rows of a partition."""

T = TypeVar("T")


def accepts(data: Any) -> bool:
    """Return whether the data are a Dask array or dataframe."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed") and hasattr(data, "npartitions")


def read_parquet(data: Any) -> Any:
    """Open Parquet files as a Dask dataframe, so that Dask groups the rows of people."""
    from eigenveil._extras import dask_dataframe as dd  # noqa: PLC0415  # an extra, and heavy

    layout, paths = find(data)
    if layout != "parquet":
        raise InvalidInputError(
            f"expected Parquet files, which a cluster can group by person, got {layout} files.",
            hint="Write them as Parquet, or read them on one machine: engine='auto'.",
        )
    return dd.read_parquet(paths)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Open a Dask collection as a source of rows, or of people, whose rows Dask groups first."""
    if units is not None and not isinstance(units, str):
        raise InvalidInputError(
            f"expected the name of a column for units of a Dask collection, got {type(units).__name__}.",
            hint="Make the ids a column of a Dask dataframe, and pass its name: units='person_id'.",
        )
    if data.ndim != 2:
        raise InvalidInputError(f"Expected 2D array, got {data.ndim}D array instead.", hint="Use data[:, None].")
    if not hasattr(data, "columns"):
        return _open_array(data, layout, units)
    return _open_frame(data, layout, units)


def _open_array(data: Any, layout: Layout, units: Any) -> Source:
    """Open an array.

    A graph may select rows by their values, even if Dask knows how many: `compute_chunk_sizes` counts them. So
    places are fixed only in an array that `dask.array.from_array` made, whose name says so.
    """
    if math.isnan(data.shape[1]):
        raise InvalidInputError(
            "expected a Dask array whose number of columns is known.",
            hint="Call data.compute_chunk_sizes() first.",
        )
    check_matrix("array", data.dtype, data.shape)  # types of objects would depend on the values of each piece
    is_sparse = bool(sparse.issparse(getattr(data, "_meta", None)))
    kind = (sparse.csr_array if is_sparse else np.empty)((0, data.shape[1]), dtype=data.dtype)
    schema = in_memory.open_kind(kind, layout=layout, units=units)
    pieces = data.rechunk({1: -1}).to_delayed().ravel().tolist()
    known = not math.isnan(data.shape[0])
    as_given = known and data.name.startswith("array-")
    size = data.nbytes if known else math.inf
    return DaskSource(
        schema, tuple(pieces), PieceOpener(layout, sparse=is_sparse), fixed_places=as_given, nbytes=size
    )


def _open_frame(data: Any, layout: Layout, units: str | None) -> Source:
    """Open a dataframe. Its graph may exclude rows by their values, so places are not fixed.

    Its index is no column, but may hold the ids of people, as after `read_parquet` of a file with an index.
    """
    if units is not None and units not in data.columns and units == data.index.name:
        data = data.reset_index()
    empty = _empty(data)
    names = [str(name) for name in empty.columns]
    exact = layout.by_names(names, units=units)
    schema = in_memory.open_kind(empty, layout=exact, units=units)
    if units is None:
        return DaskSource(schema, tuple(data.to_delayed()), PieceOpener(exact), fixed_places=False)
    unit = find_unit(names, units)
    chosen = [names.index(str(name)) for name in exact.columns or ()]
    frame = data[[empty.columns[place] for place in (*chosen, unit)]]
    return DaskPeople(schema, frame, empty.columns[unit], PieceOpener(exact, units))


def _empty(data: Any) -> Any:
    """Return a pandas frame with the same columns and no rows."""
    import pandas as pd  # noqa: PLC0415  # Dask dataframes consist of pandas frames

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in data.dtypes.items()})


@dataclass(frozen=True, repr=False, eq=False)
class PieceOpener:
    """Opener of a piece of a collection on its worker; the opener holds public settings only."""

    layout: Layout
    units: str | None = None
    sparse: bool = False

    def __call__(self, piece: Any) -> Partition:
        """Open a piece as a partition."""
        source = in_memory.open_kind(piece, layout=self.layout, units=self.units)
        if source.sparse != self.sparse:
            raise InvalidInputError(
                f"expected {'sparse' if self.sparse else 'dense'} pieces, as the collection declares, got others.",
                hint="Pass meta=... to the map_blocks that makes the pieces.",
            )
        (partition,) = source.partitions()
        return partition


@dataclass(frozen=True, repr=False, eq=False)
class DaskSource(ClusterCollection):
    """A source of the pieces of a Dask collection.

    Parameters
    ----------
    schema : Source
        Source of a piece without rows.
    pieces : tuple
        Delayed pieces.
    opener : PieceOpener
        Opener of a piece on its worker.
    fixed_places : bool
        Whether rows keep their positions, whatever their values.
    nbytes : float
        Total size of the pieces in bytes, if it is known without computing them; otherwise infinity.
    """

    pieces: tuple[Any, ...]
    opener: PieceOpener
    fixed_places: bool
    nbytes: float = math.inf

    def partitions(self) -> Sequence[DaskPartition]:
        """Return one partition per piece."""
        return [DaskPartition(piece, self.opener) for piece in self.pieces]


@dataclass(frozen=True, repr=False, eq=False)
class DaskPeople(ClusterCollection):
    """A Dask dataframe with a column of ids, whose rows are not grouped by person yet."""

    fixed_places: ClassVar[bool] = False

    frame: Any
    unit: Any
    opener: PieceOpener

    def gathered(self, client: Any = None) -> DaskSource:
        """Return a source of people, grouped by the cluster of `client`, or by Dask's default scheduler."""
        with nullcontext() if client is None else client.as_current():
            frame = _gathered(self.frame, self.unit)
            return DaskSource(self.schema, tuple(frame.to_delayed()), self.opener, fixed_places=False)

    def partitions(self) -> Sequence[DaskPartition]:
        """Return the partitions of the grouped people; the grouping is done once."""
        return self._gathered.partitions()

    @cached_property
    def _gathered(self) -> DaskSource:
        return self.gathered()


@dataclass(frozen=True, repr=False, eq=False)
class DaskPartition:
    """Partition that is one piece of a collection."""

    piece: Any
    opener: PieceOpener

    @property
    def opened_from(self) -> tuple[PieceOpener, Any]:
        """Opener and piece, for engines that compute and open the piece on its worker."""
        return self.opener, self.piece

    def blocks(self) -> Iterator[Block]:
        """Return the blocks of the piece, which is computed and moved to this process."""
        return self.opener(computed(self.piece.compute)).blocks()


def computed(step: Callable[[], T]) -> T:
    """Return the value of a Dask computation.

    The error for a failure names the type of the exception only: its message may quote the data.
    """
    try:
        return step()
    except InvalidInputError:
        raise
    except Exception as error:  # noqa: BLE001  # the user's graph may raise any exception
        kind = type(error).__name__
    raise UnreadableError(
        f"Dask could not compute the data ({kind}).",
        hint="Compute the collection alone, data.compute(), to see why.",
    )


# -- people ----------------------------------------------------------------------------------------


def _gathered(frame: Any, unit: Any) -> Any:
    """Shuffle the frame by a keyed hash of the id, and check that all rows of a person are in one partition.

    Rows are shuffled once and kept by the cluster, which writes them to disk if memory is short. A shuffle returns
    rows in any order, so they are sorted into the order of the frame again: the sums of a person must not depend,
    to the bit, on when rows of other people arrive.
    """
    buckets = Buckets(max(1, frame.npartitions * _BUCKETS_PER_PARTITION))
    none = np.empty(0, dtype=np.int64)
    meta = _empty(frame).assign(**{BUCKET: none, _PLACE: none})
    marked = frame.map_partitions(_marked, unit, buckets, meta=meta)
    shuffled = marked.shuffle(on=BUCKET, npartitions=frame.npartitions)
    shuffled = computed(shuffled.map_partitions(_in_order, meta=meta).persist)
    found = computed(shuffled.map_partitions(_buckets_of, meta=meta[[BUCKET]]).compute)
    check_no_bucket_split(found[BUCKET].to_numpy(), "Dask")
    return shuffled


def _marked(frame: Any, unit: Any, buckets: Buckets, partition_info: Any = None) -> Any:
    """Return the rows that have an id, with the bucket of the id and their position in the whole frame.

    Unusable ids are refused with the first partition: people are gathered before anything is charged.
    """
    number = partition_info["number"]
    found, there = buckets.of(frame[unit], first=number == 0)
    first = number * _PARTITION_ROWS
    places = np.arange(first, first + len(frame), dtype=np.int64)
    return frame.assign(**{BUCKET: found, _PLACE: places})[there]


def _in_order(frame: Any) -> Any:
    """Return the rows of a partition in the order of the whole frame."""
    return frame.sort_values(_PLACE)


def _buckets_of(frame: Any) -> Any:
    """Return each bucket of a partition once."""
    return frame[[BUCKET]].drop_duplicates()
