"""The Spark engine: queries are sent to the executors that hold the rows, and integer states are sent back."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from eigenveil.engines.engine import SumsOnly
from eigenveil.engines.local import single_threaded_blas
from eigenveil.engines.plans import SamplingPlan
from eigenveil.engines.query import Query, fold
from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.sources import Partition
from eigenveil.sources.clusters.spark_frames import SingleRecordBatches, SparkRows, common_rows, on_spark
from eigenveil.sources.wrapped import opener_and_piece

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")

_MERGED = 8
"""Number of states that one task merges, and maximum number of states that are sent to the driver."""

_ANSWER = "answer"


@dataclass(frozen=True)
class SparkEngine(SumsOnly):
    """Runs queries on the executors that hold the partitions of a Spark data frame (extra `eigenveil[spark]`).

    A query and a plan are sent once, through `DataFrame.mapInArrow`. Each partition returns one state of integers
    and counts. Further tasks merge states, several at a time, so the driver receives only a few, whatever the
    number of partitions. The engine does not use `rdd`, which Spark Connect does not have. Integers add without
    error, so the answer is that of `LocalEngine` for any partitioning. Spark retries a task that fails, which is
    safe because a state is a function of the partition and of public numbers. The engine checks that every
    partition has answered exactly once. The caller draws noise once, after the answer has arrived and after it was
    charged.

    Notes
    -----
    *Formal guarantees.* An engine only adds. `Query` states what a unit contributes, and the mechanisms state what
    is released. The rows of a fit are computed once and kept (`eigenveil.sources.clusters.spark_frames`), so a
    unit has the same coin in every pass. If an executor is lost, so are its rows, and the fit ends with an error;
    what was charged by then stays charged. Executors, the driver, and anyone who sees their traffic or disks, have
    access to raw data: the cluster must be trusted like the machine that stores the files. A Python worker has one
    block of a partition in memory at a time, and at least the rows of one person.
    """

    def reduce(
        self, partitions: Sequence[Partition], plan: SamplingPlan, query: Query[StateT, ResultT]
    ) -> ResultT:
        """Return the answer of a query over all units that the plan includes."""
        if not partitions:
            return query.finish(query.zero())
        found = [opener_and_piece(partition) for partition in partitions]
        rows = common_rows([piece for _, piece in found])
        asked = pickle.dumps((query, plan, [opener for opener, _ in found]))
        return query.finish(_collected(rows, query, self._answers(rows, asked)))

    def _answers(self, rows: SparkRows, asked: bytes) -> list[bytes]:
        """Return the pickled answers that the driver receives, each of one or more partitions."""

        def answered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield _sent(_answered(asked, batches))

        def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield _sent(_merged(asked, batches))

        schema = f"{_ANSWER} binary"
        answers = rows.frame.mapInArrow(answered, schema)
        count = len(rows.found)
        while count > _MERGED:
            count = -(-count // _MERGED)
            answers = answers.repartition(count).mapInArrow(merged, schema)
        with SingleRecordBatches(rows.frame.sparkSession):
            found: list[bytes] = on_spark(answers.toArrow).column(_ANSWER).to_pylist()
        return found


@dataclass
class _Answer:
    """A state and the numbers of its partitions, or the error of one of them."""

    numbers: list[int]
    state: Any = None
    refusal: EigenveilError | None = None


def _answered(asked: bytes, batches: Iterator[pa.RecordBatch]) -> _Answer:
    """Return the answer of one partition; runs on the executor that holds it."""
    from pyspark import TaskContext  # noqa: PLC0415

    query, plan, openers = pickle.loads(asked)  # noqa: S301  # pickled by this engine
    first = next((batch for batch in batches if batch.num_rows), None)
    context = TaskContext.get()
    if first is None or context is None:
        return _Answer([])
    number = context.partitionId()
    try:
        with single_threaded_blas():
            partition = openers[number](itertools.chain([first], batches))
            return _Answer([number], fold(query, plan, [(number, partition)]))
    except EigenveilError as refusal:
        return _Answer([number], refusal=refusal)


def _merged(asked: bytes, batches: Iterator[pa.RecordBatch]) -> _Answer:
    query, *_ = pickle.loads(asked)  # noqa: S301  # pickled by this engine
    return _joined(query, (sent for batch in batches for sent in batch.column(0).to_pylist()))


def _joined(query: Query[Any, Any], answers: Any) -> _Answer:
    """Merge all answers into one."""
    whole = _Answer([], query.zero())
    for sent in answers:
        answer: _Answer = pickle.loads(sent)  # noqa: S301  # pickled by this engine
        whole.numbers += answer.numbers
        whole.refusal = whole.refusal or answer.refusal
        if answer.state is not None:
            whole.state = query.merge(whole.state, answer.state)
    return whole


def _sent(answer: _Answer) -> pa.RecordBatch:
    return pa.record_batch({_ANSWER: pa.array([pickle.dumps(answer)], pa.binary())})


def _collected(rows: SparkRows, query: Query[Any, Any], answers: list[bytes]) -> Any:
    """Return the state of all partitions; raise an error unless each has answered exactly once."""
    whole = _joined(query, answers)
    if whole.refusal is not None:
        raise whole.refusal
    if sorted(whole.numbers) != sorted(rows.found):
        raise InvalidInputError(
            "expected exactly one answer from each Spark partition, got none or several from some.",
            hint="This is an error of the cluster, not of the data; nothing was released. Check the cluster.",
        )
    return whole.state
