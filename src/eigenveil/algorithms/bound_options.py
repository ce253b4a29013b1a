"""Options of the algorithms that clip all units at one bound."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.algorithms.algorithm import Options
from eigenveil.algorithms.bounds import Declared


@dataclass(frozen=True, kw_only=True)
class BoundOptions(Options):
    """Options for the bound on rows and the number of units, declared public or bought: see `Declared`."""

    beta: float | None = None
    n: int | None = None
    quantile: float = 0.75

    def __post_init__(self) -> None:
        _ = self.declared  # checks them

    @property
    def declared(self) -> Declared:
        """Numbers that are declared public."""
        return Declared(beta=self.beta, n=self.n, quantile=self.quantile)
