"""The local engine: threads process chunks, and integer sums add exactly."""

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
from eigenveil.engines.plans import SamplingPlan
from eigenveil.engines.query import Chunk, Query, chunks
from eigenveil.operators import Operator, PeopleOperator, RowsOperator
from eigenveil.sources import Partition
from eigenveil.sources.files.row_cache import kept

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")
OutT = TypeVar("OutT")


@dataclass(frozen=True)
class LocalEngine:
    """Runs queries on the threads of this machine.

    The caller's thread reads the next chunk while other threads sum. Each of them has its own state, and states
    are merged at the end. Integers add without error, so the answer is the same for any number of threads and any
    chunking.

    Parameters
    ----------
    threads : int
        Number of threads that sum. By default the number of cores.
    memory : int, optional
        Bytes of rows from files that a fit may keep in memory, so that they are not decoded in every pass. By
        default a quarter of the available memory; 0 keeps none. Sorting people in files uses at most the same
        number of bytes, but never less than the sort needs: 256 MB, or 2.5 MB per column if that is more. Rows of
        text files that do not fit are written to a temporary file as numbers (in the folder `TMPDIR`), and read
        from there.
    """

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None:
            whole("memory", self.memory, least=0)

    def keeping(self, operator: Operator) -> Operator:
        """Return the operator of the same units, with rows of files kept between passes. Call it once per fit."""
        if not isinstance(operator, RowsOperator | PeopleOperator):
            return operator
        return replace(operator, source=kept(operator.source, self.memory))

    def reduce(
        self, partitions: Sequence[Partition], plan: SamplingPlan, query: Query[StateT, ResultT]
    ) -> ResultT:
        """Return the answer of a query over all units that the plan includes."""
        every = _in_order(partitions, plan)
        first = list(itertools.islice(every, 2))
        every = itertools.chain(first, every)
        if len(first) > 1:  # for a single chunk, starting threads would take longer
            return query.finish(self._threaded(every, query))
        return query.finish(functools.reduce(query.add, every, query.zero()))

    def map(
        self, partitions: Sequence[Partition], plan: SamplingPlan, transform: Callable[[Chunk], OutT]
    ) -> Iterator[OutT]:
        """Yield `transform(chunk)` for each chunk, in the order of the data."""
        return map(transform, _in_order(partitions, plan))

    def _threaded(self, every: Iterator[Chunk], query: Query[StateT, ResultT]) -> StateT:
        """Return the merged state; at most two chunks per thread are in memory at a time."""
        free: SimpleQueue[StateT] = SimpleQueue()

        def one(chunk: Chunk) -> None:
            state = free.get()
            try:
                state = query.add(state, chunk)
            finally:
                free.put(state)  # other threads wait for it, even if this one fails

        waiting: deque[Future[None]] = deque()
        with single_threaded_blas(), ThreadPoolExecutor(self.threads) as pool:
            for number, chunk in enumerate(every):
                if number < self.threads:  # one state for each chunk in progress
                    free.put(query.zero())
                waiting.append(pool.submit(one, chunk))
                if len(waiting) > 2 * self.threads:
                    waiting.popleft().result()
            for future in waiting:
                future.result()
        states = [free.get() for _ in range(free.qsize())]
        return functools.reduce(query.merge, states)


def _in_order(partitions: Sequence[Partition], plan: SamplingPlan) -> Iterator[Chunk]:
    """Yield the chunks of all partitions, in order."""
    for number, partition in enumerate(partitions):
        yield from chunks(plan, partition, number)


def single_threaded_blas() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within a `with` block, because we start one thread per core ourselves."""
    limited: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _blas() -> ThreadpoolController:
    """Return the controller of BLAS threads; created once, because it inspects all loaded libraries."""
    return ThreadpoolController()
