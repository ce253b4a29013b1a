"""All ways to pass in the same numbers give the same rows in the same order, to the bit."""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from eigenveil.sources import open_source, source


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """Use a folder for temporary files that pytest removes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = [np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_]


@st.composite
def matrices(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = (draw(st.integers(0, 40)), draw(st.integers(1, 5)))
    return draw(hnp.arrays(dtype, shape))


def expected(array):
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def named(array):
    return {f"x{j}": np.ascontiguousarray(array[:, j]) for j in range(array.shape[1])}


def in_pieces(array, size):
    return [array[:0], *(array[start : start + size] for start in range(0, len(array), size)), array[:0]]


def saved(array, ending):
    folder = Path(tempfile.mkdtemp())
    path = folder / f"rows{ending}"
    table = pa.table(named(array))
    if ending == ".parquet":
        pq.write_table(table, path, row_group_size=7)
    elif ending == ".feather":
        pf.write_feather(table, path, chunksize=7)
    elif ending == ".csv":
        pd.DataFrame(named(array)).to_csv(path, index=False)
    elif ending == ".npy":
        np.save(path, array)
    else:
        np.savez(path, array)
    return path


class Streaming:
    """An object that Arrow can stream from any number of times."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


WAYS = {
    "array": lambda x: x,
    "fortran": np.asfortranarray,
    "big endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "matrix": lambda x: x.view(np.matrix),
    "masked": np.ma.array,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "lil": sparse.lil_matrix,
    "pandas": lambda x: pd.DataFrame(named(x)),
    "pandas index": lambda x: pd.DataFrame(named(x), index=[str(i) if i % 2 else i for i in range(len(x))]),
    "polars": lambda x: pl.DataFrame(named(x)),
    "lazy": lambda x: pl.DataFrame(named(x)).lazy(),
    "table": lambda x: pa.table(named(x)),
    "chunked table": lambda x: pa.concat_tables([pa.table(named(part)) for part in in_pieces(x, 3)]),
    "batch": lambda x: pa.record_batch(named(x)),
    "reader": lambda x: pa.table(named(x)).to_reader(max_chunksize=7),
    "arrow stream": lambda x: Streaming(pa.table(named(x))),
    "relation": lambda x: duckdb.from_arrow(pa.table(named(x))),
    "dataset": lambda x: ds.dataset(pa.table(named(x))),
    "parquet": lambda x: saved(x, ".parquet"),
    "parquet dataset": lambda x: ds.dataset(saved(x, ".parquet")),
    "feather": lambda x: str(saved(x, ".feather")),
    "npy": lambda x: saved(x, ".npy"),
    "npz": lambda x: saved(x, ".npz"),
    "memmap": lambda x: np.load(saved(x, ".npy"), mmap_mode="r"),
    "blocks of 1": lambda x: in_pieces(x, 1),
    "blocks of 7": lambda x: in_pieces(x, 7),
    "blocks of 1000": lambda x: tuple(in_pieces(x, 1000)),
    "generator": lambda x: iter(in_pieces(x, 7)),
    "frames": lambda x: [pd.DataFrame(named(part)) for part in in_pieces(x, 7)],
    "sparse blocks": lambda x: (sparse.csr_array(part) for part in in_pieces(x, 7)),
    "tables": lambda x: [pa.table(named(part)) for part in in_pieces(x, 7)],
}


def read(data, **how):
    opened = open_source(data, **how)
    blocks = [block.values for block in opened.blocks()]
    for values in blocks:
        assert values.ndim == 2
        assert values.shape[1] == opened.n_columns
        assert values.dtype in (np.float64, np.float32)
        assert values.has_canonical_format if sparse.issparse(values) else np.asarray(values).flags.c_contiguous
    rows = [values.toarray() if sparse.issparse(values) else np.asarray(values) for values in blocks]
    return np.concatenate([np.empty((0, opened.n_columns), dtype=rows[0].dtype if rows else float), *rows]), opened


def assert_same(rows, array):
    """Compare bits, with all nans equal: Arrow's nulls have no payload, and sparse zeros have no sign."""
    want = expected(array)
    assert rows.shape == want.shape
    if len(rows) > 0:
        assert rows.dtype == want.dtype
    np.testing.assert_array_equal(rows, want)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 20])
@SETTINGS
@given(array=matrices())
def test_same_rows(monkeypatch, way, block_bytes, array):
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    data = WAYS[way](array)
    rows, opened = read(data)
    assert_same(rows, array)
    assert opened.n_columns == array.shape[1]
    if opened.columns is not None:
        assert opened.columns == tuple(named(array))
    if opened.rereadable:
        again = [block.values for block in opened.blocks()]
        assert sum(values.shape[0] for values in again) == len(array)


@pytest.mark.parametrize("way", ["array", "pandas", "polars", "table", "parquet", "feather", "blocks of 7", "npy"])
@SETTINGS
@given(array=hnp.arrays(np.float64, (11, 3), elements=st.floats(allow_nan=False)))
def test_bits_of_float64_are_kept(way, array):
    rows, _ = read(WAYS[way](array))
    assert rows.tobytes() == array.tobytes()


@SETTINGS
@given(array=hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4))))
def test_csv(array):
    rows, opened = read(saved(array, ".csv"))
    np.testing.assert_array_equal(rows, array)
    assert opened.columns == tuple(named(array))


@pytest.mark.parametrize("way", ["array", "fortran", "csr", "csc"])
def test_chosen_positions(way):
    array = np.arange(24.0).reshape(6, 4)
    rows, opened = read(WAYS[way](array), columns=[3, np.int64(0)])
    np.testing.assert_array_equal(rows, array[:, [3, 0]])
    assert opened.n_columns == 2


@pytest.mark.parametrize("way", ["pandas", "polars", "lazy", "table", "dataset", "parquet", "feather", "frames"])
def test_chosen_names(way):
    array = np.arange(24.0).reshape(6, 4)
    rows, opened = read(WAYS[way](array), columns=["x3", "x[01]"])
    np.testing.assert_array_equal(rows, array[:, [3, 0, 1]])
    assert opened.columns == ("x3", "x0", "x1")
