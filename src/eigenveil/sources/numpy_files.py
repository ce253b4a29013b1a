"""Arrays in files: .npy (mapped into memory) and .npz (one array, or a sparse matrix as scipy saves it)."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
from scipy import sparse

from eigenveil.errors import InvalidInputError
from eigenveil.sources import memory
from eigenveil.sources.guard import attempt
from eigenveil.sources.source import Source

_ERRORS = (ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, zipfile.BadZipFile)


def open_numpy(paths: list[str], *, columns: Any, units: Any) -> Source:
    """A source of the rows of the one array in a file."""
    if len(paths) != 1:
        raise InvalidInputError(
            f"expected one .npy or .npz file, got {len(paths)}.",
            hint="Pass a list of arrays: [np.load(path, mmap_mode='r') for path in paths].",
        )
    return memory.open_kind(load(paths[0]), columns=columns, units=units)


def load(path: str) -> Any:
    """The array in a file; one of objects is refused by numpy before it is read."""
    unreadable = InvalidInputError(
        f"could not read an array of numbers from {path!r}: it is damaged, or holds objects.",
        hint="Write it with np.save, np.savez (one array) or scipy.sparse.save_npz.",
    )
    if path.lower().endswith(".npz"):
        return _only_array(path, unreadable)
    return attempt(lambda: np.load(path, mmap_mode="r", allow_pickle=False), unreadable, *_ERRORS)


def _only_array(path: str, unreadable: InvalidInputError) -> Any:
    names = attempt(lambda: _names(path), unreadable, *_ERRORS)
    if {"format", "shape", "data"} <= set(names):
        return attempt(lambda: sparse.load_npz(path), unreadable, *_ERRORS)
    if len(names) != 1:
        raise InvalidInputError(
            f"expected one array in {path!r}, found {len(names)}: {names}.",
            hint="Load the one you mean: np.load(path)[name].",
        )
    return attempt(lambda: _array(path, names[0]), unreadable, *_ERRORS)


def _names(path: str) -> list[str]:
    with np.load(path, allow_pickle=False) as file:
        return list(file.files)


def _array(path: str, name: str) -> Any:
    with np.load(path, allow_pickle=False) as file:
        return file[name]
