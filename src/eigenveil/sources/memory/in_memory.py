"""All kinds of data in memory, in the order in which they are tried."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from eigenveil.errors import InvalidInputError
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
    """Return the selected columns of the data, after a check of the schema and of the order of ids."""
    rows = next(kind for kind in KINDS if kind.accepts(data)).hold(data, layout=layout, units=units)
    check_order(data, units, "units")
    return rows


def open_kind(data: Any, *, layout: Layout, units: Any) -> Source:
    """Open the data as a source of rows, or of people if ids are passed in."""
    rows = hold(data, layout=layout, units=units)
    return RowsSource(rows) if units is None else group(rows, units)


def check_order(data: Any, given: Any, argument: str) -> None:
    """Refuse ids or groups whose index differs from that of the rows: they are given in the order of the rows.

    Rows without an index are numbered from 0. So ids or groups that have these numbers in another order are
    refused.
    """
    own = _index_of(given)
    rows = None if own is None else _index_of(data)
    if own is not None and rows is None and _is_shuffled(own):
        name = "ids" if argument == "units" else argument
        raise InvalidInputError(
            f"expected {argument} in the order of the rows, but their index numbers the rows in another order.",
            hint=f"Use {argument}={name}.sort_index(). If they are in the order of the rows all the same, use "
            f"{argument}={name}.reset_index(drop=True).",
        )
    if rows is None or len(rows) != len(own) or rows.equals(own):
        return
    if rows.astype(object).equals(own.astype(object)):  # equal labels of different types
        return
    name = "ids" if argument == "units" else argument
    found = own.is_unique and bool((own.get_indexer(rows) >= 0).all())
    raise InvalidInputError(
        f"expected {argument} in the order of the rows, but their index differs from that of X.",
        hint=(f"Use {argument}={name}.loc[X.index]. " if found else "Take both from one frame. ")
        + f"If they are in the order of the rows all the same, use {argument}={name}.to_numpy().",
    )


def _is_shuffled(index: Any) -> bool:
    """Return whether the index has the numbers from 0 on, in another order."""
    if getattr(index.dtype, "kind", "") not in "iu" or index.hasnans:
        return False
    places, order = index.to_numpy(dtype=np.int64), np.arange(len(index))
    return not np.array_equal(places, order) and np.array_equal(np.sort(places), order)


def _index_of(data: Any) -> Any:
    """Return the index of a frame or a series that has one, as in pandas; otherwise None."""
    native = nw.from_native(data, pass_through=True, allow_series=True)
    return nw.maybe_get_index(native) if isinstance(native, nw.DataFrame | nw.Series) else None
