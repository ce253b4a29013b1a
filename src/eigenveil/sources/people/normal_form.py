"""One form for ids that are written as text, so that an id is the same in files, frames and lists.

pandas writes 7 in one CSV file and 7.0 in the next, if an id is missing there. Dask converts objects to text. The
form of a text is a function of that text alone: it does not depend on other ids, on the file or on the type.
"""

from __future__ import annotations

import re

import pyarrow as pa

MISSING = (
    "",
    *("NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "-NaN", "-nan"),
    *("#N/A", "#NA", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""Texts that represent a missing entry."""

_BLANK = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
_LIMIT = str(2**53)
_BELOW = "[1-9][0-9]{0,14}|" + "|".join(
    f"{_LIMIT[:place]}[{int(place == 0)}-{int(digit) - 1}][0-9]{{{len(_LIMIT) - 1 - place}}}"
    for place, digit in enumerate(_LIMIT)
    if digit != "0"
)
"""The digits of the positive numbers below 2^53, which a float represents exactly."""

_WHOLE = (
    rf"{_BLANK}(?:[+-]?(0)(?:\.0*)?|\+?([1-9][0-9]*)|(-[1-9][0-9]*)|\+?({_BELOW})\.0*|(-(?:{_BELOW}))\.0*){_BLANK}"
)
"""A whole number without leading zeros, for Python and for Arrow: 7, +7, -7, 7., 7.00, with blanks around it."""

_LOST = (
    rf"{_BLANK}[+-]?(?:[1-9][0-9]*\.0*|[0-9](?:\.[0-9]+[eE]\+?|[eE]\+)0*(?:1[1-9]|[2-9][0-9]|[1-9][0-9]{{2,}}))"
    rf"{_BLANK}"
)
"""In normal form: a float from 2^53 on, or a number with an exponent from 11 on, as in spreadsheets: 9.6E+11."""

_DIGITS = 400
LARGEST = 10**_DIGITS
"""Whole numbers below this are ids. Decimal("1e999999999") would fill the memory with digits."""


def normal_text(text: str) -> str:
    """Return the digits of a whole number, with its sign if it is negative; other text unchanged.

    The spelling of a float that may have lost digits is no whole number.

    Examples
    --------
    >>> [normal_text(one) for one in ("7", " 7.0", "+7.", "-0", "007", "1e3", "7.5", " ann")]
    ['7', '7', '7', '0', '007', '1e3', '7.5', ' ann']
    """
    found = re.fullmatch(_WHOLE, text)
    return text if found is None else found.group(found.lastindex or 0)


def is_blank(text: str) -> bool:
    """Return whether an id is missing: a text of `MISSING`, with blanks around it or not."""
    return text.strip() in MISSING


def lost_digits(text: str) -> bool:
    """Return whether an id is the spelling of a float that may have lost digits, such that people become one.

    Examples
    --------
    >>> [lost_digits(one) for one in ("9.6e+17", "9007199254740992.0", "9007199254740991.0", "1e3", "1e17")]
    [True, True, False, False, False]
    """
    return re.fullmatch(_LOST, normal_text(text)) is not None


def normal_texts(texts: pa.Array) -> pa.Array:
    """Return `normal_text` of every text of an Arrow array; null if it is missing (`is_blank`)."""
    import pyarrow.compute as pc  # noqa: PLC0415  # heavy

    normal = pc.replace_substring_regex(texts, f"^{_WHOLE}$", r"\1\2\3\4\5")
    missing = pc.is_in(_trimmed(texts), value_set=pa.array(MISSING, texts.type))
    return pc.if_else(missing, pa.scalar(None, texts.type), normal)


def exact_texts(normal: pa.Array) -> pa.Array:
    """Return normal texts, with null in place of those that may have lost digits."""
    import pyarrow.compute as pc  # noqa: PLC0415

    lost = pc.match_substring_regex(normal, f"^{_LOST}$")
    return pc.if_else(lost, pa.scalar(None, normal.type), normal)


def _trimmed(texts: pa.Array) -> pa.Array:
    import pyarrow.compute as pc  # noqa: PLC0415

    return pc.replace_substring_regex(texts, f"^{_BLANK}|{_BLANK}$", "")


def number_or_text(text: str | bytes) -> int | str | bytes:
    """Return the number that a normal text is, if it is below `LARGEST`; other text unchanged."""
    plain = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return int(plain) if _NORMAL.fullmatch(plain) else text


_NORMAL = re.compile(rb"0|-?[1-9][0-9]{0,%d}" % (_DIGITS - 1))
