"""Which units a round sees: all, a disjoint part, a Poisson sample, or the next batch of a stream.

A unit's coin is a function of a secret key, the round, the number of the unit's partition, and the unit's place
there, so that a re-read draws the same coins, in any process, whatever other partitions hold. No two units share
a partition and a place, so in every round each has a coin of its own. Coins are as good as independent and uniform
to anyone without the key. That makes parts survive both a removal and a replacement: removing a unit leaves the
others with coins of their own that are again independent and uniform, whatever places and partitions they moved to
(also where a file vanishes with its last unit, or the same data are cut otherwise), and replacing it moves nobody.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from eigenveil._checks import whole
from eigenveil._typing import BoolArray
from eigenveil.errors import InvalidInputError

_BLOCK = 4096


class Plan(Protocol):
    """Says which units are left out."""

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Which of the units at places start to start + units of a partition are left out; None for nobody."""

    def split(self, parts: int, key: bytes) -> Split:
        """Disjoint parts of the units this plan lets in; `key` is secret, for parts by coin."""


class Split(Protocol):
    """Parts of which every unit is in one at most; a ledger takes it as the reason for parallel composition."""

    @property
    def parts(self) -> int:
        """How many parts there are."""

    @property
    def stable_under(self) -> tuple[str, ...]:
        """Events among {"removal", "replacement", "emptying"} of a unit that move no other to another part."""

    def assert_disjoint(self) -> str:
        """Raise unless no unit can be in two parts; return how that is known, in words."""

    def part(self, index: int) -> Plan:
        """The plan of one part."""


@dataclass(frozen=True)
class Coins:
    """64 random bits for every (round, partition, place), from a key."""

    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    def toss(self, round_: int, partition: int, start: int, units: int) -> npt.NDArray[np.uint64]:
        """The coins of a round for the units at places start to start + units of a partition."""
        first, last = start // _BLOCK, (start + units - 1) // _BLOCK
        blocks = [self._block(round_, partition, index) for index in range(first, last + 1)]
        coins = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.uint64)
        return coins[start - first * _BLOCK :][:units]

    def _block(self, round_: int, partition: int, index: int) -> npt.NDArray[np.uint64]:
        """Labels of the first partition hold two numbers and those of others three, so no two are the same."""
        other = b":%d" % partition if partition else b""
        stream = hashlib.shake_256(self.key + b"coins:%d:%d" % (round_, index) + other).digest(8 * _BLOCK)
        return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


@dataclass(frozen=True)
class FullPlan:
    """Everybody, in every round."""

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:  # noqa: ARG002
        """Nobody is left out."""
        return None

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Parts by each unit's own coin."""
        return DisjointPlan(parts, Coins(key))


@dataclass(frozen=True)
class Part:
    """One part of a disjoint plan."""

    plan: DisjointPlan
    index: int

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """All whose coin names another part are left out."""
        others: BoolArray = self.plan.labels(partition, start, units) != self.index
        outside = self.plan.within.skip(partition, start, units)
        return others if outside is None else others | outside

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Parts of the part, by fresh coins."""
        return DisjointPlan(parts, Coins(key), within=self)


@dataclass(frozen=True)
class DisjointPlan:
    """Each unit in exactly one of some parts, by its own coin.

    Examples
    --------
    >>> plan = DisjointPlan(3)
    >>> int(sum((~plan.part(i).skip(0, 0, 1000)).sum() for i in range(3)))
    1000
    """

    parts: int
    coins: Coins = field(default_factory=Coins)
    within: Plan = field(default_factory=FullPlan)

    def __post_init__(self) -> None:
        whole("parts", self.parts, least=1)

    @property
    def stable_under(self) -> tuple[str, ...]:
        """None of these changes the coins of the other units (see above)."""
        return ("removal", "replacement", "emptying")

    def assert_disjoint(self) -> str:
        """A unit has one coin and a coin names one part: checked on a sample of coins."""
        labels = self.labels(0, 0, _BLOCK)
        if not (np.all(labels >= 0) and np.all(labels < self.parts)):
            raise AssertionError("a coin names no part")
        return f"each unit in one of {self.parts} parts by its own keyed coin"

    def labels(self, partition: int, start: int, units: int) -> npt.NDArray[np.int64]:
        """The part of each unit: the top 32 bits of its coin, times the number of parts, over 2^32."""
        top = self.coins.toss(0, partition, start, units) >> np.uint64(32)
        return ((top * np.uint64(self.parts)) >> np.uint64(32)).astype(np.int64)

    def part(self, index: int) -> Part:
        """The plan of one part."""
        if not 0 <= index < self.parts:
            raise InvalidInputError(f"there are parts 0 to {self.parts - 1}, got {index!r}.")
        return Part(self, index)


@dataclass(frozen=True)
class RangePlan:
    """Units at places first to last (not included), in the order of the data: the paper's batches.

    Only where the number of units is public: a removal would move everybody behind it. `fixed_places` says that
    the data vouch for places that stay when one unit becomes another. `starts` says how many units come before
    each partition.

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
        """All at other places are left out."""
        before = self.starts[partition] + start
        places = np.arange(before, before + units)
        outside: BoolArray = (places < self.first) | (places >= self.last)
        return outside

    def split(self, parts: int, key: bytes) -> RangeSplit:  # noqa: ARG002
        """Ranges of the same length, one after the other; a rest that does not fill a part is in none."""
        return RangeSplit(parts, self)


