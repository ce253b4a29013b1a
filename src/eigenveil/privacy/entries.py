"""What a ledger is made of: entries, groups of parallel parts, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from eigenveil.errors import InvalidInputError

Kind = Literal["gaussian", "approximate", "declared"]


@dataclass(frozen=True)
class Cost:
    """What one unit has lost: mu^2 to Gaussian releases, (epsilon, delta) to all others."""

    mu_squared: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Sequential composition; each sum is rounded up, so that many small charges never hide one."""
        return Cost(
            _add_up(self.mu_squared, other.mu_squared),
            _add_up(self.epsilon, other.epsilon),
            _add_up(self.delta, other.delta),
        )

    def maximum(self, other: Cost) -> Cost:
        """Parallel composition: a bound for the unit's own part, whichever part that is."""
        return Cost(
            max(self.mu_squared, other.mu_squared),
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
        )


def _add_up(a: float, b: float) -> float:
    return math.nextafter(a + b, math.inf) if a and b else a + b


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a ledger. All of it is public: nothing here may depend on data not released.

    Parameters
    ----------
    what : str
        What was released, or declared, in words.
    kind : {"gaussian", "approximate", "declared"}
        Gaussian noise; any other (epsilon, delta)-DP mechanism; a statement of the user's.
    mu, epsilon, delta : float
        The cost: `mu` for Gaussian entries, (`epsilon`, `delta`) for approximate ones.
    sensitivity, scale : float or None
        L2 sensitivity of one release and the standard deviation of its noise (Gaussian), or L1
        sensitivity and Laplace scale.
    releases : int
        How many releases of that sensitivity the entry pays for.
    draws : int or None
        How many noise values they draw in all; None where that number is itself secret.
    note : str
        Anything a checker should know.
    """

    what: str
    kind: Kind
    mu: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0
    sensitivity: float | None = None
    scale: float | None = None
    releases: int = 0
    draws: int | None = 0
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidInputError(f"an entry is one of {get_args(Kind)}, got {self.kind!r}.")
        for name in ("mu", "epsilon", "delta"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InvalidInputError(f"an entry's {name} is finite and not below 0, got {value!r}.")
        if self.kind == "gaussian" and not self._keeps_mu():
            raise InvalidInputError(
                f'"{self.what}" states mu = {self.mu!r}, which {self.releases} releases of sensitivity '
                f"{self.sensitivity!r} with noise {self.scale!r} do not keep."
            )

    def _keeps_mu(self) -> bool:
        """Whether sensitivity * sqrt(releases) / scale is at most mu, but for last bits."""
        if not (self.sensitivity and self.scale and self.sensitivity > 0 and self.scale > 0 < self.releases):
            return False
        return self.sensitivity * math.sqrt(self.releases) <= self.mu * self.scale * (1 + 1e-12)

    @property
    def cost(self) -> Cost:
        """What the entry takes from the budget."""
        return Cost(_add_up(0.0, self.mu * self.mu), self.epsilon, self.delta)

    def walk(self) -> Iterator[tuple[int, Entry]]:
        """The entry itself, as a tree of one."""
        yield 0, self


@dataclass
class Parallel:
    """Parts of which any one unit can touch only one; they cost what the dearest part costs."""

    how: str
    parts: tuple[list[Entry | Parallel], ...]
    costs: list[Cost] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        """The maximum over the parts."""
        total = Cost()
        for cost in self.costs:
            total = total.maximum(cost)
        return total

    def walk(self) -> Iterator[tuple[int, Entry]]:
        """All entries of all parts with their depth."""
        for part in self.parts:
            for node in part:
                for depth, entry in node.walk():
                    yield depth + 1, entry


class Partition(Protocol):
    """What divides units into parts and vouches that they are disjoint."""

    @property
    def parts(self) -> int:
        """How many parts there are."""

    @property
    def stable_under(self) -> Collection[str]:
        """Events among {"removal", "replacement"} of one unit that move no unit to another part."""

    def assert_disjoint(self) -> str:
        """Raise unless no unit can be in two parts; return how that is known, in words."""
