"""Who goes over the data: an engine brings a query to all partitions, and its states back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from eigenveil.engines.plans import Plan
from eigenveil.engines.query import Chunk, Query
from eigenveil.errors import InvalidInputError
from eigenveil.sources import Partition

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")
OutT = TypeVar("OutT")


class Engine(Protocol):
    """Threads, processes or machines. Partitions, plans, queries and states can all be pickled.

    A worker runs `eigenveil.engines.query.fold` on a partition and its number; states are merged in any order.
    """

    def reduce(self, partitions: Sequence[Partition], plan: Plan, query: Query[StateT, ResultT]) -> ResultT:
        """The answer of a query over all units that the plan lets in."""

    def map(
        self, partitions: Sequence[Partition], plan: Plan, transform: Callable[[Chunk], OutT]
    ) -> Iterator[OutT]:
        """What `transform` makes of each chunk, in the order of the data: for what needs units one by one."""


class SumsOnly:
    """What engines on clusters share: units never come to the caller."""

    def map(
        self,
        partitions: Sequence[Partition],  # noqa: ARG002
        plan: Plan,  # noqa: ARG002
        transform: Callable[[Chunk], OutT],  # noqa: ARG002
    ) -> Iterator[OutT]:
        """Refused: it would bring units, one by one, to the caller."""
        raise InvalidInputError(
            "this algorithm looks at units one after the other, which a cluster would have to send to the caller.",
            hint="Use another algorithm (the default needs sums only), or LocalEngine(), on one machine.",
        )
