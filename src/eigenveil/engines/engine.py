"""The engine protocol: an engine runs a query on all partitions and merges the states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from eigenveil.engines.plans import SamplingPlan
from eigenveil.engines.query import Chunk, Query
from eigenveil.errors import InvalidInputError
from eigenveil.sources import Partition

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")
OutT = TypeVar("OutT")


class Engine(Protocol):
    """Runs queries on threads, processes or machines. Partitions, plans, queries and states can all be pickled.

    A worker runs `eigenveil.engines.query.fold` on a partition and its number. States are merged in any order.
    """

    def reduce(
        self, partitions: Sequence[Partition], plan: SamplingPlan, query: Query[StateT, ResultT]
    ) -> ResultT:
        """Return the answer of a query over all units that the plan includes."""

    def map(
        self, partitions: Sequence[Partition], plan: SamplingPlan, transform: Callable[[Chunk], OutT]
    ) -> Iterator[OutT]:
        """Yield `transform(chunk)` for each chunk, in the order of the data.

        It is for algorithms that need single units.
        """


class SumsOnly:
    """Mixin for engines on clusters: they return sums, and never send units to the caller."""

    def map(
        self,
        partitions: Sequence[Partition],  # noqa: ARG002
        plan: SamplingPlan,  # noqa: ARG002
        transform: Callable[[Chunk], OutT],  # noqa: ARG002
    ) -> Iterator[OutT]:
        """Raise an error: it would send single units to the caller."""
        raise InvalidInputError(
            "this algorithm reads units one by one, and a cluster would have to send them to the caller.",
            hint="Use another algorithm (the default needs sums only), or LocalEngine() on one machine.",
        )
