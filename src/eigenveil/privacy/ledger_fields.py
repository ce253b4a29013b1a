"""Fields of a ledger in JSON, and their types. Every field is checked before a ledger is created."""

from __future__ import annotations

import math
from typing import Any

from eigenveil.errors import InvalidInputError

_NUMBER, _MAYBE = (int, float), (int, float, type(None))
_ENTRY: dict[str, tuple[type, ...]] = {
    "what": (str,),
    "kind": (str,),
    "mu": _NUMBER,
    "epsilon": _NUMBER,
    "delta": _NUMBER,
    "sensitivity": _MAYBE,
    "scale": _MAYBE,
    "releases": (int,),
    "draws": (int, type(None)),
    "note": (str,),
    "purpose": (str,),
}
_LEDGER: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "relation": (str,),
    "unit": (dict, type(None)),
    "budget": (dict,),
    "private": (bool,),
    "not_private_because": (list,),
    "entries": (list,),
}


def check_ledger(plain: Any) -> None:
    """Raise unless JSON values have the fields of a ledger, of the right types.

    Examples
    --------
    >>> check_ledger({"schema": 1})
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: the ledger has unexpected or missing fields.
    """
    _check_fields(plain, _LEDGER)
    if plain["unit"] is not None:
        _check_fields(plain["unit"], {"kind": (str,), "by": (str, type(None))})
    for entry in plain["entries"]:
        _check_node(entry)
    for value in plain["budget"].values():
        _check_kind(value, _NUMBER)
    for reason in plain["not_private_because"]:
        _check_kind(reason, (str,))
    if plain["private"] is bool(plain["not_private_because"]):
        raise InvalidInputError("the ledger states that it is private, and also why it is not, or neither.")


def _check_node(node: Any) -> None:
    if isinstance(node, dict) and "parallel" in node:
        kinds: dict[str, tuple[type, ...]] = {"parallel": (str,), "parts": (list,)}
        _check_fields(node, {**kinds, "finished": (int,)} if "finished" in node else kinds)
        if "finished" in node and (len(node["parts"]) != 2 or node["finished"] < 0):
            raise InvalidInputError(
                "the ledger has an open-ended group without two parts and a count of at least 0."
            )
        for part in node["parts"]:
            _check_kind(part, (list,))
            for child in part:
                _check_node(child)
    else:
        _check_fields(node, _ENTRY)


def _check_fields(plain: Any, kinds: dict[str, tuple[type, ...]]) -> None:
    if not isinstance(plain, dict) or set(plain) != set(kinds):
        raise InvalidInputError("the ledger has unexpected or missing fields.")
    for name, kind in kinds.items():
        _check_kind(plain[name], kind)


def _check_kind(value: Any, kinds: tuple[type, ...]) -> None:
    if type(value) not in kinds:  # exact types, so that a bool is not accepted as a number
        raise InvalidInputError("the ledger contains a value of the wrong type.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"the ledger contains a number that is not finite: {value!r}.")
