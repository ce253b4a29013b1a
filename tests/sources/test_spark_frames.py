"""Processing of record batches on Spark's executors; tests/engines/test_spark.py runs it on Spark."""

import numpy as np
import pyarrow as pa
import pytest

from eigenveil.sources.clusters import spark_frames
from eigenveil.sources.people.buckets import BUCKET


def cut(batches, monkeypatch, size):
    monkeypatch.setattr(spark_frames, "BLOCK_BYTES", size)
    return list(spark_frames._tables(iter(batches)))


def batches_of(table, heights):
    starts = np.cumsum([0, *heights])
    return [
        (
            table.slice(start, height).combine_chunks().to_batches()
            or [pa.RecordBatch.from_pylist([], table.schema)]
        )[0]
        for start, height in zip(starts, heights, strict=False)
    ]


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_rows_keep_their_order_in_tables_that_are_large_enough(size, monkeypatch):
    table = pa.table({"x": np.arange(100.0)})
    tables = cut(batches_of(table, [10, 0, 1, 49, 40, 0]), monkeypatch, size)
    assert pa.concat_tables(tables).combine_chunks() == table
    assert all(one.nbytes >= size for one in tables[:-1])


@pytest.mark.parametrize("heights", [[100], [1] * 100, [0, 33, 0, 33, 34], [50, 50]])
@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_no_bucket_is_split(size, heights, monkeypatch):
    buckets = np.sort(np.random.default_rng(1).integers(0, 12, 100))
    table = pa.table({"x": np.arange(100.0), BUCKET: buckets})
    tables = cut(batches_of(table, heights), monkeypatch, size)
    assert pa.concat_tables(tables).combine_chunks() == table
    found = np.concatenate([np.unique(one.column(BUCKET)) for one in tables])
    assert len(np.unique(found)) == len(found)


def test_no_batches_give_no_table(monkeypatch):
    assert cut([], monkeypatch, 1) == []
    assert sum(one.num_rows for one in cut(batches_of(pa.table({"x": [1.0]}), [0]), monkeypatch, 1)) == 0


class Conf(dict):
    def set(self, name, value):
        self[name] = value


class Session:
    def __init__(self):
        self.conf = Conf({spark_frames._AT_A_TIME: "77"})


def test_the_setting_of_a_session_is_restored_when_the_last_context_ends():
    session = Session()
    one, other = spark_frames.SingleRecordBatches(session), spark_frames.SingleRecordBatches(session)
    one.__enter__()
    other.__enter__()
    one.__exit__()
    assert session.conf[spark_frames._AT_A_TIME] == "1"
    other.__exit__()
    assert session.conf[spark_frames._AT_A_TIME] == "77"
    with pytest.raises(ZeroDivisionError), spark_frames.SingleRecordBatches(session):
        raise ZeroDivisionError
    assert session.conf[spark_frames._AT_A_TIME] == "77"
    assert not spark_frames.SingleRecordBatches._open
