"""Files of a stream's checkpoint: one of releases only, one with raw data; plain text, no pickle."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.uncopied import Uncopied

HASH_BYTES = 16
RAW_SUFFIX = ".RAW-DATA"
_WARNING = "RAW DATA: rows of the open batch and keyed hashes of ids. Not private. Do not publish."
_TYPES = ("float64", "int64", "int32", "bool")


class Checkpoint(Uncopied):
    """The pair of files at `path` and `path` + ".RAW-DATA".

    Every file is written under another name first and then moved into place, so a crash leaves the old or the new
    one. The file with raw data can be read and written by its owner only.

    A random number in the file of releases says which stream holds it: the one that took it last.
    """

    _uncopied = "a stream's hold on its checkpoint", "one stream at a time goes on from it"
    _instead = "TrackedStream.load(path) takes the checkpoint up."

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        self.raw_path = self.path.with_name(self.path.name + RAW_SUFFIX)
        self._holder = os.urandom(16).hex()

    def take(self, public: dict[str, Any]) -> None:
        """Become the one that holds the checkpoint, and renew the file of releases."""
        _replace(self.path, [{**public, "holder": self._holder}], mode=0o644)

    def write(self, public: dict[str, Any]) -> None:
        """Renew the file of releases, if no other stream has taken it."""
        self.refuse_lost()
        self.take(public)

    def retire(self) -> None:
        """Leave a mark in place of the file of releases: the stream is kept elsewhere from now on."""
        _replace(self.path, [{"moved": True}], mode=0o644)
        with contextlib.suppress(FileNotFoundError):
            self.raw_path.unlink()

    def refuse_lost(self) -> None:
        """Raise if another stream holds the checkpoint by now."""
        if self.path.exists() and self.read().get("holder") != self._holder:
            raise InvalidInputError(
                f"another stream has taken up the checkpoint at {str(self.path)!r}; this one cannot go on, since "
                "both would spend the same people's budget. Nothing was charged.",
                hint="Go on with the stream that was loaded last.",
            )

    def write_raw(self, records: Iterable[dict[str, Any]]) -> None:
        """Renew the file with raw data: one record per line."""
        _replace(self.raw_path, [{"contains": _WARNING}, *records], mode=0o600)

    def append_raw(self, record: dict[str, Any]) -> None:
        """Add a record to the file with raw data."""
        with open(self.raw_path, "ab", opener=_opener(0o600)) as file:
            file.write(b"\n" + _line(record))  # begins a line of its own after one that a crash cut off
            _to_disk(file)

    def read(self) -> dict[str, Any]:
        """The file of releases."""
        try:
            public = json.loads(self.path.read_text())
        except (OSError, ValueError):
            public = None
        if not isinstance(public, dict):
            raise InvalidInputError(
                f"expected a checkpoint of a stream at {str(self.path)!r}, found none.",
                hint="Pass the path that was given to `save`.",
            )
        if public.get("moved"):
            raise InvalidInputError(
                f"the stream that was kept at {str(self.path)!r} has been saved elsewhere, and goes on there.",
                hint="Pass the path that was given to `save` last.",
            )
        return public

    def read_raw(self) -> Iterator[dict[str, Any]]:
        """Records with raw data, as far as they are whole; none if there is no such file."""
        with contextlib.suppress(FileNotFoundError):
            for line in self.raw_path.read_bytes().splitlines():
                with contextlib.suppress(ValueError):
                    record = json.loads(line)
                    if isinstance(record, dict):
                        yield record


def pack(values: npt.NDArray[Any] | sparse.csr_array[Any, Any]) -> dict[str, Any]:
    """An array, bit by bit, as something JSON can hold.

    Examples
    --------
    >>> unpack(pack(np.array([[0.1, np.inf]])))
    array([[0.1, inf]])
    """
    if sparse.issparse(values):
        parts = {name: pack(getattr(values, name)) for name in ("data", "indices", "indptr")}
        return {"sparse": list(values.shape), **parts}
    array = np.ascontiguousarray(values)
    little = array.astype(array.dtype.newbyteorder("<"))
    text = base64.b64encode(little.tobytes()).decode()
    return {"type": array.dtype.name, "shape": list(array.shape), "base64": text}


def unpack(plain: dict[str, Any]) -> Any:
    """The array that `pack` took."""
    if "sparse" in plain:
        parts = tuple(unpack(plain[name]) for name in ("data", "indices", "indptr"))
        return sparse.csr_array(parts, shape=tuple(plain["sparse"]))
    if plain["type"] not in _TYPES:
        raise ValueError("unknown type")
    dtype = np.dtype(plain["type"])
    flat = np.frombuffer(base64.b64decode(plain["base64"]), dtype=dtype.newbyteorder("<")).astype(dtype)
    return flat.reshape(plain["shape"])


def pack_hashes(hashes: Iterable[bytes]) -> str:
    """Hashes of one length, in an order that says nothing of when they came."""
    return base64.b64encode(b"".join(sorted(hashes))).decode()


def unpack_hashes(text: str) -> set[bytes]:
    """The hashes that `pack_hashes` took."""
    joined = base64.b64decode(text)
    return {joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES)}


def _replace(path: pathlib.Path, records: Iterable[dict[str, Any]], *, mode: int) -> None:
    fresh = path.with_name(path.name + ".part")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()  # so that it is made anew, with its mode
    with open(fresh, "wb", opener=_opener(mode)) as file:
        file.writelines(_line(record) for record in records)
        _to_disk(file)
    fresh.replace(path)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _opener(mode: int) -> Any:
    return lambda path, flags: os.open(path, flags, mode)


def _to_disk(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
