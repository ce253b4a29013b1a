"""Conversion of a layout (how columns are read) to JSON values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenveil.errors import InvalidInputError
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.sources import Layout

LAYOUT = ("columns", "encode", "fill")
"""Fields of a layout. DPPCA has parameters of the same names."""


def plain_layout(layout: Layout) -> dict[str, Any]:
    """Convert a layout to JSON values. A `fill` per column becomes a list of pairs, as columns may be positions.

    Examples
    --------
    >>> plain_layout(Layout.of(columns=[0, 2], fill={2: 1.5}))
    {'columns': [0, 2], 'encode': None, 'fill': [[2, 1.5]]}
    """
    fill = layout.fill
    return {**layout.plain, "fill": [list(pair) for pair in fill.items()] if isinstance(fill, Mapping) else fill}


def restored_layout(plain: Any) -> Layout:
    """Restore the layout that `plain_layout` converted."""
    if not isinstance(plain, dict) or set(plain) != set(LAYOUT):
        raise DamagedFileError("the model does not state how columns are read.")
    try:
        columns, encode, fill = (plain[name] for name in LAYOUT)
        return Layout.of(columns, encode, dict(fill) if isinstance(fill, list) else fill)
    except (InvalidInputError, TypeError, ValueError):
        raise DamagedFileError("the model's columns, encode or fill are not valid.") from None
