"""Ids as bytes, which identify the same person in every block of a stream."""

from __future__ import annotations

import numbers
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eigenveil.errors import InvalidInputError
from eigenveil.sources.guard import is_missing
from eigenveil.sources.kinds import is_text
from eigenveil.sources.people.in_memory import HEAD, by_hand, exact, key_of, refuse_odd, typed, whole_number

_LARGEST = 2**400
"""Whole numbers up to here are ids; Decimal("1e999999999") would fill the memory with digits."""


def identities(units: Any, *, first: bool = False) -> list[bytes | None]:
    """Return each id as bytes, which depend on that id alone.

    Whole numbers are the same id in any type (7, 7.0, int8 or int64), also if they are written as text ("7", but
    not "07"). Missing ids become None, and so do all that are neither whole numbers nor text, such as floats that
    are not whole: their digits depend on the type. So do floats too large to represent every whole number. So the
    id of one person never becomes two ids, and an odd id changes no other.

    `first`: refuse the ids if most of the first ones are odd, before a stream begins.

    Examples
    --------
    >>> identities([7, None, "7"]) == identities([7.0, float("nan"), 7])
    True
    >>> identities(["a", 7, (1, 2)])
    [b'sa', b'n7', None]
    """
    keys, there = _keys(units)
    ids = [_bytes(whole_number(one)) for one in keys]
    if first:
        refuse_odd(there, sum(one is not None for one in ids[:HEAD]))
    return ids


def bytes_to_hash(units: Any) -> list[bytes | None]:
    """Return bytes for each id, equal for equal ids (different ids may share them); None for missing ids.

    Ids are equal here if they are equal for people in memory. This includes numbers that are not whole, and ids
    that are neither number nor text in a list with numbers or text.

    Examples
    --------
    >>> bytes_to_hash([7, 0.5, "a", None]) == [bytes_to_hash([7.0])[0], bytes_to_hash([0.5, 1])[0], b"sa", None]
    True
    """
    return [_bytes_to_hash(whole_number(one)) for one in _keys(units)[0]]


def _keys(units: Any) -> tuple[list[Any], int]:
    """Return the keys of ids, text as bytes, and how many of the first ids are not missing."""
    listed = by_hand(units)
    if listed is not None:
        keys = [(one,) if isinstance(one, bytes) else one for one in map(key_of, listed)]  # bytes are not text
        return keys, sum(not is_missing(one) for one in listed[:HEAD])
    plain = typed(units)
    text = plain is not None and is_text(plain.type)
    if plain is None or not (text or _is_number(plain.type)):
        raise InvalidInputError(
            "expected one id per row, whole numbers or text.",
            hint="Convert other ids (dates, bytes) to text first, in one way everywhere.",
        )
    return (plain.cast(pa.large_binary()) if text else exact(plain)).to_pylist(), pc.count(plain[:HEAD]).as_py()


def _is_number(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_))


def _bytes(one: Any) -> bytes | None:
    if isinstance(one, bytes | str):
        return b"s" + (one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one)
    number: Any = one if isinstance(one, numbers.Number) else None
    whole = number is not None and -_LARGEST < number < _LARGEST and number == int(number)
    return b"n%d" % int(number) if whole else None


def _bytes_to_hash(one: Any) -> bytes | None:
    if one is None or isinstance(one, bytes | str):
        return _bytes(one)
    return b"n%d" % hash(one) if isinstance(one, numbers.Number) else b"o"  # equal numbers have equal hashes
