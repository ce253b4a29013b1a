"""Sampling plans: which units a round includes (all, a disjoint part, a Poisson sample, or a batch of a stream).

A unit's coin is a function of a secret key, the round, the number of the unit's partition, and the unit's place
(its position) in the partition. So a re-read draws the same coins, in any process, whatever other partitions
contain. No two units share a partition and a place, so in every round each unit has its own coin. To anyone
without the key, coins are computationally indistinguishable from independent uniform bits. Therefore parts are
stable under both a removal and a replacement. If a unit is removed, the others still have their own coins, which
are again independent and uniform, whatever places and partitions they moved to (even if a file vanishes with its
last unit, or the same data are partitioned differently). If a unit is replaced, no other unit moves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from eigenveil._checks import whole
from eigenveil._typing import BoolArray
from eigenveil.errors import InvalidInputError

_BLOCK = 4096


class SamplingPlan(Protocol):
    """Decides which units a round includes."""

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Return which units at places start to start + units of a partition are excluded; None if none is."""

    def split(self, parts: int, key: bytes) -> Split:
        """Split the included units into disjoint parts; `key` is the secret key of the coins, if coins decide."""


class Split(Protocol):
    """Disjoint parts: every unit is in at most one. A ledger accepts it as proof for parallel composition."""

    @property
    def parts(self) -> int:
        """How many parts there are."""

    @property
    def stable_under(self) -> tuple[str, ...]:
        """The events among {"removal", "replacement", "emptying"} of a unit that change no other unit's part."""

    def assert_disjoint(self) -> str:
        """Raise an error if a unit could be in two parts; return the reason why none can, in words."""

    def part(self, index: int) -> SamplingPlan:
        """Return the plan of one part."""


@dataclass(frozen=True)
class Coins:
    """Keyed pseudorandom coins: 64 bits for every (round, partition, place)."""

    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    def toss(self, round_: int, partition: int, start: int, units: int) -> npt.NDArray[np.uint64]:
        """Return the coins of a round for the units at places start to start + units of a partition."""
        first, last = start // _BLOCK, (start + units - 1) // _BLOCK
        blocks = [_coins(self.key, round_, partition, index) for index in range(first, last + 1)]
        coins = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.uint64)
        return coins[start - first * _BLOCK :][:units]


@lru_cache(
    maxsize=4
)  # a block of coins mostly belongs to the units of several blocks of data, one after the other
def _coins(key: bytes, round_: int, partition: int, index: int) -> npt.NDArray[np.uint64]:
    """Return one block of coins.

    Labels of the first partition contain two numbers and labels of other partitions three, so no two labels are
    equal.
    """
    other = b":%d" % partition if partition else b""
    stream = hashlib.shake_256(key + b"coins:%d:%d" % (round_, index) + other).digest(8 * _BLOCK)
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


@dataclass(frozen=True)
class FullPlan:
    """Includes all units in every round."""

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:  # noqa: ARG002
        """Exclude no unit."""
        return None

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Split by each unit's own coin."""
        return DisjointPlan(parts, Coins(key))


@dataclass(frozen=True)
class Part:
    """One part of a disjoint plan."""

    plan: DisjointPlan
    index: int

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Exclude units whose coin assigns them to another part."""
        others: BoolArray = self.plan.labels(partition, start, units) != self.index
        outside = self.plan.within.skip(partition, start, units)
        return others if outside is None else others | outside

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Split the part further, by new coins."""
        return DisjointPlan(parts, Coins(key), within=self)


@dataclass(frozen=True)
class DisjointPlan:
    """Assigns each unit to exactly one part, by the unit's own coin.

    Examples
    --------
    >>> plan = DisjointPlan(3)
    >>> int(sum((~plan.part(i).skip(0, 0, 1000)).sum() for i in range(3)))
    1000
    """

    parts: int
    coins: Coins = field(default_factory=Coins)
    within: SamplingPlan = field(default_factory=FullPlan)

    def __post_init__(self) -> None:
        whole("parts", self.parts, least=1)

    @property
    def stable_under(self) -> tuple[str, ...]:
        """All three events: none changes the distribution of the other units' coins (see the module docstring)."""
        return ("removal", "replacement", "emptying")

    def assert_disjoint(self) -> str:
        """Check on a sample that every coin names one part; a unit has one coin, so it is in one part."""
        labels = self.labels(0, 0, _BLOCK)
        if not (np.all(labels >= 0) and np.all(labels < self.parts)):
            raise AssertionError("a coin names no part")
        return f"each unit in one of {self.parts} parts by its own keyed coin"

    def labels(self, partition: int, start: int, units: int) -> npt.NDArray[np.int64]:
        """Return the part of each unit: the top 32 bits of its coin, times the number of parts, over 2^32."""
        top = self.coins.toss(0, partition, start, units) >> np.uint64(32)
        return ((top * np.uint64(self.parts)) >> np.uint64(32)).astype(np.int64)

    def part(self, index: int) -> Part:
        """Return the plan of one part."""
        if not 0 <= index < self.parts:
            raise InvalidInputError(f"expected a part from 0 to {self.parts - 1}, got {index!r}.")
        return Part(self, index)


