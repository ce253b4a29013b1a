"""Dask arrays and dataframes: partitions that the workers of a cluster hold, opened where they are."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.paths import find
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.arrays import check_matrix
from eigenveil.sources.people.buckets import BUCKET, Buckets, check_whole
from eigenveil.sources.source import Block, Partition, Source

_PLACE = "__eigenveil_place__"
_BUCKETS_PER_PARTITION = 8
_PARTITION_ROWS = 1 << 40
"""More rows than a partition has."""

T = TypeVar("T")


def accepts(data: Any) -> bool:
    """Whether this is a Dask array or dataframe."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed") and hasattr(data, "npartitions")


def read_parquet(data: Any) -> Any:
    """Parquet files as a Dask dataframe, for people, whose rows Dask brings together."""
    import dask.dataframe as dd  # noqa: PLC0415  # an extra, and heavy

    layout, paths = find(data)
    if layout != "parquet":
        raise InvalidInputError(
            f"expected Parquet files, whose people a cluster can bring together, got {layout} files.",
            hint="Write them as Parquet, or read them on one machine: engine='auto'.",
        )
    return dd.read_parquet(paths)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows, or of people, whose rows Dask brings together first."""
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
    """Rows of an array; where Dask does not know how many there are, they were chosen by their values."""
    if math.isnan(data.shape[1]):
        raise InvalidInputError(
            "expected a Dask array whose number of columns is known.",
            hint="Call data.compute_chunk_sizes() first.",
        )
    check_matrix("array", data.dtype, data.shape)  # objects would be judged by the values of each piece
    thin = bool(sparse.issparse(getattr(data, "_meta", None)))
    kind = (sparse.csr_array if thin else np.empty)((0, data.shape[1]), dtype=data.dtype)
    schema = in_memory.open_kind(kind, layout=layout, units=units)
    pieces = data.rechunk({1: -1}).to_delayed().ravel().tolist()
    known = not math.isnan(data.shape[0])
    size = data.nbytes if known else math.inf
    return DaskSource(schema, tuple(pieces), PieceOpener(layout, sparse=thin), fixed_places=known, nbytes=size)


def _open_frame(data: Any, layout: Layout, units: str | None) -> Source:
    """Rows of a dataframe. Its graph may leave rows out by their values, so places are not fixed."""
    empty = _empty(data)
    names = [str(name) for name in empty.columns]
    exact = layout.by_names(names, unit=units)
    schema = in_memory.open_kind(empty, layout=exact, units=units)
    if units is None:
        return DaskSource(schema, tuple(data.to_delayed()), PieceOpener(exact), fixed_places=False)
    unit = find_unit(names, units)
    chosen = [names.index(str(name)) for name in exact.columns or ()]
    frame = data[[empty.columns[place] for place in (*chosen, unit)]]
    return DaskPeople(schema, frame, empty.columns[unit], PieceOpener(exact, units))


def _empty(data: Any) -> Any:
    """A pandas frame with the same columns and no rows."""
    import pandas as pd  # noqa: PLC0415  # Dask dataframes are made of these

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in data.dtypes.items()})


@dataclass(frozen=True, repr=False, eq=False)
class PieceOpener:
    """Opens a piece of a collection where it is: what travels is public."""

    layout: Layout
    units: str | None = None
    sparse: bool = False

    def __call__(self, piece: Any) -> Partition:
        """The piece as a partition."""
        source = in_memory.open_kind(piece, layout=self.layout, units=self.units)
        if source.sparse != self.sparse:
            raise InvalidInputError(
                f"expected {'sparse' if self.sparse else 'dense'} pieces, as the collection says, got others.",
                hint="Give meta=... to the map_blocks that makes them.",
            )
        (partition,) = source.partitions()
        return partition


@dataclass(frozen=True, repr=False, eq=False)
class _Collection:
    """What is known of a Dask collection from a piece without rows."""

    schema: Source

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        return self.schema.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, where the data has them."""
        return self.schema.columns

    @property
    def layout(self) -> Layout:
        """How its columns were read."""
        return self.schema.layout

    @property
    def rereadable(self) -> bool:
        """Dask computes again what it does not keep."""
        return True

    @property
    def sparse(self) -> bool:
        """As its pieces are."""
        return self.schema.sparse

    @abstractmethod
    def partitions(self) -> Sequence[DaskPartition]:
        """One for every piece."""

    def blocks(self) -> Iterator[Block]:
        """The blocks of one piece after the other, computed here."""
        for partition in self.partitions():
            yield from partition.blocks()


