"""From words on the command line to files, columns and scales."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources import CsvFiles
from eigenveil.sources.files import has_named_columns
from eigenveil.sources.paths import find


def as_data(paths: list[str], *, header: bool | None) -> Any:
    """One path, glob or folder, or a list of them; CSV files where it is said whether they have a header."""
    data = paths[0] if len(paths) == 1 else paths
    if header is None:
        return data
    if find(data)[0] != "csv":
        raise InvalidInputError("--header and --no-header are for CSV files; others say what their columns are.")
    return CsvFiles(data, header=header)


def as_columns(wanted: list[str] | None, data: Any) -> list[str] | list[int] | None:
    """Names and globs, or positions for arrays, which have no names.

    Examples
    --------
    >>> as_columns(None, "rows.parquet") is None
    True
    """
    if not wanted:
        return None
    wishes = as_names(wanted)
    if has_named_columns(data):
        return wishes
    if not all(wish.isdecimal() for wish in wishes):
        raise InvalidInputError(
            "columns of arrays have no names.",
            hint="Give positions from 0 on: --columns 0,2 takes the first and third.",
        )
    return [int(wish) for wish in wishes]


def as_engine(name: str, scheduler: str | None, memory: str | None) -> Any:
    """The threads of this machine, a cluster by its name, or a client of the cluster behind a scheduler."""
    if name == "auto" and scheduler is None:
        return LocalEngine(memory=as_memory(memory))
    if memory is not None:
        raise InvalidInputError("--memory is that of this machine; workers of a cluster have limits of their own.")
    if scheduler is None:
        return name
    if name != "dask":
        raise InvalidInputError("--scheduler is that of a Dask cluster: give --engine dask too.")
    try:
        from distributed import Client  # noqa: PLC0415  # an extra, and heavy
    except ImportError as missing:
        raise UnreadableError("Dask is not installed.", hint="pip install 'eigenveil[dask]'") from missing
    try:
        return Client(scheduler, timeout=30)
    except (OSError, ValueError, TimeoutError) as failed:
        raise UnreadableError(
            f"there is no Dask scheduler at {scheduler!r}.", hint="Start one with: dask scheduler"
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
    """How columns are encoded, as in ``site=north,south`` and ``visit=days since 2020-01-01``.

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
                f"expected a column, once, and its values or an origin, got --encode {text!r}.",
                hint="For example --encode site=north,south or --encode 'visit=days since 2020-01-01'.",
            )
        labels = [label.strip() for label in how.split(",") if label.strip()]
        found[column] = how if " since " in how else labels
    return found


def as_fill(given: list[str] | None) -> float | dict[str | int, float] | None:
    """Numbers for what is missing, for all columns or by column; columns of arrays are numbers.

    Examples
    --------
    >>> as_fill(["0"]), as_fill(["bmi=25", "lab_*=0"]), as_fill(["2=1.5"])
    (0.0, {'bmi': 25.0, 'lab_*': 0.0}, {2: 1.5})
    """
    if not given:
        return None
    pairs = [[part.strip() for part in text.rpartition("=")[::2]] for text in given]
    try:
        found = {int(column) if column.isdecimal() else column: float(number) for column, number in pairs}
    except ValueError:
        found = {}
    if len(found) != len(given) or ("" in found and len(found) > 1):
        raise InvalidInputError(
            f"expected a number for all columns, or a number by column, got --fill {' --fill '.join(given)}.",
            hint="For example --fill 0, or --fill bmi=25 --fill 'lab_*=0'. A name goes before a pattern.",
        )
    return found.get("", found)


def as_names(wanted: list[str]) -> list[str]:
    """Names and globs, with commas between.

    Examples
    --------
    >>> as_names(["id, age", "x*"])
    ['id', 'age', 'x*']
    """
    wishes = [wish.strip() for several in wanted for wish in several.split(",") if wish.strip()]
    if not wishes:
        raise InvalidInputError("expected names of columns, got none.")
    return wishes


@dataclass(frozen=True)
class Groups:
    """A column of labels, and the public list of all of them."""

    column: str
    labels: tuple[str, ...]


def as_groups(text: str | None) -> Groups | None:
    """A column and its public labels, as in ``site=north,south``.

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
            hint="The list must be public: one made from the data would tell that somebody is in a group.",
        )
    return Groups(column.strip(), labels)


def as_scale(texts: list[str], data: Any) -> Any:
    """None, "private", an array of public scales, or a mapping of columns to either.

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
        raise InvalidInputError("--scale was given more than once, without names of columns.", hint=hint)
    if texts[0] in ("none", "private"):
        return None if texts[0] == "none" else texts[0]
    return np.array(_numbers(texts[0], None, "--scale", hint))


def as_bounds(texts: list[str] | None, data: Any) -> Any:
    """None, a pair for all columns, or a mapping of columns to pairs.

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
        raise InvalidInputError("--bounds was given more than once, without names of columns.", hint=hint)
    return tuple(_numbers(texts[0], 2, "--bounds", hint))


def _by_column(texts: list[str], data: Any, *, what: str, hint: str) -> list[tuple[Any, str]]:
    """Pairs of a column, by name or position, and what is said of it."""
    named = not str(data).endswith((".npy", ".npz"))  # what is not there is found out when data are opened
    pairs: list[tuple[Any, str]] = []
    for text in texts:
        key, equals, value = (part.strip() for part in text.rpartition("="))
        if not (key and equals and (named or key.isdecimal())):
            wanted = "a column and a value, as in age=10" if named else "a column's number and a value, as in 0=10"
            raise InvalidInputError(f"{what}: expected {wanted}; got {text!r}.", hint=hint)
        pairs.append((key if named else int(key), value))
    if len({key for key, _ in pairs}) != len(pairs):
        raise InvalidInputError(f"{what} names a column twice.", hint=hint)
    return pairs


def _numbers(text: str, how_many: int | None, what: str, hint: str) -> list[float]:
    try:
        found = [float(number) for number in text.split(",")]
    except ValueError:
        found = []
    if not found or how_many not in (None, len(found)):
        wanted = {None: "'none', 'private', or one public number per column", 1: "'private' or a public number"}
        expected = wanted.get(how_many, "two numbers, low and high")
        raise InvalidInputError(f"{what}: expected {expected}, got {text!r}.", hint=hint)
    return found


_KIND = {True: "folder", False: "file"}


def check_target(path: Path, *, force: bool, folder: bool) -> None:
    """Find out before anything is spent whether a result can be written there."""
    if path.exists() and path.is_dir() != folder:
        raise InvalidInputError(
            f"expected the name of a {_KIND[folder]}, but {str(path)!r} is a {_KIND[not folder]}.",
            hint="Choose another name.",
        )
    if folder and path.exists() and any(path.iterdir()) and not (path / "model.json").exists():
        raise InvalidInputError(
            f"{str(path)!r} is a folder with other things in it, which are never replaced.",
            hint="Choose another name, or an empty folder.",
        )
    if path.exists() and not force:
        raise InvalidInputError(
            f"{str(path)!r} is already there.", hint="Choose another name, or replace it with --force."
        )
    if not folder and not path.parent.is_dir():
        raise InvalidInputError(
            f"there is no folder {str(path.parent)!r} to write {path.name!r} to.",
            hint="Make it first, or choose another.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    trial = path.parent / f".{path.name}.trial"
    trial.touch()
    trial.unlink()
