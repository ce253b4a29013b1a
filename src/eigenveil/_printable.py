"""Text from files, such as column names, made safe to show on a terminal, in a figure and on a page."""

from __future__ import annotations

import unicodedata
from typing import Any

_SHOWN_AS_CODES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of Unicode: control, format (such as changes of direction), surrogates, ends of lines."""
_JOINERS = "\u200c\u200d"
"""Format characters that the spelling of some languages needs."""


def printable(text: str, *, keep: str = "") -> str:
    r"""Return the text, with characters that act on a terminal or hide others replaced by their codes.

    Escape sequences, ends of lines, changes of the direction of text, and surrogates, which no file can hold, are
    shown as Python writes them: ``\x1b``, ``\n``, ``\u202e``. Characters in `keep` stay as they are.

    Examples
    --------
    >>> printable("age\x1b[31m\nerror: none"), printable("naïve 身長")
    ('age\\x1b[31m\\nerror: none', 'naïve 身長')
    """
    if text.isprintable():
        return text
    hidden = (one for one in set(text) - set(_JOINERS + keep) if unicodedata.category(one) in _SHOWN_AS_CODES)
    return text.translate({ord(one): repr(one)[1:-1] for one in hidden})


def on_page(value: Any) -> Any:
    """Return what a page shows for a value of its template: markup as it is, other text made printable."""
    return value if hasattr(value, "__html__") else printable(str(value), keep="\n\t")
