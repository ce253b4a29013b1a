"""Ids that mean the same in every block of a stream, as bytes."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.people import exact, sortable


def identities(units: Any) -> tuple[str | None, list[bytes | None]]:
    """What kind of ids these are ("number" or "text"; None if all are missing), and each one as bytes.

    Whole numbers are the same id in any type (7, 7.0, int8 or int64); text is never the same id as a number.
    Missing ids are None, and so are floats that are not whole numbers: their digits depend on the type. Floats too
    large to hold every whole number are refused. So one person's id never becomes two.

    Examples
    --------
    >>> identities([7, None]) == identities([7.0, float("nan")])
    True
    >>> identities(["7"])
    ('text', [b's7'])
    """
    series = nw.from_native(units, pass_through=True, allow_series=True)
    try:
        array = sortable(
            series.to_arrow() if isinstance(series, nw.Series) else pa.array(series, from_pandas=True)
        )
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        array = None
    kind = None if array is None else _kind(array.type)
    if array is None or kind is None:
        raise InvalidInputError(
            "expected one id per row, all whole numbers or all text.",
            hint="Turn other ids (dates, tuples, mixed types) into text first, in one way for the whole stream.",
        )
    ids = exact(array).to_pylist()
    return (kind if any(one is not None for one in ids) else None), [_bytes(one) for one in ids]


def _kind(type_: pa.DataType) -> str | None:
    types = pa.types
    if types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_):
        return "number"
    text = types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    return "text" if text else None


def _bytes(one: Any) -> bytes | None:
    if one is None:
        return None
    if isinstance(one, str):
        return b"s" + one.encode("utf-8", "surrogatepass")
    return b"n%d" % int(one) if one == int(one) else None
