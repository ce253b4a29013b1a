"""Cache of results. Each result is saved as soon as it is computed, so that an interrupted run can resume.

The file has one JSON object per line. A line is appended by a single write and never changed. A crash may leave an
incomplete last line, which is ignored.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

NAME = "results.jsonl"


class Cache:
    """Results by key, in memory and in a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Cache(Path(folder)).add("a", 0.5, method="plain")
    ...     "a" in Cache(Path(folder)), Cache(Path(folder))["a"]
    (True, 0.5)
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        self._path = folder / NAME
        self._values: dict[str, float] = {}
        for line in self._path.read_bytes().splitlines() if self._path.exists() else ():
            kept = _parsed(line)
            if kept is not None:
                self._values[kept[0]] = kept[1]

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __getitem__(self, key: str) -> float:
        return self._values[key]

    def add(self, key: str, zeta: float, **about: Any) -> None:
        """Save a result. `about` is stored for readers of the file."""
        self._values[key] = zeta
        text = json.dumps({"key": key, "zeta": zeta, **about}) + "\n"
        with self._path.open("ab+", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                text = text if file.read(1) == b"\n" else "\n" + text
            file.write(text.encode())


def _parsed(line: bytes) -> tuple[str, float] | None:
    """Return key and result, or None for an incomplete line."""
    try:
        kept = json.loads(line)
        return str(kept["key"]), float(kept["zeta"])
    except (ValueError, KeyError, TypeError):
        return None
