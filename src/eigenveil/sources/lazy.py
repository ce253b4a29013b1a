"""Frames that are not computed yet (narwhals' lazy frames): computed once, into a file, and read from there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw

from eigenveil.errors import UnreadableError
from eigenveil.sources.files import FilesSource, open_scan
from eigenveil.sources.frames import narwhal, on_frame
from eigenveil.sources.guard import attempt
from eigenveil.sources.layout import Layout
from eigenveil.sources.scans import scan_parquet
from eigenveil.sources.source import Source
from eigenveil.sources.temporary import TemporaryFolder


def accepts(data: Any) -> bool:
    """Whether this is a lazy frame."""
    return isinstance(narwhal(data), nw.LazyFrame)


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """A source of the rows that the frame has when it is computed, which happens here.

    It may leave rows out by their values, so places are not fixed.
    """
    frame: nw.LazyFrame[Any] = narwhal(data)
    exact, _ = on_frame(layout, frame, units)
    unit = [units] if isinstance(units, str) else []
    folder = TemporaryFolder()
    path = folder.path / "computed.parquet"
    chosen = frame.select([*map(str, exact.columns or ()), *unit])
    attempt(lambda: chosen.sink_parquet(path), _not_computed(data), Exception)  # in words that may quote values
    source = open_scan(scan_parquet([str(path)], owner=folder), layout=exact, units=units)
    return replace(source, fixed_places=False) if isinstance(source, FilesSource) else source


def _not_computed(data: Any) -> UnreadableError:
    return UnreadableError(
        f"could not compute the {type(data).__name__}.", hint="Compute it by itself, data.collect(), to see why."
    )
