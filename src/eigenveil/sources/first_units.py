"""A look at the first units of files, before anything is charged."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import quote_some
from eigenveil.sources.files.row_cache import KeptSource
from eigenveil.sources.labels import CODE
from eigenveil.sources.people.in_memory import HEAD
from eigenveil.sources.source import Block, Source
from eigenveil.sources.wrapped import Wrapped


def check_first_units(source: Source) -> None:
    """Read a first block of files on this machine; refuse files that cannot be read, and columns without values.

    People in files are sorted for this, which checks the number of ids. A column is without values if at most one
    of the first units has a value in it, and at least two more have none. So one unit never makes a column with
    values in most units one without, and one value in an empty column changes nothing.
    """
    inner: Any = source
    while isinstance(inner, Wrapped) and not isinstance(inner, KeptSource):
        inner = inner.source
    block = inner.first() if isinstance(inner, KeptSource) else None
    if block is None or inner.columns is None:
        return
    there = _units_with_values(block)
    units = min(block.units, HEAD)
    few = (there <= 1) & (units - there >= there + 2)
    empty = [name for name, bad in zip(inner.columns, few, strict=True) if bad and name != CODE]
    if empty:
        raise InvalidInputError(
            f"expected values in every column, but {quote_some(empty)} has none in the first units; rows with a "
            "missing value are left out, so no row would be left. Nothing was charged.",
            hint="Leave it out: name the other columns with columns=[...], or --columns. Or replace missing "
            "values: fill=0.0, or --fill 0.",
        )


def _units_with_values(block: Block) -> Any:
    """Return for each column how many of the first units have a value in it."""
    if block.offsets is None:
        return (~np.isnan(np.asarray(block.values[:HEAD]))).sum(axis=0)
    offsets = block.offsets[: HEAD + 1]
    rows = ~np.isnan(np.asarray(block.values[: int(offsets[-1])]))
    return np.logical_or.reduceat(rows, offsets[:-1], axis=0).sum(axis=0)
