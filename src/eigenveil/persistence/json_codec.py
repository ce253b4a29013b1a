"""Exact conversion of Python values to JSON and back. Arrays are stored separately and referenced by name.

None, bool, int, float, str and lists are stored as they are. Every other value is an object with one tag:
``{"tuple": [...]}``, ``{"dict": [[name, value], ...]}``, ``{"number": "inf"}`` (or "-inf", "nan"),
``{"numpy": "float64", "value": 1.5}`` for a numpy scalar, and ``{"array": name}`` for the tensor with that name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil.errors import InvalidInputError
from eigenveil.persistence.strict_json import DEEPEST, DamagedFileError

Arrays = dict[str, npt.NDArray[Any]]

DTYPES = ("float64", "float32", "int64", "int32", "bool")
"""Supported dtypes of arrays."""
_SCALARS = {"float64": np.float64, "float32": np.float32, "int64": np.int64, "int32": np.int32, "bool": np.bool_}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Packer:
    """Converts values to JSON and collects their arrays. An array that occurs several times is stored once.

    Examples
    --------
    >>> packer = Packer()
    >>> packer.pack(("block", {"radius": 2.5}), at="diagnostics")
    {'tuple': ['block', {'dict': [['radius', 2.5]]}]}
    >>> packer.pack(np.eye(2), at="components_"), list(packer.arrays)
    ({'array': 'components_'}, ['components_'])
    """

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._seen: dict[int, str] = {}

    def pack(self, value: Any, *, at: str) -> Any:
        """Convert a value to JSON. `at` is its name, used for its arrays and in errors."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, np.generic):
            return self._scalar(value, at)
        if isinstance(value, float):
            return value if math.isfinite(value) else {"number": str(float(value))}
        if isinstance(value, np.ndarray):
            return self._array(value, at)
        return self._container(value, at)

    def _container(self, value: Any, at: str) -> Any:
        if isinstance(value, Mapping) and all(type(name) in (str, int) for name in value):
            return {"dict": [[name, self.pack(one, at=f"{at}.{name}")] for name, one in value.items()]}
        if type(value) in (list, tuple):
            each = [self.pack(one, at=f"{at}.{index}") for index, one in enumerate(value)]
            return each if type(value) is list else {"tuple": each}
        raise InvalidInputError(
            f"{at} contains a {type(value).__name__}, which cannot be saved.",
            hint="Model files support numbers, text, lists, mappings and arrays. If it is a parameter and the "
            "model will not be fitted again, set it to None with set_params before saving.",
        )

    def _scalar(self, value: np.generic, at: str) -> Any:
        if value.dtype.name not in _SCALARS:
            raise InvalidInputError(f"{at} contains a numpy {value.dtype.name}, which cannot be saved.")
        return {"numpy": value.dtype.name, "value": self.pack(value.item(), at=at)}

    def _array(self, value: npt.NDArray[Any], at: str) -> Any:
        if id(value) not in self._seen:
            if value.dtype.name not in DTYPES:
                raise InvalidInputError(f"{at} is an array of dtype {value.dtype}, which cannot be saved.")
            if not np.all(np.isfinite(value)):
                raise InvalidInputError(f"{at} contains numbers that are not finite, which no release has.")
            while at in self.arrays:  # for example if a mapping has the names "a.b" and "a"
                at += "+"
            self._seen[id(value)] = at
            self.arrays[at] = value
        return {"array": self._seen[id(value)]}


def unpack(plain: Any, arrays: Arrays, *, depth: int = 0) -> Any:
    """Restore the value that `Packer.pack` converted.

    Examples
    --------
    >>> unpack({"dict": [["radius", {"number": "inf"}]]}, {})
    {'radius': inf}
    """
    if depth > DEEPEST:
        raise DamagedFileError("values are nested too deeply.")
    if plain is None or isinstance(plain, bool | int | float | str):
        return plain
    if isinstance(plain, list):
        return [unpack(one, arrays, depth=depth + 1) for one in plain]
    tags = tuple(sorted(plain))
    if tags == ("numpy", "value"):
        return _numpy_scalar(plain)
    if len(tags) != 1 or tags[0] not in _TAGS:
        raise DamagedFileError("found a value with an unknown tag.")
    return _TAGS[tags[0]](plain[tags[0]], arrays, depth)


def _tuple(items: Any, arrays: Arrays, depth: int) -> Any:
    return tuple(unpack(_require_list(items), arrays, depth=depth))


def _dict(items: Any, arrays: Arrays, depth: int) -> Any:
    pairs = _require_list(items)
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and type(pair[0]) in (str, int)):
            raise DamagedFileError("found an invalid mapping.")
    found = {name: unpack(one, arrays, depth=depth + 1) for name, one in pairs}
    if len(found) != len(pairs):
        raise DamagedFileError("found a duplicate name in a mapping.")
    return found


def _number(name: Any, arrays: Arrays, depth: int) -> float:
    del arrays, depth
    if not isinstance(name, str) or name not in _NUMBERS:
        raise DamagedFileError("found an invalid number.")
    return _NUMBERS[name]


def _named_array(name: Any, arrays: Arrays, depth: int) -> Any:
    del depth
    if not isinstance(name, str) or name not in arrays:
        raise DamagedFileError("found a reference to an array that does not exist.")
    return arrays[name]


def _numpy_scalar(plain: dict[str, Any]) -> Any:
    value = unpack(plain["value"], {}, depth=DEEPEST - 1)
    kind = plain["numpy"] if isinstance(plain["numpy"], str) else ""
    expected = {"f": float, "i": int, "b": bool}.get(np.dtype(kind).kind if kind in _SCALARS else "")
    if expected is None or type(value) is not expected:
        raise DamagedFileError("found an invalid numpy scalar.")
    if isinstance(value, int) and expected is int and value.bit_length() >= np.iinfo(np.dtype(kind)).bits:
        raise DamagedFileError("found an invalid numpy scalar.")
    return _SCALARS[kind](value)


def _require_list(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise DamagedFileError("found an invalid list.")
    return items


_TAGS = {"tuple": _tuple, "dict": _dict, "number": _number, "array": _named_array}
