"""Optional dependencies: ``from eigenveil._extras import duckdb`` is ``import duckdb`` with an error for users.

If the package is not installed, the error says what needs it and names the extra of eigenveil that installs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from eigenveil.errors import MissingExtraError

_EXTRA_OF = {
    "matplotlib": "plots",
    "jinja2": "plots",
    "duckdb": "people",
    "rich": "cli",
    "typer": "cli",
    "dask": "dask",
    "dask_dataframe": "dask",
    "distributed": "dask",
}
"""The extra that installs each package. An underscore stands for the dot of a submodule."""

_NEEDED_BY = {
    "plots": "plots and reports need",
    "people": "grouping rows of files by person needs",
    "cli": "the command eigenveil needs",
    "dask": "the Dask engine needs",
}


def __getattr__(name: str) -> Any:
    """Import an optional package, or raise `MissingExtraError`."""
    if name not in _EXTRA_OF:
        raise AttributeError(f"module 'eigenveil._extras' has no attribute {name!r}")
    try:
        return import_module(name.replace("_", "."))
    except ModuleNotFoundError as missing:
        extra, package = _EXTRA_OF[name], name.partition("_")[0]
        raise MissingExtraError(
            f"{_NEEDED_BY[extra]} {package}, which is not installed.", hint=f"pip install 'eigenveil[{extra}]'"
        ) from missing
