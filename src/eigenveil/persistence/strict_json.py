"""Strict parser for JSON from untrusted files. Anything unusual is rejected before it is used."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any, NoReturn

from eigenveil.errors import UnreadableError

DEEPEST, LONGEST_INTEGER = 64, 80
"""Maximal nesting depth, and maximal number of characters of an integer."""


class DamagedFileError(UnreadableError):
    """A file is not as `eigenveil.save` wrote it: damaged, truncated, of another kind, or forged."""


def parse(text: bytes) -> Any:
    """Parse JSON text in UTF-8.

    Raises for text that is truncated or not JSON, duplicate names, nan and infinity (also by overflow), integers
    of more than 80 characters, and more than 64 levels of nesting.

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
            "expected JSON, found something else.", hint="The file may be truncated, or not a model file."
        ) from None


def canonical(value: Any) -> bytes:
    """Return the canonical JSON text of a value, from which checksums are computed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _check_depth(text: bytes) -> None:
    """Raise if brackets outside of strings are nested too deeply. Cheap, and builds no objects."""
    brackets = _STRING.sub(b"", text).translate(None, _NOT_BRACKETS)
    deepest = max(accumulate(1 if byte in b"[{" else -1 for byte in brackets), default=0)
    if deepest > DEEPEST:
        raise DamagedFileError(f"expected JSON, found values nested more than {DEEPEST} levels deep.")


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DamagedFileError("expected JSON, found a number that is not finite.")
    return number


def _whole(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise DamagedFileError(f"expected JSON, found an integer of more than {LONGEST_INTEGER} characters.")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise DamagedFileError(f"expected JSON, found {text}, which is not part of JSON.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DamagedFileError("expected JSON, found a duplicate name.")
    return found
