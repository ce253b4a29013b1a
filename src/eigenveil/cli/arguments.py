"""Convert command-line arguments to data sources, columns, scales and bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources import CsvFiles
from eigenveil.sources.files.any_files import has_named_columns
from eigenveil.sources.files.paths import find


def as_data(paths: list[str], *, header: bool | None) -> Any:
    """Return one path, glob or folder, or a list of them; as `CsvFiles` if `header` says whether they have one."""
    data = paths[0] if len(paths) == 1 else paths
    if header is None:
        return data
    if find(data)[0] != "csv":
        raise InvalidInputError(
            "--header and --no-header apply to CSV files only; other formats store their column names."
        )
    return CsvFiles(data, header=header)


def as_columns(texts: list[str] | None, data: Any) -> list[str] | list[int] | None:
    """Return column names and globs, or positions for arrays, whose columns have no names.

    Examples
    --------
    >>> as_columns(None, "rows.parquet") is None
    True
    """
    if not texts:
        return None
    names = as_names(texts)
    if has_named_columns(data):
        return names
    if not all(map(_is_position, names)):
        raise InvalidInputError(
            "columns of arrays have no names.",
            hint="Give positions, starting at 0: --columns 0,2 selects the first and third column.",
        )
    return [int(name) for name in names]


def as_engine(name: str, scheduler: str | None, memory: str | None) -> Any:
    """Return the local engine, the name of a cluster engine, or a Dask client connected to `scheduler`."""
    if name == "auto" and scheduler is None:
        return LocalEngine(memory=as_memory(memory))
    if memory is not None:
        raise InvalidInputError("--memory applies to this machine; workers of a cluster have their own limits.")
    if scheduler is None:
        return name
    if name != "dask":
        raise InvalidInputError("--scheduler requires --engine dask.")
    from eigenveil._extras import distributed  # noqa: PLC0415  # optional, and slow to import

    try:
        return distributed.Client(scheduler, timeout=30)
    except (OSError, ValueError, TimeoutError) as failed:
        raise UnreadableError(
            f"could not connect to a Dask scheduler at {scheduler!r}.", hint="Start one with: dask scheduler"
        ) from failed


def as_memory(text: str | None) -> int | None:
    """A number of bytes, as in ``500MB`` and ``1.5 GiB``; None for what is the default.

    Examples
    --------
    >>> as_memory("500MB"), as_memory("1.5 GiB"), as_memory("0"), as_memory(None)
    (500000000, 1610612736, 0, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([kmgt]i?)b", text.strip(), re.IGNORECASE)
    if text.strip() == "0":
        return 0
    if found is None:
        raise InvalidInputError(
            f"--memory: expected a number and its unit, got {text!r}.",
            hint="For example --memory 500MB or --memory 2GB; --memory 0 keeps no rows in memory.",
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])


