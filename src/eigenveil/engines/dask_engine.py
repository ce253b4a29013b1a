"""The Dask engine: queries go to where the data are, and integer states come back."""

from __future__ import annotations

import itertools
import math
import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

from eigenveil.engines.engine import SumsOnly
from eigenveil.engines.local import single_threaded_blas
from eigenveil.engines.plans import Plan
from eigenveil.engines.query import Query, fold
from eigenveil.operators import Operator
from eigenveil.sources import Partition
from eigenveil.sources.dask_collections import DaskPeople, DaskSource, computed
from eigenveil.sources.wrapped import where

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")

_MERGED = 8
"""So many states are merged in one task."""

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

        run = uuid.uuid4().hex
        name = (f"eigenveil-{run}-{number}" for number in itertools.count())
        asked = delayed(_asked, pure=False)(pickle.dumps((query, plan)), dask_key_name=next(name))
        answered, merged = delayed(_answered, pure=False), delayed(_merged, pure=False)
        states = [
            answered(asked, *where(partition), number, dask_key_name=next(name))
            for number, partition in enumerate(partitions)
        ]
        while len(states) > 1:
            states = [
                merged(asked, states[start : start + _MERGED], dask_key_name=next(name))
                for start in range(0, len(states), _MERGED)
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


def _answered(asked: Any, opened: Any, piece: Any, number: int) -> Any:
    """The state of one partition, where it is."""
    query, plan = asked
    partition = piece if opened is None else opened(piece)
    with single_threaded_blas():
        return fold(query, plan, partition, number)


def _merged(asked: Any, states: list[Any]) -> Any:
    """States are copied first: those of others must stay as they are, should this task be run again."""
    query, _ = asked
    return reduce(query.merge, states, query.zero())
