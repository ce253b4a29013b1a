"""Folder of a saved model: `model.json`, and one file of tensors, which `model.json` identifies by its checksum.

Write(folder, content, tensors):
  1  write ``tensors-<first 16 digits of their SHA-256>.safetensors`` and sync it to disk
  2  write `model.json` under a temporary name, sync it to disk, rename it   # from here on it is the new model
  3  remove the tensors of the previous model
A new folder is first written under a hidden name and then renamed. Where folders can be locked, saves and loads of
one folder wait for each other.

A crash before the end of step 2 leaves the old model (or none); a crash after it leaves the new model. Checksums
detect damage. They are not signatures: anyone who can write the file can also change its checksums.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pathlib
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as tensor_file

from eigenveil._atomic_files import CHECK_FOLDER, finished_before_exit, locked_folder, replacing
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.json_codec import DTYPES, Arrays
from eigenveil.persistence.strict_json import DamagedFileError, canonical, parse

FORMAT, SCHEMA = "eigenveil model", 2
JSON_NAME = "model.json"
MOST_JSON, MOST_HEADER, MOST_AXES = 1 << 27, 1 << 24, 8
"""Limits: bytes of the JSON file, bytes of the header of the tensors, axes of a tensor."""
_TENSORS = re.compile(r"tensors-[0-9a-f]{16}\.safetensors")
_KEYS = {"format", "schema", "eigenveil", "sha256", "tensors", "content"}


def write_folder(path: pathlib.Path, content: dict[str, Any], arrays: Arrays, *, version: str) -> None:
    """Create the folder, or replace the model in it."""
    with os_errors_as("written", path), finished_before_exit():
        while not _written(path, content, arrays, version):
            pass  # the folder was created or removed meanwhile


def _written(path: pathlib.Path, content: dict[str, Any], arrays: Arrays, version: str) -> bool:
    """Return False if nothing is saved, because someone else has created or removed the folder meanwhile."""
    if path.exists():
        with locked_folder(path, to_write=True) as is_there:
            if not (is_there() and path.exists()):
                return False
            _refuse_foreign_folder(path)
            _write_into(path, content, arrays, version, is_there)
        return True
    try:
        with replacing(path) as fresh:
            fresh.mkdir()
            _write_into(fresh, content, arrays, version, lambda: True)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            return False
        raise
    return True


def read_folder(path: pathlib.Path) -> tuple[dict[str, Any], Arrays]:
    """Return content and arrays of the model in a folder, after all checks."""
    with os_errors_as("read", path):
        while True:
            with locked_folder(path, to_write=False) as is_there:
                if is_there():  # else the folder was replaced meanwhile
                    return _read(path)


def _read(path: pathlib.Path) -> tuple[dict[str, Any], Arrays]:
    head = _checked_head(parse(read_regular(path / JSON_NAME, most=MOST_JSON)))
    sizes = _checked_sizes(head["tensors"]["sizes"])
    content = head["content"]
    described = {"tensors": head["tensors"], "content": content, "schema": SCHEMA}
    if hashlib.sha256(canonical(described)).hexdigest() != head["sha256"]:
        raise DamagedFileError("the checksum of model.json does not match its content.", hint=_DAMAGED)
    return content, _read_tensors(path, head["tensors"]["sha256"], sizes)


_DAMAGED = "The file was changed or damaged after it was saved. Restore it from a backup, or save the model again."


def _write_into(
    folder: pathlib.Path, content: dict[str, Any], arrays: Arrays, version: str, is_there: Callable[[], bool]
) -> None:
    """Write a model into a folder, as long as `is_there` says that the folder is the one that is locked."""
    before = _named_tensors(folder)
    # 1
    tensors = tensor_file.save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    digest = hashlib.sha256(tensors).hexdigest()
    name = _tensors_name(digest)
    with replacing(folder / name) as part:
        part.write_bytes(tensors)
    # 2
    sizes = {name: {"dtype": array.dtype.name, "shape": list(array.shape)} for name, array in arrays.items()}
    described = {"tensors": {"sha256": digest, "sizes": sizes}, "content": content, "schema": SCHEMA}
    checksum = hashlib.sha256(canonical(described)).hexdigest()
    head = {"format": FORMAT, "schema": SCHEMA, "eigenveil": version, "sha256": checksum, **described}
    with replacing(folder / JSON_NAME, last_check=lambda: _refuse_if_gone(folder, is_there)) as part:
        part.write_text(json.dumps(head, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    # 3
    if before not in (None, name):
        (folder / str(before)).unlink(missing_ok=True)


def _refuse_if_gone(folder: pathlib.Path, is_there: Callable[[], bool]) -> None:
    if not is_there():
        raise InvalidInputError(
            f"the folder {str(folder)!r} was moved or replaced by someone else; the model was not saved.",
            hint="Save it again.",
        )


def _named_tensors(folder: pathlib.Path) -> str | None:
    """Return the name of the tensors file of the existing model, or None."""
    try:
        head = _checked_head(parse(read_regular(folder / JSON_NAME, most=MOST_JSON)))
        return _tensors_name(head["tensors"]["sha256"])
    except (OSError, DamagedFileError):
        return None


def _tensors_name(digest: str) -> str:
    return f"tensors-{digest[:16]}.safetensors"


def _refuse_foreign_folder(path: pathlib.Path) -> None:
    """Raise if the existing path is a file, or a folder that contains other files than a model."""
    hint = "Choose a path that does not exist, an empty folder, or the folder of a saved model."
    if not path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a file, but a model is saved as a folder.", hint=hint)
    if any(path.iterdir()) and not _is_model(path):
        raise InvalidInputError(f"{str(path)!r} is a folder that contains other files.", hint=hint)


def _is_model(path: pathlib.Path) -> bool:
    if not (path / JSON_NAME).exists():
        return all(_is_model_file(file.name) for file in path.iterdir())  # left by an interrupted save
    try:
        return bool(parse(read_regular(path / JSON_NAME, most=MOST_JSON))["format"] == FORMAT)
    except (DamagedFileError, KeyError, TypeError):
        return False


def _is_model_file(name: str) -> bool:
    return bool(
        re.fullmatch(rf"\.({re.escape(JSON_NAME)}|{_TENSORS.pattern})\.part-[0-9a-f]+|{_TENSORS.pattern}", name)
    )


def _checked_head(head: Any) -> dict[str, Any]:
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DamagedFileError("expected a model saved by eigenveil.save, found another JSON file.")
    schema = head.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise DamagedFileError(
            f"this model has schema {min(schema, 10**9)}, but this version of eigenveil reads schemas up to "
            f"{SCHEMA}.",
            hint="A newer version of eigenveil saved it. Update eigenveil.",
        )
    if type(schema) is int and 0 < schema < SCHEMA:
        raise DamagedFileError(
            f"this model has schema {schema} of a development version, but this version of eigenveil reads schema "
            f"{SCHEMA}.",
            hint="Fit it again. The new fit spends more privacy budget of the same people.",
        )
    tensors = head.get("tensors")
    valid = schema == SCHEMA and type(schema) is int and set(head) == _KEYS and isinstance(head["content"], dict)
    if not (valid and isinstance(tensors, dict) and set(tensors) == {"sha256", "sizes"}):
        raise DamagedFileError("model.json does not have the fields of a model.", hint=_DAMAGED)
    if not re.fullmatch("[0-9a-f]{64}", str(tensors["sha256"])):
        raise DamagedFileError("the checksum of the tensors is not a valid checksum.", hint=_DAMAGED)
    return head


def _checked_sizes(sizes: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return dtype and shape of every tensor, by name."""
    if not isinstance(sizes, dict):
        raise DamagedFileError("model.json does not have the fields of a model.", hint=_DAMAGED)
    found = {}
    for name, size in sizes.items():
        valid = isinstance(size, dict) and set(size) == {"dtype", "shape"} and size["dtype"] in DTYPES
        shape = size["shape"] if valid and isinstance(size["shape"], list) else None
        if shape is None or len(shape) > MOST_AXES or not all(type(one) is int and one >= 0 for one in shape):
            raise DamagedFileError("a tensor has an invalid type or shape.", hint=_DAMAGED)
        found[name] = (size["dtype"], tuple(shape))
    return found


