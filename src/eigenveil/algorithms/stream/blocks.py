"""Blocks of arriving rows: open them, and check that all have the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from eigenveil.algorithms.open_units import check_k
from eigenveil.algorithms.release_warnings import warn_if_not_compiled
from eigenveil.algorithms.stream.options import StreamOptions
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Ledger, Unit
from eigenveil.sources import Layout, Source, open_source
from eigenveil.sources.columns import name_of
from eigenveil.sources.memory import in_memory
from eigenveil.sources.memory.rows import RowsSource
from eigenveil.sources.people.identities import identities

Schema = tuple[int, tuple[str, ...] | None]
"""Number of columns, and their names if they have any."""


@contextmanager
def noting_rows(arrivals: Callable[[], int]) -> Iterator[None]:
    """Add a note to any exception, also an interrupt, that says how many rows were taken before it."""
    before = arrivals()
    try:
        yield
    except BaseException as stopped:
        taken = arrivals() - before
        if taken:
            stopped.add_note(
                f"The first {taken} rows of this call are in this stream. If it continues, pass in only the rows "
                "after them, so that none counts twice."
            )
        raise


def refuse_unprepared(prepared: Mapping[str, Any]) -> None:
    """Raise if the rows of a stream are changed by a `DPPCA` before they are added."""
    changes = [name for name, value in prepared.items() if value is not None]
    if changes:
        raise InvalidInputError(
            f"the rows of this stream are prepared by a DPPCA ({', '.join(changes)}), and these are not.",
            hint="Pass them to partial_fit of that DPPCA; DPPCA(...).resume(path) continues from a checkpoint.",
        )


class BlockReader:
    """Opens the blocks of a stream. The first block fixes the columns.

    Attributes
    ----------
    schema : Schema or None
        Number and names of the columns. None before the first block.
    """

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self.schema: Schema | None = None

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
        ids = identities(rows.ids(units), first=self.schema is None)
        if len(ids) != rows.n_rows:
            raise InvalidInputError(f"expected one id per row, got {len(ids)} ids for {rows.n_rows} rows.")
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


def bind_block(ledger: Ledger, units: Any) -> None:
    """Write to the ledger of a stream whose rows these are. Raise if they are not of the people of earlier blocks.

    Ids without a name count as ids of the same people; ids of another column are those of other people.
    """
    ledger.bind(Unit("row") if units is None else Unit.of_ids(name_of(units), known=ledger.unit))
