"""The command as reports and model folders show it: built from its options, without a name of this machine."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from eigenveil.cli.commands import fit
from eigenveil.persistence.outputs import PLACES

_FLAGS = {"components": "-k", "as_json": "--json"}
"""Options whose names are not those of their parameters."""


def shown_command(given: Mapping[str, Any]) -> str:
    """Return ``eigenveil fit`` with the options that differ from their defaults.

    Names of files, folders and machines may tell who is in the data, so words in capitals stand for them: for the
    data, however many files these are, and for everything that is a path. The other options are what the caller
    has declared: names of columns, lists of values, numbers.

    Parameters
    ----------
    given : mapping
        Value of every option, by the name of its parameter.

    Examples
    --------
    >>> shown_command({"data": ["ward/ann.csv", "ward/bob.csv"], "components": 5, "units": None, "out": Path("m")})
    'eigenveil fit DATA -k 5 --out MODEL'
    """
    words = ["eigenveil", "fit"]
    for name, parameter in inspect.signature(fit.command).parameters.items():
        value = given.get(name, parameter.default)
        if value is not None and (name in PLACES or isinstance(value, Path)):
            value = PLACES.get(name, name.upper())
        if parameter.default is inspect.Parameter.empty:
            words.append(value)
        elif value != parameter.default:
            words += _option(_FLAGS.get(name, f"--{name.replace('_', '-')}"), value)
    return shlex.join(words)


def _option(flag: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    return [word for one in (value if isinstance(value, list) else [value]) for word in (flag, _text(one))]


def _text(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
