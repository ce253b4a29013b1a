"""A short name for the code that a table was made by."""

from __future__ import annotations

import functools
import hashlib
import pathlib

import eigenveil

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(eigenveil.__file__).parent
DATA = ("cells.py", "real_data.py", "real-data.txt")
"""The files of this folder that data depend on."""
ROOMS = ("privacy", "sources", "operators", "engines", "kernels", "mechanisms", "units", "subspace", "datasets")
"""What algorithms are made of; streams and what follows a release do not change a release."""


def digest(files: list[pathlib.Path]) -> str:
    """The first digits of a hash of these files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:12]


@functools.cache
def code() -> str:
    """Of all sources of algorithms, and what data depend on."""
    sources = [file for room in ROOMS for end in ("py", "c") for file in (PACKAGE / room).rglob(f"*.{end}")]
    sources = [file for file in sources if "stream" not in file.name and file.name != "uncertainty.py"]
    return digest([*sources, *(HERE / name for name in DATA)])


@functools.cache
def streams() -> str:
    """Of what streams are made of, besides."""
    return digest([*(PACKAGE / "subspace").rglob("*.py"), HERE / "stream.py"])


@functools.cache
def data() -> str:
    """Of what data, and a rival that uses nothing of the package, depend on."""
    return digest(
        [*(PACKAGE / "datasets").rglob("*.py"), *(HERE / name for name in (*DATA, "gauss_1_for_free.py"))]
    )


@functools.cache
def startup() -> str:
    """Of what is loaded before a command runs."""
    return digest([PACKAGE / "__init__.py", *(PACKAGE / "cli").glob("*.py"), HERE / "startup.py"])


def line() -> str:
    """The stamp of a table: the same sources give the same one."""
    return f"Code: {code()} (eigenveil {eigenveil.__version__}; `benchmarks/stamp.py`)."
