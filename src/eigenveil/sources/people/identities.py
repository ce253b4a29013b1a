"""Ids as bytes, which identify the same person in every block of a stream."""

from __future__ import annotations

import numbers
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eigenveil.errors import InvalidInputError
from eigenveil.sources.kinds import is_text
from eigenveil.sources.people.in_memory import HEAD, by_hand, count_present, exact, key_of, refuse_odd, typed
from eigenveil.sources.people.normal_form import LARGEST, number_or_text


def identities(units: Any, *, first: bool = False) -> list[bytes | None]:
    """Return each id as bytes, which depend on that id alone.

    Whole numbers are the same id in any type (7, 7.0, int8 or int64), and so is text that is a whole number.
    Missing ids become None, and so do all that are neither whole numbers nor text, such as floats that are not
    whole: their digits depend on the type. So do floats too large to represent every whole number. So the id of
    one person never becomes two ids, and an odd id changes no other.

    `first`: refuse the ids if most of the first ones are odd, before a stream begins.

    Examples
    --------
    >>> identities([7, None, "7"]) == identities([7.0, float("nan"), 7])
    True
    >>> identities(["7.0", "ann", (1, 2)])
    [b'n7', b'sann', None]
    """
    keys, there = _keys(units)
    ids = [_bytes(one) for one in keys]
    if first:
        refuse_odd(there, sum(one is not None for one in ids[:HEAD]))
    return ids


def bytes_to_hash(units: Any, *, first: bool = False) -> list[bytes | None]:
    """Return bytes for each id, equal for equal ids (different ids may share them); None for missing ids.

    Ids are equal here if they are equal for people in memory. This includes numbers that are not whole, and ids
    that are neither number nor text in a list with numbers or text. `first`: as for `identities`.

    Examples
    --------
    >>> bytes_to_hash([7, 0.5, "7", "a", None]) == [b"n7", bytes_to_hash([0.5, 1])[0], b"n7", b"sa", None]
    True
    """
    keys, there = _keys(units)
    if first:
        refuse_odd(there, sum(one is not None for one in keys[:HEAD]))
    return [_bytes_to_hash(one) for one in keys]


def _keys(units: Any) -> tuple[list[Any], int]:
    """Return the keys of ids, text as bytes, and how many of the first ids are not missing."""
    listed = by_hand(units)
    if listed is not None:
        keys = [(one,) if isinstance(one, bytes) else one for one in map(key_of, listed)]  # bytes are not text
        return keys, count_present(listed[:HEAD])
    plain = typed(units)
    text = plain is not None and is_text(plain.type)
    if plain is None or not (text or _is_number(plain.type)):
        raise InvalidInputError(
            "expected one id per row, whole numbers or text.",
            hint="Convert other ids (dates, bytes) to text first, in one way everywhere.",
        )
    known = exact(plain)
    found = (known.cast(pa.large_binary()) if text else known).to_pylist()
    keys = [one if one is None else number_or_text(one) for one in found] if text else found
    return keys, pc.count(plain[:HEAD]).as_py()


def _is_number(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_))


def _bytes(one: Any) -> bytes | None:
    if isinstance(one, bytes | str):
        return b"s" + (one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one)
    number: Any = one if isinstance(one, numbers.Number) else None
    whole = number is not None and -LARGEST < number < LARGEST and number == int(number)
    return b"n%d" % int(number) if whole else None


def _bytes_to_hash(one: Any) -> bytes | None:
    if one is None or isinstance(one, bytes | str):
        return _bytes(one)
    return b"n%d" % hash(one) if isinstance(one, numbers.Number) else b"o"  # equal numbers have equal hashes