@dataclass(frozen=True)
class RangeSplit:
    """A range cut into parts of the same length.

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
        """Where places are fixed, a replaced or an emptied unit keeps its own; a removal moves all that follow."""
        return ("replacement", "emptying") if self.whole.fixed_places else ()

    def assert_disjoint(self) -> str:
        """The ranges do not overlap."""
        ends = [(part.first, part.last) for part in map(self.part, range(self.parts))]
        if any(a[1] > b[0] for a, b in pairwise(ends)):
            raise AssertionError("ranges overlap")
        return f"{self.parts} ranges of places, one after the other"

    def part(self, index: int) -> RangePlan:
        """The range of one part."""
        length = (self.whole.last - self.whole.first) // self.parts
        first = self.whole.first + index * length
        return replace(self.whole, first=first, last=first + length)


@dataclass(frozen=True)
class PoissonPlan:
    """Each unit with probability `rate`, by a fresh coin every round; the same sample for the whole round."""

    rate: float
    round: int = 0
    coins: Coins = field(default_factory=Coins)

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidInputError(f"rate must lie in (0, 1], got {self.rate!r}.")

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """All whose coin is not below the rate are left out."""
        limit = int(self.rate * 2.0**64)
        if limit >= 1 << 64:
            return None
        return self.coins.toss(self.round, partition, start, units) >= np.uint64(limit)

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Parts of the sample, by each unit's own coin."""
        return DisjointPlan(parts, Coins(key), within=self)


@dataclass(frozen=True)
class EmptySlots:
    """All units of one partition, such as a batch of a stream, but those in slots that count as empty."""

    empty: BoolArray = field(repr=False)

    def skip(self, partition: int, start: int, units: int) -> BoolArray | None:
        """Empty slots are left out."""
        assert partition == 0, "slots are places in one partition"
        return self.empty[start : start + units]

    def split(self, parts: int, key: bytes) -> DisjointPlan:
        """Parts by each unit's own coin."""
        return DisjointPlan(parts, Coins(key), within=self)


@dataclass
class StreamBatches:
    """Batches of a stream without end: each holds the slots that follow those of the batch before it.

    Parameters
    ----------
    one_slot : str
        Why a unit is in one slot only, in words.
    end : int
        The slots before this one are in a batch already.

    Examples
    --------
    >>> stream = StreamBatches("each row is a unit")
    >>> stream.claim(0, 100), stream.claim(100, 150)
    (None, None)
    """

    one_slot: str
    end: int = 0
    parts: int = 0
    """Unknown: there may always come another."""

    @property
    def stable_under(self) -> tuple[str, ...]:
        """A unit with other content, or none, keeps its slot; a removal would move all that follow."""
        return ("replacement", "emptying")

    def assert_disjoint(self) -> str:
        """Each slot is in one batch (`claim` checks it), and each unit in one slot."""
        return f"batches of slots in the order of arrival; {self.one_slot}"

    def claim(self, first: int, last: int) -> None:
        """Make a batch of slots `first` to `last` (not included); raises if one of them has been in one."""
        if first < self.end or last <= first:
            raise AssertionError("batches overlap")
        self.end = last


def batches(blocks: Iterable[npt.NDArray[np.float64]], slots: int) -> Iterator[npt.NDArray[np.float64]]:
    """Cut arrivals into batches of exactly `slots` rows, whatever blocks they come in; the open rest is kept back.

    A row that is bad keeps its slot, so that whose batch is whose depends on nobody's values.
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
