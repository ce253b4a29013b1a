"""Dask arrays and dataframes: partitions that the workers of a cluster hold, opened where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenveil.errors import InvalidInputError
from eigenveil.sources import memory
from eigenveil.sources.buckets import BUCKET, Buckets, check_whole
from eigenveil.sources.columns import find_unit
from eigenveil.sources.layout import Layout
from eigenveil.sources.source import Block, Partition, Source

_BUCKETS_PER_PARTITION = 8


def accepts(data: Any) -> bool:
    """Whether this is a Dask array or dataframe."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed") and hasattr(data, "npartitions")


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
    kind = np.empty((0, data.shape[1]), dtype=data.dtype)
    schema = memory.open_kind(kind, layout=layout, units=units)
    pieces = data.rechunk({1: -1}).to_delayed().ravel().tolist()
    return DaskSource(schema, tuple(pieces), PieceOpener(layout), fixed_places=True, nbytes=data.nbytes)


def _open_frame(data: Any, layout: Layout, units: str | None) -> Source:
    """Rows of a dataframe. Its graph may leave rows out by their values, so places are not fixed."""
    empty = _empty(data)
    names = [str(name) for name in empty.columns]
    exact = layout.by_names(names, unit=units)
    schema = memory.open_kind(empty, layout=exact, units=units)
    if units is None:
        return DaskSource(schema, tuple(data.to_delayed()), PieceOpener(exact), fixed_places=False)
    find_unit(names, units)
    gathered = _gathered(data[[*map(str, exact.columns or ()), units]], units)
    return DaskSource(schema, tuple(gathered.to_delayed()), PieceOpener(exact, units), fixed_places=False)


def _empty(data: Any) -> Any:
    """A pandas frame with the same columns and no rows."""
    import pandas as pd  # noqa: PLC0415  # Dask dataframes are made of these

    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in data.dtypes.items()})


@dataclass(frozen=True, repr=False, eq=False)
class PieceOpener:
    """Opens a piece of a collection where it is: what travels is public."""

    layout: Layout
    units: str | None = None

    def __call__(self, piece: Any) -> Partition:
        """The piece as a partition."""
        source = memory.open_kind(piece, layout=self.layout, units=self.units)
        (partition,) = source.partitions()
        return partition


@dataclass(frozen=True, repr=False, eq=False)
class DaskSource:
    """Pieces of a Dask collection; their schema is that of a piece without rows."""

    schema: Source
    pieces: tuple[Any, ...]
    opener: PieceOpener
    fixed_places: bool
    nbytes: float = math.inf
    """How large the pieces are in all, where that is known without computing them."""

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

    def partitions(self) -> Sequence[DaskPartition]:
        """One for every piece."""
        return [DaskPartition(piece, self.opener) for piece in self.pieces]

    def blocks(self) -> Iterator[Block]:
        """The blocks of one piece after the other, computed here."""
        for partition in self.partitions():
            yield from partition.blocks()


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
        return self.opener(self.piece.compute()).blocks()


# -- people ----------------------------------------------------------------------------------------


def _gathered(frame: Any, unit: str) -> Any:
    """The frame with all rows of a person in one partition: shuffled by a keyed hash of the id, kept, and checked.

    Rows are shuffled once and kept by the cluster, which writes them to disk where memory is short.
    """
    buckets = Buckets(max(1, frame.npartitions * _BUCKETS_PER_PARTITION))
    meta = _empty(frame).assign(**{BUCKET: np.empty(0, dtype=np.int64)})
    marked = frame.map_partitions(_marked, unit, buckets, meta=meta)
    shuffled = marked.shuffle(on=BUCKET, npartitions=frame.npartitions).persist()
    check_whole(shuffled.map_partitions(_buckets_of, meta=meta[[BUCKET]]).compute()[BUCKET].to_numpy(), "Dask")
    return shuffled


def _marked(frame: Any, unit: str, buckets: Buckets) -> Any:
    """The rows that have an id, with its bucket."""
    places, there = buckets.of(frame[unit])
    return frame.assign(**{BUCKET: places})[there]


def _buckets_of(frame: Any) -> Any:
    """Each bucket of a partition once."""
    return frame[[BUCKET]].drop_duplicates()
