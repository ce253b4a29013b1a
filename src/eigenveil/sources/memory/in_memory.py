"""All kinds of data in memory, in the order in which they are tried."""

from __future__ import annotations

from typing import Any

from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import arrays, arrow, frames, sparse
from eigenveil.sources.memory.rows import MemoryKind, Rows, RowsSource
from eigenveil.sources.people.in_memory import group
from eigenveil.sources.source import Source

KINDS: tuple[MemoryKind, ...] = (arrays, sparse, arrow, frames)


def accepts(data: Any) -> bool:
    """Return whether the data are in memory and of a known kind."""
    return any(kind.accepts(data) for kind in KINDS)


def hold(data: Any, *, layout: Layout, units: Any) -> Rows:
    """Return the selected columns of the data, after a check of the schema."""
    return next(kind for kind in KINDS if kind.accepts(data)).hold(data, layout=layout, units=units)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Open the data as a source of rows, or of people if ids are passed in."""
    rows = hold(data, layout=layout, units=units)
    return RowsSource(rows) if units is None else group(rows, units)
