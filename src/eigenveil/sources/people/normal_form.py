"""One form for whole numbers that are written as text, so that an id is the same in files, frames and lists.

pandas writes 7 in one CSV file and 7.0 in the next, if an id is missing there. Dask converts objects to text. The
form of a text is a function of that text alone: it does not depend on other ids, on the file or on the type.
"""

from __future__ import annotations

import re

import pyarrow as pa

_BLANK = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
_WHOLE = rf"{_BLANK}(?:[+-]?(0)|\+?([1-9][0-9]*)|(-[1-9][0-9]*))(?:\.0*)?{_BLANK}"
"""A whole number without leading zeros, for Python and for Arrow: 7, +7, -7, 7., 7.00, with blanks around it."""

_DIGITS = 400
LARGEST = 10**_DIGITS
"""Whole numbers below this are ids. Decimal("1e999999999") would fill the memory with digits."""


def normal_text(text: str) -> str:
    """Return the digits of a whole number, with its sign if it is negative; other text unchanged.

    Examples
    --------
    >>> [normal_text(one) for one in ("7", " 7.0", "+7.", "-0", "007", "1e3", "7.5", " ann")]
    ['7', '7', '7', '0', '007', '1e3', '7.5', ' ann']
    """
    found = re.fullmatch(_WHOLE, text)
    return text if found is None else found.group(found.lastindex or 0)


def normal_texts(texts: pa.Array) -> pa.Array:
    """Return `normal_text` of every text of an Arrow array; nulls stay null."""
    import pyarrow.compute as pc  # noqa: PLC0415  # heavy

    return pc.replace_substring_regex(texts, f"^{_WHOLE}$", r"\1\2\3")


def number_or_text(text: str | bytes) -> int | str | bytes:
    """Return the number that a normal text is, if it is below `LARGEST`; other text unchanged."""
    plain = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return int(plain) if _NORMAL.fullmatch(plain) else text


_NORMAL = re.compile(rb"0|-?[1-9][0-9]{0,%d}" % (_DIGITS - 1))
