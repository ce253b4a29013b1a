"""The local engine: threads over chunks, sums that add up exactly."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from threadpoolctl import ThreadpoolController

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.kernels import Surveyor


@dataclass(frozen=True)
class LocalEngine:
    """Runs surveyors over chunks on the threads of this machine.

    Each thread has a surveyor of its own; what they have summed is merged at the end. Integers add without error,
    so the answer is the same for any number of threads and any chunking. A distributed engine has this one
    method, with workers instead of threads.
    """

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)

    def run(
        self,
        chunks: Iterable[tuple[Any, BoolArray | None]],
        surveyor: Surveyor,
        measure: Callable[[FloatArray], IntArray],
    ) -> tuple[IntArray | int, list[IntArray]]:
        """Survey all chunks (each with its units to skip); returns the sum of `measure` over norms, and the sums.

        At most two chunks per thread are in memory at a time.
        """
        if self.threads == 1:
            counts: IntArray | int = 0
            for chunk, skip in chunks:
                counts = counts + measure(surveyor.add(chunk, skip))
            return counts, surveyor.sums()
        return self._run_threads(chunks, surveyor, measure)

    def _run_threads(
        self,
        chunks: Iterable[tuple[Any, BoolArray | None]],
        surveyor: Surveyor,
        measure: Callable[[FloatArray], IntArray],
    ) -> tuple[IntArray | int, list[IntArray]]:
        forks = [surveyor.fork() for _ in range(self.threads)]
        free: SimpleQueue[Surveyor] = SimpleQueue()
        for fork in forks:
            free.put(fork)

        def one(chunk: Any, skip: BoolArray | None) -> IntArray:
            mine = free.get()
            try:
                return measure(mine.add(chunk, skip))
            finally:
                free.put(mine)

        counts: IntArray | int = 0
        waiting: deque[Future[IntArray]] = deque()
        with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(self.threads) as pool:
            for chunk, skip in chunks:
                waiting.append(pool.submit(one, chunk, skip))
                if len(waiting) > 2 * self.threads:
                    counts = counts + waiting.popleft().result()
            for future in waiting:
                counts = counts + future.result()
        for fork in forks:
            surveyor.merge(fork)
        return counts, surveyor.sums()


@functools.cache
def _blas() -> ThreadpoolController:
    """Where BLAS is told to keep to one thread: ours are as many as there are cores."""
    return ThreadpoolController()
