"""The local engine: threads over chunks, sums that add up exactly."""

from __future__ import annotations

import functools
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from eigenveil._checks import whole
from eigenveil.engines.plans import Plan
from eigenveil.engines.query import Chunk, Query, chunks
from eigenveil.operators import Operator, PeopleOperator, RowsOperator
from eigenveil.sources import Partition
from eigenveil.sources.files.row_cache import kept

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")
OutT = TypeVar("OutT")


@dataclass(frozen=True)
class LocalEngine:
    """Brings queries to chunks on the threads of this machine.

    The caller's thread reads the next chunk while others do the sums. Each has a state of its own; states are
    merged at the end. Integers add without error, so the answer is the same for any number of threads and any
    chunking.

    Parameters
    ----------
    threads : int
        How many do the sums: as many as there are cores by default.
    memory : int, optional
        Bytes of rows from files that a fit may keep in memory, so that they are not decoded in every pass. A
        quarter of what is available by default; 0 keeps none. People in files are sorted within the same number,
        but never in less than the sort needs: 256 MB, or 2.5 MB per column where that is more. Rows of text files
        that do not fit are written to a temporary file as numbers (`TMPDIR` says where), and read from there.
    """

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None:
            whole("memory", self.memory, least=0)

    def keeping(self, operator: Operator) -> Operator:
        """The operator of the same units, with rows of files kept between passes; once is enough."""
        if not isinstance(operator, RowsOperator | PeopleOperator):
            return operator
        return replace(operator, source=kept(operator.source, self.memory))

    def reduce(self, partitions: Sequence[Partition], plan: Plan, query: Query[StateT, ResultT]) -> ResultT:
        """The answer of a query over all units that the plan lets in."""
        every = _in_order(partitions, plan)
        first = list(itertools.islice(every, 2))
        every = itertools.chain(first, every)
        if len(first) > 1:  # for a single chunk, starting threads would take longer
            return query.finish(self._threaded(every, query))
        return query.finish(functools.reduce(query.add, every, query.zero()))

    def map(
        self, partitions: Sequence[Partition], plan: Plan, transform: Callable[[Chunk], OutT]
    ) -> Iterator[OutT]:
        """What `transform` makes of each chunk, in the order of the data."""
        return map(transform, _in_order(partitions, plan))

    def _threaded(self, every: Iterator[Chunk], query: Query[StateT, ResultT]) -> StateT:
        """The merged state; at most two chunks per thread are in memory at a time."""
        free: SimpleQueue[StateT] = SimpleQueue()

        def one(chunk: Chunk) -> None:
            state = free.get()
            try:
                state = query.add(state, chunk)
            finally:
                free.put(state)  # others wait for it, also where this one fails

        waiting: deque[Future[None]] = deque()
        with single_threaded_blas(), ThreadPoolExecutor(self.threads) as pool:
            for number, chunk in enumerate(every):
                if number < self.threads:  # as many states as chunks can be worked on at the same time
                    free.put(query.zero())
                waiting.append(pool.submit(one, chunk))
                if len(waiting) > 2 * self.threads:
                    waiting.popleft().result()
            for future in waiting:
                future.result()
        states = [free.get() for _ in range(free.qsize())]
        return functools.reduce(query.merge, states)


def _in_order(partitions: Sequence[Partition], plan: Plan) -> Iterator[Chunk]:
    """The chunks of one partition after the other."""
    for number, partition in enumerate(partitions):
        yield from chunks(plan, partition, number)


def single_threaded_blas() -> AbstractContextManager[object]:
    """While this is open BLAS keeps to one thread: ours are as many as there are cores."""
    limited: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _blas() -> ThreadpoolController:
    """Made once, as it looks through all loaded libraries."""
    return ThreadpoolController()
