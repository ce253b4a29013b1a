"""The Dask engine: queries go to where the data are, and integer states come back."""

from __future__ import annotations

import itertools
import math
import pickle
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from eigenveil.engines.engine import SumsOnly
from eigenveil.engines.local import single_threaded_blas
from eigenveil.engines.plans import Plan
from eigenveil.engines.query import Query, fold
from eigenveil.operators import Operator
from eigenveil.sources import Partition
from eigenveil.sources.clusters.dask_collections import DaskPeople, DaskSource, computed
from eigenveil.sources.wrapped import opener_and_piece

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")

_TOGETHER = 8
"""At most so many partitions are gone over, or so many states are merged, in one task."""

_ANYONE = "any worker"

_SHARE = 4
"""An array is kept by the cluster if it takes at most one part in so many of its memory."""

_RETRIES = 3
"""A task is tried so many times more where it fails; one whose worker has died is started again in any case."""


@dataclass(frozen=True)
class DaskEngine(SumsOnly):
    """Brings queries to partitions on the workers of a Dask cluster (extra `eigenveil[dask]`).

    A query and a plan go out once. Every partition answers with one state of integers and counts, and states are
    merged in a tree, so that no row leaves its worker. Integers add without error, so the answer is that of
    `LocalEngine` for any number of workers and any partitioning. What was lost with a worker is computed again: a
    state is a function of the partition and of public numbers. Noise is drawn by the caller, once, after the
    answer has come and after it was charged.

    Parameters
    ----------
    client : distributed.Client, optional
        Whose cluster computes: the current client by default; where there is none, the threads of this process.

    Notes
    -----
    *Formal guarantees.* An engine adds; see `Query` for what a unit adds, and mechanisms for what is released.
    Keys of tasks are random, so no answer of another fit is reused. Workers, and whoever sees their traffic, hold
    raw data: the cluster is trusted as the machine is that holds the files.
    """

    client: Any = None

    def keeping(self, operator: Operator) -> Operator:
        """The operator of the same units, as the cluster has them.

        It brings people together, and keeps them. It keeps an array's pieces if they fit well in its memory.
        """
        client = self._client()
        source = getattr(operator, "source", None)
        if isinstance(source, DaskPeople):
            return replace(operator, source=source.gathered(client))  # type: ignore[type-var]  # has a source
        if client is None or not isinstance(source, DaskSource):
            return operator
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if _SHARE * source.nbytes > sum(worker["memory_limit"] or math.inf for worker in workers):
            return operator
        pieces = tuple(client.persist(list(source.pieces)))
        return replace(operator, source=replace(source, pieces=pieces))  # type: ignore[type-var]  # has a source

    def reduce(self, partitions: Sequence[Partition], plan: Plan, query: Query[StateT, ResultT]) -> ResultT:
        """The answer of a query over all units that the plan lets in."""
        from dask.delayed import delayed  # noqa: PLC0415  # an extra, and heavy

        found = [opener_and_piece(partition) for partition in partitions]
        pieces = [piece for _, piece in found]
        run = uuid.uuid4().hex
        name = (f"eigenveil-{run}-{number}" for number in itertools.count())
        public = pickle.dumps((query, plan, [opener for opener, _ in found]))
        asked = delayed(_asked, pure=False)(public, dask_key_name=next(name))
        answered, merged = delayed(_answered, pure=False), delayed(_merged, pure=False)
        states = [
            answered(asked, group, [pieces[number] for number in group], dask_key_name=next(name))
            for group in _groups(pieces, self._client())
        ]
        while len(states) > 1:
            states = [
                merged(asked, states[start : start + _TOGETHER], dask_key_name=next(name))
                for start in range(0, len(states), _TOGETHER)
            ]
        return query.finish(self._computed(states[0]) if states else query.zero())

    def _computed(self, state: Any) -> Any:
        client = self._client()
        if client is None:
            return computed(lambda: state.compute(scheduler="threads"))
        future = client.compute(state, retries=_RETRIES, optimize_graph=False)
        try:
            return computed(future.result)
        finally:
            future.cancel()

    def _client(self) -> Any:
        return _current_client() if self.client is None else self.client


def _current_client() -> Any:
    try:
        from distributed import default_client  # noqa: PLC0415
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def _asked(pickled: bytes) -> Any:
    return pickle.loads(pickled)  # noqa: S301  # our own


def _answered(asked: Any, numbers: list[int], pieces: list[Any]) -> Any:
    """The merged state of some partitions, where they are."""
    query, plan, openers = asked
    whole = query.zero()
    with single_threaded_blas():
        for number, piece in zip(numbers, pieces, strict=True):
            partition = piece if openers[number] is None else openers[number](piece)
            whole = query.merge(whole, fold(query, plan, partition, number))
    return whole


def _merged(asked: Any, states: list[Any]) -> Any:
    """States are copied first: those of others must stay as they are, should this task be run again."""
    query, *_ = asked
    return reduce(query.merge, states, query.zero())


# -- which partitions one task goes over ------------------------------------------------------------


def _groups(pieces: Sequence[Any], client: Any) -> Iterator[list[int]]:
    """The numbers of pieces that one task goes over, which saves the cluster tasks.

    Pieces that a worker keeps go with others of that worker; files are read by any. What Dask has yet to compute
    goes alone, as it would all be in memory at the same time.
    """
    from distributed import futures_of  # noqa: PLC0415  # an extra, and heavy

    if client is None:
        yield from ([number] for number in range(len(pieces)))
        return
    kept = {piece.key: futures_of(piece) for piece in pieces if hasattr(piece, "__dask_graph__")}
    holders = client.who_has([future for futures in kept.values() for future in futures])
    threads = client.nthreads()
    anywhere = sum(threads.values())
    together: dict[Any, list[int]] = defaultdict(list)
    for number, piece in enumerate(pieces):
        holder = next(iter(holders.get(piece.key, ())), None) if hasattr(piece, "__dask_graph__") else _ANYONE
        if holder is None:
            yield [number]
        else:
            together[holder].append(number)
    for holder, numbers in together.items():
        yield from _evenly(numbers, threads.get(holder, anywhere))


def _evenly(numbers: list[int], threads: int) -> Iterator[list[int]]:
    """The numbers in groups of about the same size, as many for each thread."""
    threads = max(1, threads)  # a cluster may have no worker yet
    groups = threads * math.ceil(len(numbers) / (_TOGETHER * threads))
    return (numbers[group::groups] for group in range(groups) if group < len(numbers))
