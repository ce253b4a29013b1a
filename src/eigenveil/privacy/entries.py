"""What a ledger is made of: entries, groups of parallel parts, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, get_args

from eigenveil.errors import InvalidInputError

Kind = Literal["gaussian", "approximate", "declared"]


class Purpose(StrEnum):
    """What an entry is for: one word for reports, progress and warnings, where `Entry.what` is for people."""

    COUNT = "count"
    """The number of units."""

    COLUMNS = "columns"
    """How columns of a table are read."""

    MEAN = "mean"
    """The mean of the rows."""

    SCALE = "scale"
    """The scales of columns."""

    BOUND = "bound"
    """How long units are, so that they can be clipped."""

    COMPONENTS = "components"
    """Searches and sums that directions are made of."""

    VARIANCES = "variances"
    """Variances along directions that are already released."""

    SCORES = "scores"
    """Histograms of scores."""

    TEST = "test"
    """A test that must pass before something is released."""

    MODEL = "model"
    """A model that is public here, and was paid for elsewhere."""

    BATCHES = "batches"
    """Finished batches of a stream, folded into one line."""

    OTHER = "other"
    """Anything else."""

    @classmethod
    def _missing_(cls, value: object) -> Purpose:
        names = ", ".join(repr(purpose.value) for purpose in cls)
        raise InvalidInputError(f"the purpose of an entry is one of {names}, got {value!r}.")


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
    purpose : Purpose
        What it is for.
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
        object.__setattr__(self, "purpose", Purpose(self.purpose))  # a word, where it was read from a file
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
    finished: int | None = None
    """In a group without end: how many finished parts the first one stands for; the second is the open one."""

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


def folded(group: Parallel, name: str) -> list[Entry | Parallel]:
    """One line (a second one if anything was not Gaussian) for all finished parts of a group without end.

    It states the cost of the dearest part, which is what parallel parts cost, so nothing is lost by it; its noise
    is that of the part with the least noise, for a sensitivity of 1; its draws are those of all parts.
    """
    before, last = group.parts
    what = f"{group.finished} finished {name}"
    draws = [entry.draws for part in group.parts for node in part for _, entry in node.walk()]
    all_draws = None if None in draws else sum(draw for draw in draws if draw is not None)
    lines: list[Entry | Parallel] = []
    # maxima of what stands there already, never recomputed from it: else last bits would add up over the parts
    stood = [node for node in before if isinstance(node, Entry) and node.kind == "gaussian"]
    costs = [entry.mu for entry in stood] + [_root_up(cost.mu_squared) for cost in group.costs[1:]]
    scales = [entry.scale for entry in stood if entry.scale] + [1 / loss for loss in (_loss(last),) if loss]
    if scales:
        note = f"at most mu = {max(costs):.4g} each; noise for a sensitivity of 1"
        gaussian = Entry(
            what=what,
            kind="gaussian",
            mu=max(costs),
            sensitivity=1.0,
            scale=min(scales),
            releases=1,
            draws=all_draws,
            note=note,
            purpose=Purpose.BATCHES,
        )
        lines.append(gaussian)
    if group.cost.epsilon or group.cost.delta:
        epsilon, delta = group.cost.epsilon, group.cost.delta
        drawn = 0 if lines else all_draws
        rest = Entry(
            what=what,
            kind="approximate",
            epsilon=epsilon,
            delta=delta,
            draws=drawn,
            note="at most, each",
            purpose=Purpose.BATCHES,
        )
        lines.append(rest)
    return lines


def _root_up(square: float) -> float:
    return math.nextafter(math.sqrt(square), math.inf) if square else 0.0


def _loss(nodes: Sequence[Entry | Parallel]) -> float:
    """The mu of the Gaussian entries that one unit meets, from sensitivities and noise as drawn."""
    total = 0.0
    for node in nodes:
        if isinstance(node, Parallel):
            total += max((_loss(part) ** 2 for part in node.parts), default=0.0)
        elif node.kind == "gaussian" and node.sensitivity and node.scale:
            total += node.releases * (node.sensitivity / node.scale) ** 2
    return math.sqrt(total)


class Partition(Protocol):
    """What divides units into parts and vouches that they are disjoint."""

    @property
    def parts(self) -> int:
        """How many parts there are."""

    @property
    def stable_under(self) -> Collection[str]:
        """Events among {"removal", "replacement", "emptying"} of one unit that move no unit to another part."""

    def assert_disjoint(self) -> str:
        """Raise unless no unit can be in two parts; return how that is known, in words."""
