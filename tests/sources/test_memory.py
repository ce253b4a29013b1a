"""Arrays, sparse matrices, frames, tables and blocks: conversion, refusals and their messages."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from eigenveil.errors import InvalidInputError
from eigenveil.sources import Block, open_source

CANARY = 7351.75


def message(data, **how):
    with pytest.raises(InvalidInputError) as refusal:
        list(open_source(data, **how).blocks())
    assert refusal.value.hint
    assert refusal.value.__context__ is None
    return str(refusal.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_are_not_copied(dtype):
    array = np.zeros((300_000, 10), dtype=dtype)
    blocks = list(open_source(array).blocks())
    assert len(blocks) > 1
    assert all(np.shares_memory(block.values, array) for block in blocks)
    assert max(block.values.nbytes for block in blocks) <= 8 << 20


def test_sparse_entries_are_not_copied_nor_sorted_in_place():
    matrix = sparse.csr_array(np.eye(4))
    (block,) = open_source(matrix).blocks()
    assert np.shares_memory(block.values.data, matrix.data)
    crossed = sparse.csr_array((np.array([1.0, 2, 3]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    (block,) = open_source(crossed).blocks()
    assert block.values.has_canonical_format
    assert block.values.toarray().tolist() == [[2, 4]]
    assert crossed.indices.tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float32])
def test_sparse_types(dtype):
    (block,) = open_source(sparse.csr_matrix(np.eye(3, dtype=dtype))).blocks()
    assert isinstance(block.values, sparse.csr_array)
    assert block.values.dtype == (np.float32 if dtype is np.float32 else np.float64)


def test_overflow_on_conversion_is_silent():
    huge = np.array([[np.finfo(np.longdouble).max]], dtype=np.longdouble)
    (block,) = open_source(huge).blocks()
    assert np.isinf(block.values).all()


def test_missing_values_become_nan():
    for data in (
        np.ma.array([[1, 2]], mask=[[True, False]]),
        pd.DataFrame({"a": pd.array([None], dtype="Int64"), "b": pd.array([2], dtype="Int32")}),
        pd.DataFrame({"a": pd.array([None], dtype="boolean"), "b": [2]}),
        pl.DataFrame({"a": [None], "b": [2]}, schema={"a": pl.Boolean, "b": pl.Int8}),
        pa.table({"a": pa.array([None], pa.decimal128(5, 2)), "b": pa.array([2], pa.uint64())}),
        pa.table({"a": pa.array([None], pa.float16()), "b": pa.array([2], pa.decimal128(5, 2))}),
    ):
        (block,) = open_source(data).blocks()
        np.testing.assert_array_equal(block.values, [[np.nan, 2]])


def test_refused_arrays():
    assert "2-D array (rows, columns), got 1-D of shape (3,)" in message(np.ones(3))
    assert "got 3-D of shape (1, 2, 3)" in message(np.ones((1, 2, 3)))
    assert "got 1-D" in message([1.0, 2.0])
    assert "most of column 0" in message(np.array([["text", None]], dtype=object))
    assert "dtype <U1" in message(np.array([["1", "2"]]))
    assert "dtype complex128" in message(np.ones((2, 2), dtype=complex))
    assert "dtype complex128" in message(sparse.eye_array(3, dtype=complex, format="csr"))
    assert "do not form a matrix" in message([[1, 2], [CANARY]])
    assert "most of column 1" in message([[1, "a"]])
    assert "dtype datetime64" in message(np.zeros((2, 2), dtype="datetime64[D]"))
    assert "at least one column" in message(np.ones((3, 0)))


@pytest.mark.parametrize("data", [5, {"a": [1]}, None, b"abc", lambda: None])
def test_refused_kinds(data):
    assert f"got {type(data).__name__}" in message(data)


def test_refused_columns_of_frames():
    frame = pd.DataFrame(
        {"x": [1.0], "text": ["a"], "kind": pd.Categorical(["a"]), "any": np.array([1], dtype=object)}
    )
    frame["day"] = pd.to_datetime(["2020-01-01"])
    told = message(frame)
    for name in ("'text' (String)", "'kind' (Categorical)", "'any' (Object)", "'day' (Datetime"):
        assert name in told
    assert "hold numbers ('x')" in told
    assert open_source(frame, columns=["x"]).columns == ("x",)
    for data in (pl.DataFrame({"l": [[1]]}), pl.LazyFrame({"l": [[1]]}), pa.table({"l": [[1]]})):
        assert "'l' (" in message(data)


def test_columns_by_position():
    array = np.ones((2, 3))
    for wish in (3, -1, True, "a", 1.0):
        assert "expected a column number from 0 to 2" in message(array, columns=[wish])
    assert "expected a column number" in message(array, columns="a")
    assert "every column once" in message(array, columns=[0, 0])
    assert "at least one" in message(array, columns=[])


def test_columns_with_names():
    frame = pd.DataFrame(np.ones((2, 3)), columns=["height", "weight", "age"])
    assert "Did you mean 'weight'" in message(frame, columns=["wieght"])
    assert "every column once" in message(frame, columns=["age", "age"])
    assert "unique names of columns" in message(pd.DataFrame(np.ones((1, 2)), columns=["a", "a"]))
    assert "every column once" in message(pa.Table.from_arrays([[1.0], [2.0]], names=["a", "a"]))
    assert open_source(pd.DataFrame(np.ones((2, 3))), columns=[2, 0]).columns == ("2", "0")


def test_a_unit_name_needs_named_columns():
    assert "have no names" in message(np.ones((2, 2)), units="id")
    assert "have no names" in message(sparse.eye_array(2, format="csr"), units="id")


def test_blocks_that_change():
    assert "block 1 has 3 columns and block 0 has 2" in message([np.ones((2, 2)), np.ones((2, 3))])
    assert "block 1 differs from block 0" in message([np.ones((2, 2)), sparse.csr_array(np.ones((2, 2)))])
    frames = [pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1], "a": [2]})]
    assert "in the same order" in message(frames)
    assert [block.values.tolist() for block in open_source(frames, columns=["a"]).blocks()] == [[[1]], [[2]]]


def test_invalid_blocks():
    assert "got str as block 1" in message([np.ones((2, 2)), "a"])
    assert "got int as block 0" in message(iter([5]))
    assert "1-D" in message(iter([np.ones(2)]))
    assert "empty iterable" in message([])
    assert "empty iterable" in message(iter([]))


def test_a_generator_is_read_once():
    opened = open_source(np.ones((2, 2)) * k for k in range(3))
    assert not opened.rereadable
    assert len(list(opened.blocks())) == 3
    with pytest.raises(InvalidInputError, match=r"generator can be read only once(.|\n)*Parquet"):
        opened.blocks()


def test_a_reader_without_batches():
    opened = open_source(pa.table({"a": pa.array([], pa.float32())}).to_reader())
    assert opened.columns == ("a",)
    assert list(opened.blocks()) == []


def test_large_blocks_are_split():
    blocks = list(open_source([np.zeros((300_000, 10))]).blocks())
    assert max(block.values.nbytes for block in blocks) <= 8 << 20


def test_nothing_shows_values():
    array = np.full((2, 2), CANARY)
    frame = pd.DataFrame(array, columns=["a", "b"])
    everything = (array, frame, pa.Table.from_pandas(frame), sparse.csr_array(array), [array])
    shown = [
        repr(Block(array)),
        repr(open_source(frame, units="a")),
        *(repr(open_source(one)) for one in everything),
    ]
    assert not any(str(CANARY) in text for text in shown)  # an address in memory may contain its first digits
