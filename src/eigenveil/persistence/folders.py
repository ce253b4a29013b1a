"""The folder of a model: `model.json`, and the one file of tensors that it names by its checksum.

Write(folder, content, tensors):
  1  write ``tensors-<first 16 signs of their SHA-256>.safetensors``, and wait for the disk
  2  write `model.json` beside its place, wait for the disk, move it into place   # now it is the new model
  3  remove the tensors of the model that was there
A new folder is first made under a hidden name and moved into place as a whole.

A crash before step 2 is done leaves the old model (or none), one after it the new one. Checksums tell damage; they
are no signature, and whoever can write the file can make them fit.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as tensor_file

from eigenveil._atomic_files import beside, to_disk, written_whole
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.plain import DTYPES, Arrays
from eigenveil.persistence.strict_json import DamagedFileError, canonical, parse

FORMAT, SCHEMA = "eigenveil model", 2
JSON_NAME = "model.json"
MOST_JSON, MOST_HEADER, MOST_AXES = 1 << 27, 1 << 24, 8
"""Bytes of the JSON file and of the header of tensors, and axes of a tensor, beyond which files are refused."""
_TENSORS = re.compile(r"tensors-[0-9a-f]{16}\.safetensors")
_KEYS = {"format", "schema", "eigenveil", "sha256", "tensors", "content"}


def write_folder(path: pathlib.Path, content: dict[str, Any], arrays: Arrays, *, version: str) -> None:
    """Make the folder, or renew the model in it."""
    with _saying("written", path):
        _refuse_strangers(path)
        if path.is_dir():
            _write_into(path, content, arrays, version)
            return
        fresh = beside(path)
        fresh.mkdir()
        try:
            _write_into(fresh, content, arrays, version)
            fresh.rename(path)
            to_disk(path.parent)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def read_folder(path: pathlib.Path) -> tuple[dict[str, Any], Arrays]:
    """Content and arrays of the model in a folder, all checks passed."""
    with _saying("read", path):
        head = _checked_head(parse(_read(path / JSON_NAME, most=MOST_JSON)))
        sizes = _checked_sizes(head["tensors"]["sizes"])
        content = head["content"]
        described = {"tensors": head["tensors"], "content": content, "schema": SCHEMA}
        if hashlib.sha256(canonical(described)).hexdigest() != head["sha256"]:
            raise DamagedFileError("the checksum of model.json is not that of its content.", hint=_DAMAGED)
        return content, _read_tensors(path, head["tensors"]["sha256"], sizes)


_DAMAGED = "The file was changed or damaged after it was written. Take it from a backup, or save the model again."


def _write_into(folder: pathlib.Path, content: dict[str, Any], arrays: Arrays, version: str) -> None:
    before = _named_tensors(folder)
    # 1
    tensors = tensor_file.save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    digest = hashlib.sha256(tensors).hexdigest()
    name = _tensors_name(digest)
    with written_whole(folder / name) as part:
        part.write_bytes(tensors)
    # 2
    sizes = {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in arrays.items()}
    described = {"tensors": {"sha256": digest, "sizes": sizes}, "content": content, "schema": SCHEMA}
    checksum = hashlib.sha256(canonical(described)).hexdigest()
    head = {"format": FORMAT, "schema": SCHEMA, "eigenveil": version, "sha256": checksum, **described}
    with written_whole(folder / JSON_NAME) as part:
        part.write_text(json.dumps(head, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    # 3
    if before not in (None, name):
        (folder / str(before)).unlink(missing_ok=True)


def _named_tensors(folder: pathlib.Path) -> str | None:
    """The file of tensors of the model that is there, if one is."""
    try:
        return _tensors_name(_checked_head(parse(_read(folder / JSON_NAME, most=MOST_JSON)))["tensors"]["sha256"])
    except (OSError, DamagedFileError):
        return None


def _tensors_name(digest: str) -> str:
    return f"tensors-{digest[:16]}.safetensors"


def _refuse_strangers(path: pathlib.Path) -> None:
    """Never write among files of something else."""
    if not path.exists():
        return
    hint = "Choose a path where nothing is, an empty folder, or the folder of a saved model."
    if not path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a file; a model is a folder.", hint=hint)
    if any(path.iterdir()) and not _is_model(path):
        raise InvalidInputError(f"{str(path)!r} is a folder with other things in it.", hint=hint)


def _is_model(path: pathlib.Path) -> bool:
    if not (path / JSON_NAME).exists():
        return all(_ours(file.name) for file in path.iterdir())  # left by a save that was interrupted
    try:
        return bool(parse(_read(path / JSON_NAME, most=MOST_JSON))["format"] == FORMAT)
    except (DamagedFileError, KeyError, TypeError):
        return False


def _ours(name: str) -> bool:
    return bool(
        re.fullmatch(rf"\.({re.escape(JSON_NAME)}|{_TENSORS.pattern})\.part-[0-9a-f]+|{_TENSORS.pattern}", name)
    )


def _checked_head(head: Any) -> dict[str, Any]:
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DamagedFileError("expected a model that eigenveil.save wrote, found another JSON file.")
    schema = head.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise DamagedFileError(
            f"this model has schema {min(schema, 10**9)}, and this eigenveil knows schemas up to {SCHEMA}.",
            hint="A newer eigenveil wrote it: update, or save it again there for this version.",
        )
    if type(schema) is int and 0 < schema < SCHEMA:
        raise DamagedFileError(
            f"this model has schema {schema}, of a development version; this eigenveil reads schema {SCHEMA}.",
            hint="Fit it again: it is a new cost for the same people.",
        )
    tensors = head.get("tensors")
    sound = schema == SCHEMA and type(schema) is int and set(head) == _KEYS and isinstance(head["content"], dict)
    if not (sound and isinstance(tensors, dict) and set(tensors) == {"sha256", "sizes"}):
        raise DamagedFileError("model.json does not hold what a model has.", hint=_DAMAGED)
    if not re.fullmatch("[0-9a-f]{64}", str(tensors["sha256"])):
        raise DamagedFileError("the checksum of the tensors is none.", hint=_DAMAGED)
    return head


def _checked_sizes(sizes: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every tensor, by name."""
    if not isinstance(sizes, dict):
        raise DamagedFileError("model.json does not hold what a model has.", hint=_DAMAGED)
    found = {}
    for name, size in sizes.items():
        sound = isinstance(size, dict) and set(size) == {"dtype", "shape"} and size["dtype"] in DTYPES
        shape = size["shape"] if sound and isinstance(size["shape"], list) else None
        if shape is None or len(shape) > MOST_AXES or not all(type(one) is int and one >= 0 for one in shape):
            raise DamagedFileError("a tensor has a type or shape that is none.", hint=_DAMAGED)
        found[name] = (size["dtype"], tuple(shape))
    return found


