"""The Dask engine: queries are sent to the workers that hold the data, and integer states are sent back."""

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
from eigenveil.engines.plans import SamplingPlan
from eigenveil.engines.query import Query, fold
from eigenveil.operators import Operator
from eigenveil.sources import Partition
from eigenveil.sources.clusters.dask_collections import DaskPeople, DaskSource, computed
from eigenveil.sources.wrapped import opener_and_piece

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")

_MOST_PER_TASK = 8
"""Maximum number of partitions that a task reads, of states that it merges, and of states sent to the caller."""

_SENT_WITH_EACH_TASK = 1 << 20
"""A pickled query of at most this many bytes is sent with each of a few tasks, which saves a round trip."""

_ANY_WORKER = "any worker"

_SHARE = 4
"""An array is kept in the cluster's memory if it needs at most one in this many parts of that memory."""

_RETRIES = 3
"""Number of retries of a task that fails. A task whose worker has died is restarted in any case."""


@dataclass(frozen=True)
class DaskEngine(SumsOnly):
    """Runs queries on the workers of a Dask cluster (extra `eigenveil[dask]`).

    A query and a plan are sent once. Each partition returns one state of integers and counts, and states are
    merged in a tree, so no row leaves its worker. Integers add without error, so the answer is that of
    `LocalEngine` for any number of workers and any partitioning. States lost with a worker are computed again,
    which is safe because a state is a function of the partition and of public numbers. The caller draws noise
    once, after the answer has arrived and after it was charged.

    Parameters
    ----------
    client : distributed.Client, optional
        Client of the cluster to use. By default the current client or, if there is none, the threads of this
        process.

    Notes
    -----
    *Formal guarantees.* An engine only adds. `Query` states what a unit contributes, and the mechanisms state what
    is released. Keys of tasks are random, so no answer of another fit is reused. Workers, and anyone who sees
    their traffic, have access to raw data: the cluster must be trusted like the machine that stores the files.
    """

    client: Any = None

    def keeping(self, operator: Operator) -> Operator:
        """Return the operator of the same units, with data kept by the cluster.

        The cluster groups rows by person and keeps the groups. It keeps the pieces of an array if they fit well in
        its memory.
        """
        from eigenveil._extras import dask, distributed  # noqa: F401, PLC0415  # if missing, raise before any charge

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

    def reduce(
        self, partitions: Sequence[Partition], plan: SamplingPlan, query: Query[StateT, ResultT]
    ) -> ResultT:
        """Return the answer of a query over all units that the plan includes."""
        from dask.delayed import delayed  # noqa: PLC0415  # an extra, and heavy

        found = [opener_and_piece(partition) for partition in partitions]
        pieces = [piece for _, piece in found]
        run = uuid.uuid4().hex
        name = (f"eigenveil-{run}-{number}" for number in itertools.count())
        public = pickle.dumps((query, plan, [opener for opener, _ in found]))
        groups = list(_groups(pieces, self._client()))
        small = len(groups) <= _MOST_PER_TASK and len(public) <= _SENT_WITH_EACH_TASK
        asked = public if small else delayed(_asked, pure=False)(public, dask_key_name=next(name))
        answered, merged = delayed(_answered, pure=False), delayed(_merged, pure=False)
        states = [
            answered(asked, group, [pieces[number] for number in group], dask_key_name=next(name))
            for group in groups
        ]
        while len(states) > _MOST_PER_TASK:
            states = [
                merged(asked, states[start : start + _MOST_PER_TASK], dask_key_name=next(name))
                for start in range(0, len(states), _MOST_PER_TASK)
            ]
        return query.finish(reduce(query.merge, self._computed(states), query.zero()))

    def _computed(self, states: list[Any]) -> list[Any]:
        """Return the last states, of which there are a few."""
        import dask  # noqa: PLC0415  # an extra, and heavy

        client = self._client()
        if client is None:
            return list(computed(lambda: dask.compute(*states, scheduler="threads")))
        futures = client.compute(states, retries=_RETRIES, optimize_graph=False)
        try:
            return list(computed(lambda: client.gather(futures)))
        finally:
            client.cancel(futures)

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


def _asked(public: Any) -> Any:
    """Return query, plan and openers; unpickled, if they came with the task."""
    return pickle.loads(public) if isinstance(public, bytes) else public  # noqa: S301  # pickled by this process


def _answered(asked: Any, numbers: list[int], pieces: list[Any]) -> Any:
    """Return the merged state of some partitions; runs on the worker that holds them."""
    query, plan, openers = _asked(asked)
    partitions = (
        (number, piece if openers[number] is None else openers[number](piece))
        for number, piece in zip(numbers, pieces, strict=True)
    )
    with single_threaded_blas():
        return fold(query, plan, partitions)


def _merged(asked: Any, states: list[Any]) -> Any:
    """Merge states into a new one; the inputs stay unchanged, because this task may run again."""
    query, *_ = _asked(asked)
    return reduce(query.merge, states, query.zero())


# -- which partitions one task reads ----------------------------------------------------------------


def _groups(pieces: Sequence[Any], client: Any) -> Iterator[list[int]]:
    """Yield the numbers of the pieces that one task reads; larger groups mean fewer tasks.

    Pieces that a worker keeps are grouped with others of that worker. Files are read by any worker. A piece that
    Dask has yet to compute gets a task of its own, because all pieces of a task are in memory at the same time.
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
        holder = next(iter(holders.get(piece.key, ())), None) if hasattr(piece, "__dask_graph__") else _ANY_WORKER
        if holder is None:
            yield [number]
        else:
            together[holder].append(number)
    for holder, numbers in together.items():
        yield from _evenly(numbers, threads.get(holder, anywhere))


def _evenly(numbers: list[int], threads: int) -> Iterator[list[int]]:
    """Return the numbers in groups of about the same size, with the same number of groups for each thread."""
    threads = max(1, threads)  # a cluster may have no worker yet
    groups = threads * math.ceil(len(numbers) / (_MOST_PER_TASK * threads))
    return (numbers[group::groups] for group in range(groups) if group < len(numbers))
