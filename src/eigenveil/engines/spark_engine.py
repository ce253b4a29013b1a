"""The Spark engine: queries go to the executors that keep the rows, and integer states come back."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from eigenveil.engines.engine import SumsOnly
from eigenveil.engines.local import single_threaded_blas
from eigenveil.engines.plans import Plan
from eigenveil.engines.query import Query, fold
from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.sources import Partition
from eigenveil.sources.clusters.spark_frames import SingleRecordBatches, SparkRows, common_rows, on_spark
from eigenveil.sources.wrapped import opener_and_piece

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")

_MERGED = 8
"""So many states are merged in one task, and at most so many come to the driver."""

_ANSWER = "answer"


@dataclass(frozen=True)
class SparkEngine(SumsOnly):
    """Brings queries to the partitions of a Spark data frame, where they are (extra `eigenveil[spark]`).

    A query and a plan go out once, through `DataFrame.mapInArrow`. Every partition answers with one state of
    integers and counts; states are merged, some at a time, by further tasks, so that the driver gets a few of them
    whatever the number of partitions. It does without `rdd`, which Spark Connect does not have. Integers add
    without error, so the answer is that of `LocalEngine` for any partitioning. A task that fails is tried again by
    Spark: a state is a function of the partition and of public numbers. That every partition has answered, and
    once, is checked. Noise is drawn by the caller, once, after the answer has come and after it was charged.

    Notes
    -----
    *Formal guarantees.* An engine adds; see `Query` for what a unit adds, and mechanisms for what is released. The
    rows of a fit are computed once and kept (`eigenveil.sources.clusters.spark_frames`), so a unit has the same
    coin in every pass. An executor that is lost takes its rows with it, which ends the fit with an error. What was
    charged by then stays charged. Executors, the driver, and whoever sees their traffic or disks, hold raw data:
    the cluster is trusted as the machine is that holds the files. A Python worker has one block of a partition in
    memory at a time, and one person's rows at the least.
    """

    def reduce(self, partitions: Sequence[Partition], plan: Plan, query: Query[StateT, ResultT]) -> ResultT:
        """The answer of a query over all units that the plan lets in."""
        if not partitions:
            return query.finish(query.zero())
        found = [opener_and_piece(partition) for partition in partitions]
        rows = common_rows([piece for _, piece in found])
        asked = pickle.dumps((query, plan, [opener for opener, _ in found]))
        return query.finish(_collected(rows, query, self._answers(rows, asked)))

    def _answers(self, rows: SparkRows, asked: bytes) -> list[bytes]:
        """What comes back to the driver: pickled answers, each of one or more partitions."""

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
    """A state, and the numbers of the partitions it is of; or what one of them was refused for."""

    numbers: list[int]
    state: Any = None
    refusal: EigenveilError | None = None


def _answered(asked: bytes, batches: Iterator[pa.RecordBatch]) -> _Answer:
    """The answer of one partition, where it is."""
    from pyspark import TaskContext  # noqa: PLC0415

    query, plan, openers = pickle.loads(asked)  # noqa: S301  # our own
    first = next((batch for batch in batches if batch.num_rows), None)
    context = TaskContext.get()
    if first is None or context is None:
        return _Answer([])
    number = context.partitionId()
    try:
        with single_threaded_blas():
            return _Answer([number], fold(query, plan, openers[number](itertools.chain([first], batches)), number))
    except EigenveilError as refusal:
        return _Answer([number], refusal=refusal)


def _merged(asked: bytes, batches: Iterator[pa.RecordBatch]) -> _Answer:
    query, *_ = pickle.loads(asked)  # noqa: S301  # our own
    return _joined(query, (sent for batch in batches for sent in batch.column(0).to_pylist()))


def _joined(query: Query[Any, Any], answers: Any) -> _Answer:
    """All answers as one."""
    whole = _Answer([], query.zero())
    for sent in answers:
        answer: _Answer = pickle.loads(sent)  # noqa: S301  # our own
        whole.numbers += answer.numbers
        whole.refusal = whole.refusal or answer.refusal
        if answer.state is not None:
            whole.state = query.merge(whole.state, answer.state)
    return whole


def _sent(answer: _Answer) -> pa.RecordBatch:
    return pa.record_batch({_ANSWER: pa.array([pickle.dumps(answer)], pa.binary())})


def _collected(rows: SparkRows, query: Query[Any, Any], answers: list[bytes]) -> Any:
    """The state of all partitions, each of which must have answered once."""
    whole = _joined(query, answers)
    if whole.refusal is not None:
        raise whole.refusal
    if sorted(whole.numbers) != sorted(rows.found):
        raise InvalidInputError(
            "Spark has not asked every partition once.",
            hint="This is a fault of the cluster, not of the data; nothing was released.",
        )
    return whole.state
