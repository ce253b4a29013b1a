"""Lazy frames: polars' lazy frames, DuckDB's relations and all others that narwhals supports.

A lazy frame is computed once, into a file, and read from that file.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from eigenveil.sources.columns import find_unit
from eigenveil.sources.files.any_files import open_scan
from eigenveil.sources.files.arrow_streams import failed_query_error, separate_ids_error
from eigenveil.sources.files.scans import scan_parquet
from eigenveil.sources.files.temporary import TemporaryFolder
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.memory.frames import names_of, on_frame, to_narwhals
from eigenveil.sources.source import Source


def accepts(data: Any) -> bool:
    """Return whether the data are a lazy frame."""
    return isinstance(to_narwhals(data), nw.LazyFrame)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Compute the frame, and return a source of its rows.

    A frame may exclude or order rows by their values, so places are not fixed. A database returns rows in an
    arbitrary order, so the ids of people must be one of its columns.
    """
    frame: nw.LazyFrame[Any] = to_narwhals(data)
    if not (isinstance(units, str | None) or frame.implementation.is_polars()):
        raise separate_ids_error(data)
    exact, _ = on_frame(layout, frame, units)
    unit = [units] if isinstance(units, str) else []
    for name in unit:
        find_unit(names_of(frame), name)
    folder = TemporaryFolder()
    path = folder.path / "computed.parquet"
    chosen = frame.select([*map(str, exact.columns or ()), *unit])
    attempt(lambda: chosen.sink_parquet(path), failed_query_error(data), Exception)
    return open_scan(scan_parquet([str(path)], owner=folder), layout=exact, units=units, fixed_places=False)
