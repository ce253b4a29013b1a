"""Frames that are not computed yet (polars' lazy frames, DuckDB's relations and whatever else narwhals knows).

They are computed once, into a file, and read from there.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.any_files import open_scan
from eigenveil.sources.files.arrow_streams import ids_by_place, unanswered
from eigenveil.sources.files.scans import scan_parquet
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.frames import names_of, narwhal, on_frame
from eigenveil.sources.source import Source


def accepts(data: Any) -> bool:
    """Whether this is a lazy frame."""
    return isinstance(narwhal(data), nw.LazyFrame)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows that the frame has when it is computed, which happens here.

    A frame may leave out rows by their values, or order them so, and places are then not fixed. Rows of a database
    come in an order of its own, so the ids of people must be one of the columns.
    """
    frame: nw.LazyFrame[Any] = narwhal(data)
    if not (isinstance(units, str | None) or frame.implementation.is_polars()):
        raise ids_by_place(data)
    exact, _ = on_frame(layout, frame, units)
    unit = [units] if isinstance(units, str) else []
    for name in unit:
        find_unit(names_of(frame), name)
    folder = TemporaryFolder()
    path = folder.path / "computed.parquet"
    chosen = frame.select([*map(str, exact.columns or ()), *unit])
    attempt(lambda: chosen.sink_parquet(path), unanswered(data), Exception)
    return open_scan(scan_parquet([str(path)], owner=folder), layout=exact, units=units, fixed_places=False)
