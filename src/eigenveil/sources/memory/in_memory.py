"""The kinds of data that are in memory, in the order in which they are tried."""

from __future__ import annotations

from typing import Any

from eigenveil.sources.layout import Layout
from eigenveil.sources.memory import arrays, arrow, frames, sparse
from eigenveil.sources.memory.rows import Kind, Rows, RowsSource
from eigenveil.sources.people.in_memory import group
from eigenveil.sources.source import Source

KINDS: tuple[Kind, ...] = (arrays, sparse, arrow, frames)


def accepts(data: Any) -> bool:
    """Whether this is in memory and of a known kind."""
    return any(kind.accepts(data) for kind in KINDS)


def hold(data: Any, *, layout: Layout, units: Any) -> Rows:
    """The chosen columns of the data, checked by schema."""
    return next(kind for kind in KINDS if kind.accepts(data)).hold(data, layout=layout, units=units)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of rows, or of people where ids are given."""
    rows = hold(data, layout=layout, units=units)
    return RowsSource(rows) if units is None else group(rows, units)
