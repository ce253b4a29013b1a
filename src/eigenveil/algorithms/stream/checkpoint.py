"""Files of a stream's checkpoint: one with releases only, one with raw data. Both are plain text, not pickles."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from eigenveil._atomic_files import CAN_LOCK, explained_write_errors, locked, written_whole
from eigenveil.errors import InvalidInputError
from eigenveil.privacy.uncopied import Uncopied

HASH_BYTES = 16
RAW_SUFFIX = ".RAW-DATA"
_WARNING = "RAW DATA: rows of the open batch and keyed hashes of ids. Not private. Do not publish."
_TYPES = ("float64", "int64", "int32", "bool")


class Checkpoint(Uncopied):
    """Pair of files at `path` and `path` + ".RAW-DATA".

    Each file is first written under another name and then moved into place. So a crash leaves either the old or
    the new file. Only its owner can read and write the file with raw data.

    A random number in the file of releases identifies the stream that holds the checkpoint: the last one that
    saved or loaded it. Who reads this number and then writes holds a lock meanwhile, where the system has locks.

    Links are followed, since a write would replace a link and leave its target with the earlier holder. For the
    same reason a file with several names (hard links) is refused.
    """

    _uncopied = "a stream's hold on its checkpoint", "only one stream at a time can continue from it"
    _instead = "TrackedStream.load(path) continues from the checkpoint."

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(os.path.realpath(path))
        self.raw_path = self.path.with_name(self.path.name + RAW_SUFFIX)
        self._holder = os.urandom(16).hex()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from reading or changing the holder, while the context is open."""
        return locked(self.path) if CAN_LOCK else nullcontext()

    def save(
        self, public: dict[str, Any], raw: list[dict[str, Any]], *, before: Checkpoint | None, stream: str
    ) -> None:
        """Write both files, and make this stream the holder.

        `before` is the stream's checkpoint so far, if any, and `stream` identifies the stream. Files that are not
        its own are never replaced.

        The rows that the file of releases speaks of are in the other file at all times. Therefore the new rows are
        appended first, if the stream was saved here before.
        """
        with self.locked():
            if before is not None:
                before.refuse_lost()
            if before is not None and before.path == self.path:
                self.append_raw(raw[-1])
                self.take(public)
                self.write_raw(raw)
                return
            self._refuse_others(stream)
            try:
                self.write_raw(raw, unfinished=True)
                if before is not None:
                    before.retire(stream)  # first: at no time can two streams be loaded
                self.take(public)
            except BaseException:
                if before is None:  # else the rows may be in no other file
                    with contextlib.suppress(OSError):
                        self._remove_raw()
                raise
            with contextlib.suppress(InvalidInputError):  # a full disk: the checkpoint is complete without it
                self.write_raw(raw)

    def take(self, public: dict[str, Any]) -> None:
        """Make this stream the holder of the checkpoint, and rewrite the file of releases."""
        _replace(self.path, [{**public, "holder": self._holder}], mode=0o644)

    def write(self, public: dict[str, Any]) -> None:
        """Rewrite the file of releases. Raise if another stream holds the checkpoint."""
        with self.locked():
            self.refuse_lost()
            self.take(public)

    def retire(self, stream: str) -> None:
        """Replace the file of releases by a note that the stream has moved, and delete the file with raw data."""
        _replace(self.path, [{"moved": stream}], mode=0o644)
        self._remove_raw()

    def _remove_raw(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.raw_path.unlink()

    def _refuse_others(self, stream: str) -> None:
        """Raise if there is a file already.

        A note that this stream has moved is replaced, and raw data of a first save that was cut off by a crash.
        """
        there = [path for path in (self.path, self.raw_path) if os.path.lexists(path)]
        own = {self.path: {"moved": stream}, self.raw_path: {"contains": _WARNING, "unfinished": True}}
        if len(there) == 1:
            with contextlib.suppress(OSError, ValueError), there[0].open("rb") as file:
                there = [path for path in there if json.loads(file.readline()) != own[path]]
        if there:
            raise InvalidInputError(
                f"{str(there[0])!r} already exists, and is not a checkpoint of this stream. It was not changed.",
                hint="Choose another path. A stream in a checkpoint continues with TrackedStream.load(path).",
            )

    def refuse_lost(self) -> None:
        """Raise if another stream holds the checkpoint, or may hold it because the file was moved."""
        if not self.path.exists():
            raise InvalidInputError(
                f"the checkpoint of this stream at {str(self.path)!r} is gone. This stream cannot continue, since "
                "another one may have loaded the file under a new name. Nothing was charged.",
                hint="Move both files back, or continue with TrackedStream.load(path) where they are now.",
            )
        if self.read().get("holder") != self._holder:
            raise InvalidInputError(
                f"another stream has loaded the checkpoint at {str(self.path)!r}. This one cannot continue, since "
                "both would spend the same people's budget. Nothing was charged.",
                hint="Continue with the stream that was loaded last.",
            )

    def write_raw(self, records: Iterable[dict[str, Any]], *, unfinished: bool = False) -> None:
        """Rewrite the file with raw data, with one record per line.

        It is unfinished as long as there has been no file of releases beside it.
        """
        head = {"contains": _WARNING, "unfinished": True} if unfinished else {"contains": _WARNING}
        _replace(self.raw_path, [head, *records], mode=0o600)

    def append_raw(self, record: dict[str, Any]) -> None:
        """Append a record to the file with raw data."""
        with explained_write_errors(self.raw_path), open(self.raw_path, "ab", opener=_opener(0o600)) as file:
            file.write(b"\n" + _line(record))  # starts on a new line, since a crash may have cut off the last one
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> dict[str, Any]:
        """Return the content of the file of releases."""
        try:
            public, names = json.loads(self.path.read_text()), self.path.stat().st_nlink
        except (OSError, ValueError):
            public, names = None, 1
        if not isinstance(public, dict):
            raise InvalidInputError(
                f"expected a checkpoint of a stream at {str(self.path)!r}, found none.",
                hint="Pass the path that was given to `save`.",
            )
        if names > 1:
            raise InvalidInputError(
                f"expected the checkpoint at {str(self.path)!r} to have one name, found {names} (hard links).",
                hint="Remove the other names: a stream could be loaded from each of them.",
            )
        if public.get("moved"):
            raise InvalidInputError(
                f"the stream that was saved at {str(self.path)!r} has been saved elsewhere since.",
                hint="Pass the last path that was given to `save`.",
            )
        return public

    def read_raw(self) -> Iterator[dict[str, Any]]:
        """Yield the complete records with raw data; none if there is no such file."""
        with contextlib.suppress(FileNotFoundError):
            for line in self.raw_path.read_bytes().splitlines():
                with contextlib.suppress(ValueError):
                    record = json.loads(line)
                    if isinstance(record, dict):
                        yield record


def pack(values: npt.NDArray[Any] | sparse.csr_array[Any, Any]) -> dict[str, Any]:
    """Return an array, bit by bit, as JSON values.

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
    """Return the array that was passed to `pack`."""
    if "sparse" in plain:
        parts = tuple(unpack(plain[name]) for name in ("data", "indices", "indptr"))
        return sparse.csr_array(parts, shape=tuple(plain["sparse"]))
    if plain["type"] not in _TYPES:
        raise ValueError("unknown type")
    dtype = np.dtype(plain["type"])
    flat = np.frombuffer(base64.b64decode(plain["base64"]), dtype=dtype.newbyteorder("<")).astype(dtype)
    return flat.reshape(plain["shape"])


def pack_hashes(hashes: Iterable[bytes]) -> str:
    """Return hashes of equal length as text, sorted so that the order does not reveal when they arrived."""
    return base64.b64encode(b"".join(sorted(hashes))).decode()


def unpack_hashes(text: str) -> set[bytes]:
    """Return the hashes that were passed to `pack_hashes`."""
    joined = base64.b64decode(text)
    return {joined[start : start + HASH_BYTES] for start in range(0, len(joined), HASH_BYTES)}


def _replace(path: pathlib.Path, records: Iterable[dict[str, Any]], *, mode: int) -> None:
    with written_whole(path) as part, open(part, "xb", opener=_opener(mode)) as file:
        file.writelines(_line(record) for record in records)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _opener(mode: int) -> Any:
    no_link = getattr(os, "O_NOFOLLOW", 0)  # a link could send raw data to any file
    return lambda path, flags: os.open(path, flags | no_link, mode)
