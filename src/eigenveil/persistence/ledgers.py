"""Conversion of a ledger to JSON values and back. Every field is checked before a ledger is created."""

from __future__ import annotations

import json
from typing import Any

from eigenveil.errors import InvalidInputError
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.privacy import Ledger, Purpose

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
    "budget": (dict,),
    "private": (bool,),
    "not_private_because": (list,),
    "entries": (list,),
}


def pack_ledger(ledger: Ledger) -> Any:
    """Convert a ledger to JSON values."""
    return json.loads(ledger.to_json())


def unpack_ledger(plain: Any) -> Ledger:
    """Restore a ledger. The result is a copy, because the original may still be charged.

    Examples
    --------
    >>> from eigenveil.privacy import Budget
    >>> ledger = Ledger(Budget.from_mu(1.0))
    >>> entry = ledger.charge_gaussian("count", mu=0.5, sensitivity=1.0, scale=2.0)
    >>> again = unpack_ledger(pack_ledger(ledger))
    >>> again.mu, again.to_json() == ledger.to_json(), again.is_copy
    (0.5, True, True)
    """
    _check_fields(plain, _LEDGER)
    for entry in plain["entries"]:
        _check_node(entry)
    for value in plain["budget"].values():
        _check_kind(value, _NUMBER)
    for reason in plain["not_private_because"]:
        _check_kind(reason, (str,))
    try:
        ledger = Ledger.from_json(json.dumps(plain))
    except (InvalidInputError, ValueError, ArithmeticError, RecursionError):
        ledger = None
    if ledger is None or ledger.private is not plain["private"]:
        raise DamagedFileError("the ledger of the model is inconsistent.")
    return ledger


def _check_node(node: Any) -> None:
    if isinstance(node, dict) and "parallel" in node:
        kinds: dict[str, tuple[type, ...]] = {"parallel": (str,), "parts": (list,)}
        _check_fields(node, {**kinds, "finished": (int,)} if "finished" in node else kinds)
        if "finished" in node and len(node["parts"]) != 2:
            raise DamagedFileError("the ledger of the model is inconsistent.")
        for part in node["parts"]:
            _check_kind(part, (list,))
            for child in part:
                _check_node(child)
    else:
        _check_fields(node, _ENTRY)
        if node["purpose"] not in list(Purpose):
            raise DamagedFileError(
                f"the ledger of the model has an entry with the unknown purpose {node['purpose']!r}."
            )


def _check_fields(plain: Any, kinds: dict[str, tuple[type, ...]]) -> None:
    if not isinstance(plain, dict) or set(plain) != set(kinds):
        raise DamagedFileError("the ledger of the model has unexpected or missing fields.")
    for name, kind in kinds.items():
        _check_kind(plain[name], kind)


def _check_kind(value: Any, kinds: tuple[type, ...]) -> None:
    if type(value) not in kinds:  # exact types, so that a bool is not accepted as a number
        raise DamagedFileError("the ledger of the model contains a value of the wrong type.")