def _read_tensors(path: pathlib.Path, digest: str, sizes: dict[str, tuple[str, tuple[int, ...]]]) -> Arrays:
    """The tensors, if they are those that were written and have the types and shapes stated."""
    stated = sum(_bytes(dtype, shape) for dtype, shape in sizes.values())
    data = _read(path / _tensors_name(digest), most=stated + MOST_HEADER + 8, least=stated + 8)
    if hashlib.sha256(data).hexdigest() != digest:
        raise DamagedFileError("the checksum of the tensors is not the one in model.json.", hint=_DAMAGED)
    if 8 + int.from_bytes(data[:8], "little") + stated != len(data):
        raise DamagedFileError("the tensors are not as long as model.json says.", hint=_DAMAGED)
    try:
        arrays: Arrays = tensor_file.load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError):
        raise DamagedFileError("the file of tensors is none.", hint=_DAMAGED) from None
    found = {name: (array.dtype.name, array.shape) for name, array in arrays.items()}
    if found != sizes:
        raise DamagedFileError("the tensors have other names, types or shapes than model.json says.")
    if not all(np.all(np.isfinite(array)) for array in arrays.values()):
        raise DamagedFileError("the tensors hold numbers that are not finite, which no release has.")
    return {name: np.array(array) for name, array in arrays.items()}


def _bytes(dtype: str, shape: tuple[int, ...]) -> int:
    total = np.dtype(dtype).itemsize
    for length in shape:
        total *= length
    return total


def _read(path: pathlib.Path, *, most: int, least: int = 0) -> bytes:
    """All of a file that is an ordinary one and not of another size than it may be."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise DamagedFileError(f"{path.name} is no ordinary file.")
        if not least <= about.st_size <= most:
            raise DamagedFileError(f"{path.name} is of a size that it cannot have.", hint=_DAMAGED)
        return file.read(most + 1)


@contextmanager
def _saying(done: str, path: pathlib.Path) -> Iterator[None]:
    """Errors of the system in the words of the house."""
    try:
        yield
    except OSError as error:
        hint = "A model is the folder that was given to eigenveil.save." if done == "read" else ""
        raise InvalidInputError(
            f"the model at {str(path)!r} could not be {done}: {error.strerror or type(error).__name__}.", hint=hint
        ) from error
