"""Differentially private PCA: principal components with a guarantee for every person in the data."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from eigenveil import datasets, metrics, schedules, theory
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.sources import CsvFiles
from eigenveil.subspace import (
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

if TYPE_CHECKING:
    from eigenveil import plots
    from eigenveil.estimators import DPPCA
    from eigenveil.persistence import load, save
    from eigenveil.planner import plan
    from eigenveil.report import write_report

__version__ = version("eigenveil")
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


_LATER = {
    "DPPCA": "estimators",
    "load": "persistence",
    "plan": "planner",
    "plots": "plots",
    "save": "persistence",
    "write_report": "report",
}
"""Names and their rooms, loaded when first asked for: scikit-learn and matplotlib take their time to import."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        room = import_module(f"eigenveil.{_LATER[name]}")
        return room if _LATER[name] == name else getattr(room, name)
    raise AttributeError(f"module 'eigenveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
