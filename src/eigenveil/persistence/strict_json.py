"""JSON from a stranger: what is odd in any way is refused, before anything is made of it."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any, NoReturn

from eigenveil.errors import UnreadableError

DEEPEST, LONGEST_INTEGER = 64, 80
"""How deep values may be nested, and how many signs a whole number may have."""


class DamagedFileError(UnreadableError):
    """A file is not what `eigenveil.save` wrote: damaged, cut off, of another kind, or made up."""


def parse(text: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Refused: text that is cut off or not JSON, names that come twice, nan and infinity (also by overflow), whole
    numbers of more than 80 signs, nesting of more than 64 levels.

    Examples
    --------
    >>> parse(b'{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse(b'{"a": 1e999}')
    Traceback (most recent call last):
    ...
    eigenveil.persistence.strict_json.DamagedFileError: expected JSON, found a number that is not finite.
    """
    _check_depth(text)
    try:
        return json.loads(
            text.decode("utf-8"),
            parse_float=_finite,
            parse_int=_whole,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
    except DamagedFileError:
        raise
    except (ValueError, RecursionError):
        raise DamagedFileError(
            "expected JSON, found something else.", hint="The file may be cut off, or another one."
        ) from None


def canonical(value: Any) -> bytes:
    """The one text of a value: what a checksum is made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _check_depth(text: bytes) -> None:
    """Count brackets outside of strings: cheap, and nothing is built yet."""
    brackets = _STRING.sub(b"", text).translate(None, _DULL)
    deepest = max(accumulate(1 if byte in b"[{" else -1 for byte in brackets), default=0)
    if deepest > DEEPEST:
        raise DamagedFileError(f"expected JSON, found values nested more than {DEEPEST} deep.")


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_DULL = bytes(set(range(256)) - set(b"[]{}"))


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DamagedFileError("expected JSON, found a number that is not finite.")
    return number


def _whole(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise DamagedFileError(f"expected JSON, found a whole number of more than {LONGEST_INTEGER} signs.")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise DamagedFileError(f"expected JSON, found {text}, which it does not have.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DamagedFileError("expected JSON, found a name that comes twice.")
    return found
