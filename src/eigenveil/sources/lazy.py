"""Frames that are not computed yet (narwhals' lazy frames): computed once, into a file, and read from there."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from eigenveil.sources.files import open_scan
from eigenveil.sources.frames import narwhal, on_frame
from eigenveil.sources.layout import Layout
from eigenveil.sources.scans import scan_parquet
from eigenveil.sources.source import Source
from eigenveil.sources.temporary import TemporaryFolder


def accepts(data: Any) -> bool:
    """Whether this is a lazy frame."""
    return isinstance(narwhal(data), nw.LazyFrame)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows that the frame has when it is computed, which happens here."""
    frame: nw.LazyFrame[Any] = narwhal(data)
    exact, _ = on_frame(layout, frame, units)
    unit = [units] if isinstance(units, str) else []
    folder = TemporaryFolder()
    path = folder.path / "computed.parquet"
    frame.select([*map(str, exact.columns or ()), *unit]).sink_parquet(path)
    return open_scan(scan_parquet([str(path)], owner=folder), layout=exact, units=units)