@dataclass(frozen=True, repr=False, eq=False)
class DaskSource(_Collection):
    """Pieces of a Dask collection.

    Parameters
    ----------
    schema : Source
        That of a piece without rows.
    pieces : tuple
        Delayed.
    opener : PieceOpener
        What opens a piece where it is.
    fixed_places : bool
        Whether rows keep their places whatever is in them.
    nbytes : float
        How large the pieces are in all, where that is known without computing them.
    """

    pieces: tuple[Any, ...]
    opener: PieceOpener
    fixed_places: bool
    nbytes: float = math.inf

    def partitions(self) -> Sequence[DaskPartition]:
        """One for every piece."""
        return [DaskPartition(piece, self.opener) for piece in self.pieces]


@dataclass(frozen=True, repr=False, eq=False)
class DaskPeople(_Collection):
    """A Dask dataframe with a column of ids, whose people have yet to be brought together."""

    fixed_places: ClassVar[bool] = False

    frame: Any
    unit: Any
    opener: PieceOpener

    def gathered(self, client: Any = None) -> DaskSource:
        """The people, brought together by a cluster; by whatever Dask uses by itself if no client is given."""
        with nullcontext() if client is None else client.as_current():
            frame = _gathered(self.frame, self.unit)
            return DaskSource(self.schema, tuple(frame.to_delayed()), self.opener, fixed_places=False)

    def partitions(self) -> Sequence[DaskPartition]:
        """Those of the people that were brought together, once."""
        return self._gathered.partitions()

    @cached_property
    def _gathered(self) -> DaskSource:
        return self.gathered()


@dataclass(frozen=True, repr=False, eq=False)
class DaskPartition:
    """A piece of a collection."""

    piece: Any
    opener: PieceOpener

    @property
    def opened_from(self) -> tuple[PieceOpener, Any]:
        """How it is opened, and what by then has been computed: for engines that do both where the piece is."""
        return self.opener, self.piece

    def blocks(self) -> Iterator[Block]:
        """The blocks of the piece, which is brought here."""
        return self.opener(computed(self.piece.compute)).blocks()


def computed(step: Callable[[], T]) -> T:
    """The value of a step of Dask; what fails in it is named by its type alone: its words may quote the data."""
    try:
        return step()
    except InvalidInputError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the user's own graph raises
        kind = type(error).__name__
    raise UnreadableError(
        f"Dask could not compute the data ({kind}).",
        hint="Compute the collection by itself, data.compute(), to see why.",
    )


# -- people ----------------------------------------------------------------------------------------


def _gathered(frame: Any, unit: Any) -> Any:
    """The frame with all rows of a person in one partition: shuffled by a keyed hash of the id, kept, and checked.

    Rows are shuffled once and kept by the cluster, which writes them to disk where memory is short. A shuffle
    brings rows in any order, so they are put back into that of the frame: a person's sums must not depend, to the
    bit, on when others' rows arrive.
    """
    buckets = Buckets(max(1, frame.npartitions * _BUCKETS_PER_PARTITION))
    none = np.empty(0, dtype=np.int64)
    meta = _empty(frame).assign(**{BUCKET: none, _PLACE: none})
    marked = frame.map_partitions(_marked, unit, buckets, meta=meta)
    shuffled = marked.shuffle(on=BUCKET, npartitions=frame.npartitions)
    shuffled = computed(shuffled.map_partitions(_in_order, meta=meta).persist)
    found = computed(shuffled.map_partitions(_buckets_of, meta=meta[[BUCKET]]).compute)
    check_whole(found[BUCKET].to_numpy(), "Dask")
    return shuffled


def _marked(frame: Any, unit: Any, buckets: Buckets, partition_info: Any = None) -> Any:
    """The rows that have an id, with its bucket and their place in the whole frame."""
    found, there = buckets.of(frame[unit])
    first = partition_info["number"] * _PARTITION_ROWS
    places = np.arange(first, first + len(frame), dtype=np.int64)
    return frame.assign(**{BUCKET: found, _PLACE: places})[there]


def _in_order(frame: Any) -> Any:
    """The rows of a partition in the order of the whole frame."""
    return frame.sort_values(_PLACE)


def _buckets_of(frame: Any) -> Any:
    """Each bucket of a partition once."""
    return frame[[BUCKET]].drop_duplicates()
