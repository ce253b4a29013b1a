"""Options that algorithms share which clip all units at one bound."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.subspace.algorithm import Options
from eigenveil.subspace.bounds import Declared


@dataclass(frozen=True, kw_only=True)
class BoundOptions(Options):
    """A public bound on rows and a public number of units, or how to buy them: see `Declared`."""

    beta: float | None = None
    n: int | None = None
    quantile: float = 0.75

    def __post_init__(self) -> None:
        _ = self.declared  # which checks them

    @property
    def declared(self) -> Declared:
        """What is public already."""
        return Declared(beta=self.beta, n=self.n, quantile=self.quantile)