@dataclass(frozen=True)
class RangePlan:
    """Includes units at places first to last (exclusive), in the order of the data: the paper's batches.

    Use it only if the number of units is public, because a removal would move all units that follow.
    `fixed_places` states that the data guarantee places that do not change when a unit is replaced. `starts` is
    the number of units before each partition.

    Examples
    --------
    >>> RangePlan(3, 6, starts=(0, 5)).skip(1, 0, 2).tolist()
    [False, True]
    """

    first: int
    last: int
    fixed_places: bool = False
    starts: tuple[int, ...] = field(default=(0,), repr=False)

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Exclude units at other places."""
        before = self.starts[partition] + start
        places = np.arange(before, before + units)
        outside: BoolArray = (places < self.first) | (places >= self.last)
        return outside

    def split(self, parts: int, key: bytes) -> RangeSplit:  # noqa: ARG002
        """Split into consecutive ranges of the same length; units left over at the end are in no part."""
        return RangeSplit(parts, self)


@dataclass(frozen=True)
class RangeSplit:
    """A range, split into parts of the same length.

    Examples
    --------
    >>> RangePlan(0, 10, fixed_places=True).split(3, b"").part(1)
    RangePlan(first=3, last=6, fixed_places=True)
    """

    parts: int
    whole: RangePlan

    def __post_init__(self) -> None:
        whole("parts", self.parts, least=1)

    @property
    def stable_under(self) -> tuple[str, ...]:
        """With fixed places, a replaced or emptied unit keeps its place; a removal moves all that follow."""
        return ("replacement", "emptying") if self.whole.fixed_places else ()

    def assert_disjoint(self) -> str:
        """Check that the ranges do not overlap."""
        ends = [(part.first, part.last) for part in map(self.part, range(self.parts))]
        if any(a[1] > b[0] for a, b in pairwise(ends)):
            raise AssertionError("ranges overlap")
        return f"{self.parts} ranges of places, one after the other"

    def part(self, index: int) -> RangePlan:
        """Return the range of one part."""
        length = (self.whole.last - self.whole.first) // self.parts
        first = self.whole.first + index * length
        return replace(self.whole, first=first, last=first + length)


@dataclass(frozen=True)
class PoissonPlan:
    """Includes each unit with probability `rate`, by a new coin per round; the sample is fixed within a round."""

    rate: float
    round: int = 0
    coins: Coins = field(default_factory=Coins)

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidInputError(f"rate must lie in (0, 1], got {self.rate!r}.")

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Exclude units whose coin is not below the rate."""
        limit = int(self.rate * 2.0**64)
        if limit >= 1 << 64:
            return None
        return self.coins.toss(self.round, partition, start, units) >= np.uint64(limit)

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Split the sample by each unit's own coin."""
        return DisjointPlan(parts, Coins(key), within=self)


@dataclass(frozen=True)
class EmptySlots:
    """Includes all units of one partition, such as a batch of a stream, except those in slots marked as empty."""

    empty: BoolArray = field(repr=False)

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Exclude empty slots."""
        assert partition == 0, "slots are places in one partition"
        return self.empty[start : start + units]

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Split by each unit's own coin."""
        return DisjointPlan(parts, Coins(key), within=self)


@dataclass
class StreamBatches:
    """Batches of an unbounded stream: each batch contains the slots that follow those of the previous batch.

    Parameters
    ----------
    one_slot : str
        The reason why a unit is in one slot only, in words.
    end : int
        The slots before this one are already in a batch.

    Examples
    --------
    >>> stream = StreamBatches("each row is a unit")
    >>> stream.claim(0, 100), stream.claim(100, 150)
    (None, None)
    """

    one_slot: str
    end: int = 0
    parts: int = 0
    """Unknown, because another batch may always follow."""

    @property
    def stable_under(self) -> tuple[str, ...]:
        """A replaced or emptied unit keeps its slot; a removal would move all that follow."""
        return ("replacement", "emptying")

    def assert_disjoint(self) -> str:
        """Return why batches are disjoint: each slot is in one batch (`claim` checks), each unit in one slot."""
        return f"batches of slots in the order of arrival; {self.one_slot}"

    def claim(self, first: int, last: int) -> None:
        """Make a batch of slots `first` to `last` (exclusive); raise an error if a slot is already in a batch."""
        if first < self.end or last <= first:
            raise AssertionError("batches overlap")
        self.end = last


def batches(blocks: Iterable[npt.NDArray[np.float64]], slots: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield batches of exactly `slots` rows from blocks of any length; an incomplete last batch is not yielded.

    An invalid row keeps its slot, so the assignment of units to batches does not depend on any unit's values.
    """
    whole("slots", slots, least=1)
    waiting: list[npt.NDArray[np.float64]] = []
    have = 0
    for arrivals in blocks:
        block = arrivals
        while have + len(block) >= slots:
            taken = slots - have
            yield np.concatenate([*waiting, block[:taken]])
            waiting, have, block = [], 0, block[taken:]
        if len(block):
            waiting.append(block)
            have += len(block)
