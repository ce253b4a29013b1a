"""Which code made a number: a cached result is worth nothing once that code has changed."""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

ROOMS = (
    "subspace",
    "oracles",
    "mechanisms",
    "engines",
    "datasets",
    "operators",
    "sources",
    "kernels",
    "privacy",
    "metrics",
    "schedules",
)
"""Rooms whose code decides on results."""
FILES = ("experiments/setting.py", "experiments/fits.py", "experiments/runner.py")


@functools.cache
def fingerprint() -> str:
    """A hash of the versions of eigenveil and numpy, and of the code that results depend on.

    Docstrings, comments and layout do not count.
    """
    digest = hashlib.sha256(f"{version('eigenveil')} {version('numpy')}".encode())
    for path in _files(Path(__file__).parent.parent):
        text = path.read_bytes()
        digest.update(path.name.encode())
        digest.update(meaning(text.decode()).encode() if path.suffix == ".py" else text)
    return digest.hexdigest()[:16]


def meaning(source: str) -> str:
    r"""Python code without what is only said about it.

    Examples
    --------
    >>> meaning("x = 1  # one") == meaning("x=1"), meaning("x = 1") == meaning("x = 2")
    (True, False)
    >>> meaning("def f():\n    'Old.'\n    return 1") == meaning("def f():\n    'New.'\n    return 1")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_said(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_said(statement: ast.stmt) -> bool:
    """Whether it is a string that stands alone, as docstrings do."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _files(package: Path) -> Iterator[Path]:
    for room in ROOMS:
        yield from sorted(path for path in (package / room).rglob("*") if path.suffix in {".py", ".c", ".h"})
    for name in FILES:
        yield package / name