_UNITS = {
    **{unit: 1000**power for power, unit in enumerate("kmgt", start=1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("kmgt", start=1)},
}


def as_encode(given: list[str] | None) -> dict[str, list[str] | str] | None:
    """Return the encoding of each column, from ``site=north,south`` or ``visit=days since 2020-01-01``.

    Examples
    --------
    >>> as_encode(["site=north, south", "visit=days since 2020-01-01"])
    {'site': ['north', 'south'], 'visit': 'days since 2020-01-01'}
    """
    if not given:
        return None
    found: dict[str, list[str] | str] = {}
    for text in given:
        column, _, how = (part.strip() for part in text.partition("="))
        if not column or not how or column in found:
            raise InvalidInputError(
                f"expected COLUMN=VALUES or COLUMN=ORIGIN, each column once, got --encode {text!r}.",
                hint="For example --encode site=north,south or --encode 'visit=days since 2020-01-01'.",
            )
        labels = [label.strip() for label in how.split(",") if label.strip()]
        found[column] = how if " since " in how else labels
    return found


def as_fill(given: list[str] | None) -> float | dict[str | int, float] | None:
    """Return the number that replaces missing values, for all columns or per column (arrays: per position).

    Examples
    --------
    >>> as_fill(["0"]), as_fill(["bmi=25", "lab_*=0"]), as_fill(["2=1.5"])
    (0.0, {'bmi': 25.0, 'lab_*': 0.0}, {2: 1.5})
    """
    if not given:
        return None
    pairs = [[part.strip() for part in text.rpartition("=")[::2]] for text in given]
    try:
        found = {int(column) if _is_position(column) else column: float(number) for column, number in pairs}
    except ValueError:
        found = {}
    if len(found) != len(given) or ("" in found and len(found) > 1):
        raise InvalidInputError(
            f"expected one number for all columns, or a number per column, got --fill {' --fill '.join(given)}.",
            hint="For example --fill 0, or --fill bmi=25 --fill 'lab_*=0'. A name takes precedence over a glob.",
        )
    return found.get("", found)


def as_grid(text: str | None) -> tuple[int, int] | None:
    """Return the numbers of rows and columns of an image, from ``8x8``.

    Examples
    --------
    >>> as_grid("28x28"), as_grid(None)
    ((28, 28), None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]{1,6})\s*[x×]\s*([0-9]{1,6})\s*", text, re.IGNORECASE)
    if found is None:
        raise InvalidInputError(
            f"--grid: expected numbers of rows and columns, got {text!r}.", hint="For example --grid 8x8."
        )
    return int(found[1]), int(found[2])


def as_names(texts: list[str]) -> list[str]:
    """Split comma-separated names and globs.

    Examples
    --------
    >>> as_names(["id, age", "x*"])
    ['id', 'age', 'x*']
    """
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not names:
        raise InvalidInputError("expected names of columns, got none.")
    return names


@dataclass(frozen=True)
class Groups:
    """A column of labels, and the public list of all labels."""

    column: str
    labels: tuple[str, ...]


def as_groups(text: str | None) -> Groups | None:
    """Return a column and its public labels, from ``site=north,south``.

    Examples
    --------
    >>> as_groups("site=north, south")
    Groups(column='site', labels=('north', 'south'))
    """
    if text is None:
        return None
    column, _, listed = text.partition("=")
    labels = tuple(label.strip() for label in listed.split(",") if label.strip())
    if not column.strip() or not labels or len(set(labels)) != len(labels):
        raise InvalidInputError(
            f"expected a column and all of its groups, each once, as in site=north,south; got {text!r}.",
            hint="The list must be public: a list taken from the data would reveal that someone is in a group.",
        )
    return Groups(column.strip(), labels)


def as_scale(texts: list[str], data: Any) -> Any:
    """Return None, "private", an array of public scales, or a mapping of columns to "private" or a public scale.

    Examples
    --------
    >>> as_scale(["none"], "x.csv"), as_scale(["private"], "x.csv"), as_scale(["1, 2.5"], "x.csv")
    (None, 'private', array([1. , 2.5]))
    >>> as_scale(["lab_*=private", "age=10"], "x.csv")
    {'lab_*': 'private', 'age': 10.0}
    """
    hint = "For example --scale private, --scale 1,2.5,1, or --scale 'lab_*=private' --scale age=10."
    if any("=" in text for text in texts):
        pairs = _by_column(texts, data, what="--scale", hint=hint)
        return {key: text if text == "private" else _numbers(text, 1, "--scale", hint)[0] for key, text in pairs}
    if len(texts) != 1:
        raise InvalidInputError("--scale was given more than once, without column names.", hint=hint)
    if texts[0] in ("none", "private"):
        return None if texts[0] == "none" else texts[0]
    return np.array(_numbers(texts[0], None, "--scale", hint))


def as_bounds(texts: list[str] | None, data: Any) -> Any:
    """Return None, a (low, high) pair for all columns, or a mapping of columns to pairs.

    Examples
    --------
    >>> as_bounds(None, "x.csv"), as_bounds(["0,255"], "x.csv"), as_bounds(["age=0,110"], "x.csv")
    (None, (0.0, 255.0), {'age': (0.0, 110.0)})
    """
    if not texts:
        return None
    hint = "For example --bounds 0,255, or --bounds age=0,110 --bounds 'flag_*=0,1'."
    if any("=" in text for text in texts):
        pairs = _by_column(texts, data, what="--bounds", hint=hint)
        return {key: tuple(_numbers(text, 2, "--bounds", hint)) for key, text in pairs}
    if len(texts) != 1:
        raise InvalidInputError("--bounds was given more than once, without column names.", hint=hint)
    return tuple(_numbers(texts[0], 2, "--bounds", hint))


def _by_column(texts: list[str], data: Any, *, what: str, hint: str) -> list[tuple[Any, str]]:
    """Split each text at its last "=" into a column (a name, or a position for arrays) and a value."""
    named = not str(data).endswith((".npy", ".npz"))  # whether the columns exist is checked when data are opened
    pairs: list[tuple[Any, str]] = []
    for text in texts:
        key, equals, value = (part.strip() for part in text.rpartition("="))
        if not (key and equals and (named or _is_position(key))):
            expected = "a column and a value, as in age=10" if named else "a position and a value, as in 0=10"
            raise InvalidInputError(f"{what}: expected {expected}; got {text!r}.", hint=hint)
        pairs.append((key if named else int(key), value))
    if len({key for key, _ in pairs}) != len(pairs):
        raise InvalidInputError(f"{what} names a column twice.", hint=hint)
    return pairs


def _is_position(text: str) -> bool:
    """Return whether the text is a position of a column; Python refuses to convert thousands of digits."""
    return text.isdecimal() and len(text) < 20


def _numbers(text: str, how_many: int | None, what: str, hint: str) -> list[float]:
    """Parse comma-separated numbers; `how_many` of them unless None."""
    try:
        found = [float(number) for number in text.split(",")]
    except ValueError:
        found = []
    if not found or how_many not in (None, len(found)):
        forms = {None: "'none', 'private', or one public number per column", 1: "'private' or a public number"}
        expected = forms.get(how_many, "two numbers, low and high")
        raise InvalidInputError(f"{what}: expected {expected}, got {text!r}.", hint=hint)
    return found
