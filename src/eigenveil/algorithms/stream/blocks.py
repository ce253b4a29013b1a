"""Blocks of arriving rows: open them, and check that all have the same columns and the same kind of ids."""

from __future__ import annotations

from typing import Any

from eigenveil.algorithms.open_units import check_k
from eigenveil.algorithms.release_warnings import warn_if_not_compiled
from eigenveil.algorithms.stream.options import StreamOptions
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Ledger, Unit
from eigenveil.sources import Layout, Source, open_source
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.rows import RowsSource
from eigenveil.sources.people.identities import identities
from eigenveil.sources.people.in_memory import name_of

Schema = tuple[int, tuple[str, ...] | None]
"""Number of columns, and their names if they have any."""


class BlockReader:
    """Opens the blocks of a stream. The first block fixes the columns, and the first id the kind of ids.

    Attributes
    ----------
    schema : Schema or None
        Number and names of the columns. None before the first block.
    id_kind : str or None
        Kind of ids, numbers or text. None before the first id.
    """

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self.schema: Schema | None = None
        self.id_kind: str | None = None

    def open(self, block: Any, units: Any) -> tuple[Source, list[bytes | None] | None]:
        """Return the rows of a block, and an id per row if units are people."""
        warn_if_not_compiled()
        people = self.options.people
        if people != (units is not None):
            raise InvalidInputError(
                f"expected blocks {'with' if people else 'without'} units=..., since this stream was made with "
                f"units={self.options.units!r}.",
                hint="TrackedStream(..., units='people') takes one id per row.",
            )
        columns = self.options.columns
        if not people:
            return open_source(block, columns=columns), None
        if not in_memory.accepts(block):
            raise InvalidInputError(f"expected a block of rows in memory, got {type(block).__name__}.")
        rows = in_memory.hold(block, layout=Layout.of(columns), units=units)
        kind, ids = identities(rows.ids(units))
        if len(ids) != rows.n_rows:
            raise InvalidInputError(f"expected one id per row, got {len(ids)} ids for {rows.n_rows} rows.")
        self._check_id_kind(kind)
        return RowsSource(rows), ids

    def check_columns(self, source: Source) -> bool:
        """Raise unless a block has the columns of the first block. Return whether it is the first."""
        found = (source.n_columns, source.columns)
        if self.schema is None:
            check_k(self.options.k, source.n_columns)
            self.schema = found
            return True
        if found != self.schema:
            raise InvalidInputError(
                f"expected blocks of {self.schema[0]} columns like the first one, got {source.n_columns}"
                + (" with other names or in another order." if found[0] == self.schema[0] else "."),
                hint="columns=[...] can choose the columns that all blocks share.",
            )
        return False

    def _check_id_kind(self, kind: str | None) -> None:
        if kind is not None and self.id_kind not in (None, kind):
            raise InvalidInputError(
                f"expected ids of the same kind as before ({self.id_kind}), got {kind}.",
                hint="Write an id the same way in every block. Otherwise a person who returns is not recognised.",
            )
        self.id_kind = self.id_kind or kind


def bind_block(ledger: Ledger, units: Any) -> None:
    """Write to the ledger of a stream whose rows these are. Raise if they are not of the people of earlier blocks.

    Ids without a name count as ids of the same people; ids of another column are those of other people.
    """
    ledger.bind(Unit("row") if units is None else Unit.of_ids(name_of(units), known=ledger.unit))