def _read_tensors(path: pathlib.Path, digest: str, sizes: dict[str, tuple[str, tuple[int, ...]]]) -> Arrays:
    """Read the tensors. Raise unless checksum, names, types and shapes match `model.json`."""
    stated = sum(_bytes(dtype, shape) for dtype, shape in sizes.values())
    data = read_regular(path / _tensors_name(digest), most=stated + MOST_HEADER + 8, least=stated + 8)
    if hashlib.sha256(data).hexdigest() != digest:
        raise DamagedFileError("the checksum of the tensors does not match model.json.", hint=_DAMAGED)
    if 8 + int.from_bytes(data[:8], "little") + stated != len(data):
        raise DamagedFileError("the length of the tensors does not match model.json.", hint=_DAMAGED)
    try:
        arrays: Arrays = tensor_file.load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError):
        raise DamagedFileError("the file of tensors is not a valid safetensors file.", hint=_DAMAGED) from None
    found = {name: (array.dtype.name, array.shape) for name, array in arrays.items()}
    if found != sizes:
        raise DamagedFileError("the names, types or shapes of the tensors do not match model.json.")
    if not all(np.all(np.isfinite(array)) for array in arrays.values()):
        raise DamagedFileError("the tensors contain numbers that are not finite, which no release has.")
    return {name: np.array(array) for name, array in arrays.items()}


def _bytes(dtype: str, shape: tuple[int, ...]) -> int:
    total = np.dtype(dtype).itemsize
    for length in shape:
        total *= length
    return total


def read_regular(path: pathlib.Path, *, most: int, least: int = 0, links: bool = True) -> bytes:
    """Read a whole file. Raise unless it is a regular file whose size is within the limits.

    `links` says whether the file may be a symbolic link, as in folders of downloaded models.
    """
    if not links and path.is_symlink():
        raise DamagedFileError(f"{path.name} is a symbolic link.", hint="Remove it, or replace it by the file.")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise DamagedFileError(f"{path.name} is not a regular file.")
    with os.fdopen(handle, "rb") as file:
        if not least <= about.st_size <= most:
            raise DamagedFileError(f"{path.name} has an impossible size.", hint=_DAMAGED)
        return file.read(most + 1)


@contextmanager
def os_errors_as(done: str, path: pathlib.Path) -> Iterator[None]:
    """Convert `OSError` to `InvalidInputError`; `done` is "read" or "written"."""
    try:
        yield
    except OSError as error:
        hint = "Pass the folder that was passed to eigenveil.save." if done == "read" else CHECK_FOLDER
        raise InvalidInputError(
            f"the model at {str(path)!r} could not be {done}: {error.strerror or type(error).__name__}.", hint=hint
        ) from error
