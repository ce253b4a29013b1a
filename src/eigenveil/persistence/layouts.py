"""How columns were read, as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenveil.errors import InvalidInputError
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.sources import Layout

LAYOUT = ("columns", "encode", "fill")
"""What a layout is made of; parameters of a DPPCA have the same names."""


def plain_layout(layout: Layout) -> dict[str, Any]:
    """A layout in values that JSON has: numbers by column are pairs, since columns may be positions.

    Examples
    --------
    >>> plain_layout(Layout.of(columns=[0, 2], fill={2: 1.5}))
    {'columns': [0, 2], 'encode': None, 'fill': [[2, 1.5]]}
    """
    fill = layout.fill
    return {**layout.plain, "fill": [list(pair) for pair in fill.items()] if isinstance(fill, Mapping) else fill}


def restored_layout(plain: Any) -> Layout:
    """The layout that `plain_layout` took apart."""
    if not isinstance(plain, dict) or set(plain) != set(LAYOUT):
        raise DamagedFileError("the model does not say how columns are read.")
    try:
        columns, encode, fill = (plain[name] for name in LAYOUT)
        return Layout.of(columns, encode, dict(fill) if isinstance(fill, list) else fill)
    except (InvalidInputError, TypeError, ValueError):
        raise DamagedFileError("the model says in no known way how columns are read.") from None
