"""Ids as bytes, which identify the same person in every block of a stream."""

from __future__ import annotations

import numbers
from typing import Any

import pyarrow as pa

from eigenveil.errors import InvalidInputError
from eigenveil.sources.people.in_memory import exact, keys_of, typed
from eigenveil.sources.people.normal_form import whole_number


def identities(units: Any) -> tuple[str | None, list[bytes | None]]:
    """Return the kind of the ids ("number" or "text"; None if all are missing), and each id as bytes.

    Whole numbers are the same id in any type (7, 7.0, int8 or int64), and so is text that is a whole number.
    Missing ids become None, and so do floats that are not whole numbers: their digits depend on the type. Floats
    too large to represent every whole number are refused. So the id of one person never becomes two ids.

    Examples
    --------
    >>> identities([7, None]) == identities([7.0, float("nan")])
    True
    >>> identities(["7.0", "ann"])
    ('text', [b'n7', b'sann'])
    """
    keys = keys_of(units)
    kind, ids = _typed(units) if keys is None else (_kind_of(keys), keys)
    if kind is None and any(one is not None for one in ids):
        raise InvalidInputError(
            "expected one id per row, all whole numbers or all text.",
            hint="Convert other ids (dates, tuples, mixed types) to text first, in one way for the whole stream.",
        )
    return kind, [_bytes(one) for one in ids]


def bytes_to_hash(units: Any) -> list[bytes | None]:
    """Return bytes for each id, equal for equal ids (different ids may share them); None for missing ids.

    Ids are equal here if they are equal for people in memory. This includes numbers that are not whole, and ids
    that are neither number nor text in a list with numbers or text. The only id that raises an error is a float
    that has lost digits.

    Examples
    --------
    >>> bytes_to_hash([7, 0.5, "7", None]) == [b"n7", bytes_to_hash([0.5, 1])[0], b"n7", None]
    True
    """
    keys = keys_of(units)
    if keys is not None:
        return [None if one is None else _bytes_to_hash(one) for one in keys]
    kind, ids = _typed(units)
    if kind is None and any(one is not None for one in ids):
        raise InvalidInputError(
            "expected a column of whole numbers or text for ids.", hint="Convert ids of other types to text first."
        )
    return [None if one is None else _bytes_to_hash(one) for one in ids]


def _bytes_to_hash(one: Any) -> bytes:
    if isinstance(one, bytes | str):
        number = whole_number(one)
        return _text_bytes(one) if number is None else b"n%d" % hash(number)
    return b"n%d" % hash(one) if isinstance(one, numbers.Number) else b"o"  # equal numbers have equal hashes


def _typed(units: Any) -> tuple[str | None, list[Any]]:
    """Return the kind of ids in a typed array, and the ids, with text as bytes."""
    array = typed(units)
    kind = None if array is None else _kind(array.type)
    if array is None or kind is None:
        return None, [units]
    ids = (exact(array).cast(pa.large_binary()) if kind == "text" else exact(array)).to_pylist()
    return (kind if any(one is not None for one in ids) else None), ids


def _kind_of(keys: list[Any]) -> str | None:
    there = [one for one in keys if one is not None]
    for kind, types in (("number", (int, float)), ("text", (str,))):
        if there and all(type(one) in types for one in there):
            return kind
    return None


def _kind(type_: pa.DataType) -> str | None:
    types = pa.types
    if types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_):
        return "number"
    text = types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    return "text" if text else None


def _bytes(one: Any) -> bytes | None:
    if one is None:
        return None
    if isinstance(one, bytes | str):
        number = whole_number(one)
        return _text_bytes(one) if number is None else b"n%d" % number
    return b"n%d" % int(one) if one == int(one) else None


def _text_bytes(one: bytes | str) -> bytes:
    return b"s" + (one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one)
