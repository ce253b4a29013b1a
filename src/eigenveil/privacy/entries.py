"""Entries of a ledger, groups of parallel parts, and their costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, get_args

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.gaussian import MOST_MU

Kind = Literal["gaussian", "approximate", "declared"]


class Purpose(StrEnum):
    """Purpose of an entry, for programs: reports, progress and warnings read it. `Entry.what` is for people."""

    COUNT = "count"
    """The number of units."""

    COLUMNS = "columns"
    """How the columns of a table are read: encodings and values that replace missing ones."""

    MEAN = "mean"
    """The mean of the rows."""

    SCALE = "scale"
    """The scales of columns."""

    BOUND = "bound"
    """The norms of units, from which a clipping radius is chosen."""

    COMPONENTS = "components"
    """Searches and sums from which components are computed."""

    VARIANCES = "variances"
    """Variances along components that are already released."""

    SCORES = "scores"
    """Histograms of scores."""

    TEST = "test"
    """A test that must pass before something is released."""

    MODEL = "model"
    """A model that is public here, and was paid for in another ledger."""

    BATCHES = "batches"
    """Finished batches of a stream, merged into one line."""

    OTHER = "other"
    """Anything else."""

    @classmethod
    def _missing_(cls, value: object) -> Purpose:
        names = ", ".join(repr(purpose.value) for purpose in cls)
        raise InvalidInputError(f"the purpose of an entry must be one of {names}, got {value!r}.")


@dataclass(frozen=True)
class Cost:
    """Privacy loss of one unit: mu^2 for Gaussian releases, (epsilon, delta) for all others."""

    mu_squared: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Sequential composition. Each sum is rounded up, so that no small charge is lost to rounding."""
        return Cost(
            _add_up(self.mu_squared, other.mu_squared),
            _add_up(self.epsilon, other.epsilon),
            _add_up(self.delta, other.delta),
        )

    def maximum(self, other: Cost) -> Cost:
        """Parallel composition: an upper bound on the cost of either part, in each of the three numbers."""
        return Cost(
            max(self.mu_squared, other.mu_squared),
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
        )


def _add_up(a: float, b: float) -> float:
    """Return a + b, rounded up."""
    return math.nextafter(a + b, math.inf) if a and b else a + b


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a ledger. Every field is public: none may depend on data that were not released.

    Parameters
    ----------
    what : str
        What was released or declared, in words.
    kind : {"gaussian", "approximate", "declared"}
        "gaussian" for Gaussian noise, "approximate" for any other (epsilon, delta)-DP mechanism, "declared" for a
        statement of the user.
    mu, epsilon, delta : float
        The cost: `mu` for Gaussian entries, (`epsilon`, `delta`) for approximate entries.
    sensitivity, scale : float or None
        Gaussian entries: L2 sensitivity of one release and standard deviation of its noise. Laplace noise: L1
        sensitivity and scale.
    releases : int
        Number of releases of this sensitivity that the entry pays for.
    draws : int or None
        Total number of noise values that these releases draw; None if that number is itself secret.
    note : str
        Further information for anyone who checks the ledger.
    purpose : Purpose
        What the entry is for.
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
    purpose: Purpose = Purpose.OTHER

    def __post_init__(self) -> None:
        object.__setattr__(self, "purpose", Purpose(self.purpose))  # a string if it was read from a file
        if self.kind not in get_args(Kind):
            raise InvalidInputError(f"the kind of an entry must be one of {get_args(Kind)}, got {self.kind!r}.")
        for name in ("mu", "epsilon", "delta"):
            value = getattr(self, name)
            if not 0 <= value <= MOST_MU:
                raise InvalidInputError(
                    f"{name} of an entry must be a finite number of at least 0, got {value!r}."
                )
        if self.kind == "gaussian" and not self._noise_suffices():
            raise InvalidInputError(
                f'"{self.what}" states mu = {self.mu!r}, but {self.releases} releases of sensitivity '
                f"{self.sensitivity!r} with noise {self.scale!r} cost more."
            )

    def _noise_suffices(self) -> bool:
        """Return whether sensitivity * sqrt(releases) / scale is at most mu, up to rounding."""
        if not (self.sensitivity and self.scale and self.sensitivity > 0 and self.scale > 0 < self.releases):
            return False
        return self.sensitivity * math.sqrt(self.releases) <= self.mu * self.scale * (1 + 1e-12)

    @property
    def cost(self) -> Cost:
        """The part of the budget that the entry spends."""
        return Cost(_add_up(0.0, self.mu * self.mu), self.epsilon, self.delta)

    def walk(self) -> Iterator[tuple[int, Entry]]:
        """Yield the entry itself, at depth 0."""
        yield 0, self


@dataclass
class Parallel:
    """A group of parallel parts.

    Each unit is in at most one part, so the group costs as much as its most expensive part.

    Parameters
    ----------
    how : str
        Why the parts are disjoint, in words.
    parts : tuple of lists
        The entries and nested groups of every part.
    costs : list of Cost
        The cost of every part.
    finished : int, optional
        Only in an open-ended group, which has two parts: the number of finished parts that the first part
        represents. The second part is the open one.
    """

    how: str
    parts: tuple[list[Entry | Parallel], ...]
    costs: list[Cost] = field(default_factory=list)
    finished: int | None = None

    @property
    def cost(self) -> Cost:
        """The maximum of the costs of the parts."""
        total = Cost()
        for cost in self.costs:
            total = total.maximum(cost)
        return total

    def walk(self) -> Iterator[tuple[int, Entry]]:
        """Yield all entries of all parts with their depth."""
        for part in self.parts:
            for node in part:
                for depth, entry in node.walk():
                    yield depth + 1, entry


def sequential_cost(nodes: Iterable[Entry | Parallel]) -> Cost:
    """Return the cost of entries and groups in sequence."""
    return sum((node.cost for node in nodes), start=Cost())


class DisjointParts(Protocol):
    """A division of units into parts that guarantees that the parts are disjoint."""

    @property
    def parts(self) -> int:
        """Number of parts."""

    @property
    def stable_under(self) -> Collection[str]:
        """Events of one unit that move no unit to another part: any of "removal", "replacement", "emptying"."""

    def assert_disjoint(self) -> str:
        """Raise if a unit can be in two parts; otherwise return the reason why none can, in words."""
