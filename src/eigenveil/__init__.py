"""Differentially private PCA: principal components with a guarantee for every person in the data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenveil import datasets, metrics, plots, schedules, theory
    from eigenveil.algorithms import (
        Release,
        TrackedStream,
        black_box_pca,
        dp_gauss_1,
        dp_gauss_2,
        dp_power_method,
        k_dp_ojas,
        k_dp_pca,
        oja,
        tracked_pca,
    )
    from eigenveil.estimators import DPPCA
    from eigenveil.operators import samples
    from eigenveil.persistence import load, save
    from eigenveil.planner import plan
    from eigenveil.privacy import Budget, Ledger
    from eigenveil.report import write_report
    from eigenveil.sources import CsvFiles

    __version__: str

__all__ = [
    "DPPCA",
    "Budget",
    "CsvFiles",
    "Ledger",
    "Release",
    "TrackedStream",
    "__version__",
    "black_box_pca",
    "datasets",
    "dp_gauss_1",
    "dp_gauss_2",
    "dp_power_method",
    "k_dp_ojas",
    "k_dp_pca",
    "load",
    "metrics",
    "oja",
    "plan",
    "plots",
    "samples",
    "save",
    "schedules",
    "theory",
    "tracked_pca",
    "write_report",
]

_PACKAGE_OF = {
    "DPPCA": "estimators",
    "Budget": "privacy",
    "CsvFiles": "sources",
    "Ledger": "privacy",
    "load": "persistence",
    "plan": "planner",
    "samples": "operators",
    "save": "persistence",
    "write_report": "report",
    **dict.fromkeys(("Release", "TrackedStream", "black_box_pca", "dp_gauss_1", "dp_gauss_2"), "algorithms"),
    **dict.fromkeys(("dp_power_method", "k_dp_ojas", "k_dp_pca", "oja", "tracked_pca"), "algorithms"),
}
"""The package of each public name. Packages are loaded on first use, because numpy and scipy load slowly."""


def __getattr__(name: str) -> Any:
    """Load a public name, the version, or a package such as ``eigenveil.errors`` on first use."""
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("eigenveil")
    elif name in _PACKAGE_OF:
        value = getattr(import_module(f"eigenveil.{_PACKAGE_OF[name]}"), name)
    elif name.startswith("_") or import_module("importlib.util").find_spec(f"eigenveil.{name}") is None:
        raise AttributeError(f"module 'eigenveil' has no attribute {name!r}")
    else:
        value = import_module(f"eigenveil.{name}")
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    return sorted(__all__)
