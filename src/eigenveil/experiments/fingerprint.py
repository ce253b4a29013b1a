"""Fingerprint of the code that results depend on. A cached result is invalid once that code has changed."""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

PACKAGES = (
    "algorithms",
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
"""Packages whose code affects results."""
FILES = ("experiments/setting.py", "experiments/fits.py", "experiments/runner.py")


@functools.cache
def fingerprint() -> str:
    """Return a hash of the versions of eigenveil and numpy, and of the code that results depend on.

    Docstrings, comments and formatting do not affect the hash.
    """
    digest = hashlib.sha256(f"{version('eigenveil')} {version('numpy')}".encode())
    for path in _files(Path(__file__).parent.parent):
        text = path.read_bytes()
        digest.update(path.name.encode())
        digest.update(meaning(text.decode()).encode() if path.suffix == ".py" else text)
    return digest.hexdigest()[:16]


def meaning(source: str) -> str:
    r"""Return a canonical form of Python code without docstrings, comments and formatting.

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
            node.body = [one for one in body if not _is_docstring(one)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a string alone, like a docstring."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _files(package: Path) -> Iterator[Path]:
    for part in PACKAGES:
        yield from sorted(path for path in (package / part).rglob("*") if path.suffix in {".py", ".c", ".h"})
    for name in FILES:
        yield package / name
