"""People in memory and on disk, compared with a dict of lists."""

import gc
import tempfile
import uuid
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
from scipy import sparse

from eigenveil.errors import InvalidInputError
from eigenveil.sources import open_source, source
from eigenveil.sources.people import on_disk


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """Use a folder for temporary files that pytest removes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


SETTINGS = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
IDS = {
    "whole numbers": st.integers(-3, 5),
    "large whole numbers": st.integers(2**62, 2**62 + 3),
    "text": st.sampled_from(["", "a", "b", "B", "ä", "aa"]),
    "floats": st.sampled_from([0.5, -1.0, 2.0**53 - 1]),
    "truth": st.booleans(),
}


def by_hand(array, ids):
    """Return the rows of each person, with people in ascending order of their ids."""
    people = {}
    for row, one in zip(array, ids, strict=True):
        if one not in (None, ""):
            people.setdefault(one, []).append(row)
    return [people[one] for one in sorted(people)]


def read(data, **how):
    opened = open_source(data, **how)
    passes = []
    for _ in range(2):
        people = []
        for block in opened.blocks():
            values = block.values.toarray() if sparse.issparse(block.values) else block.values
            assert block.offsets.dtype == np.int64
            assert block.offsets[0] == 0
            assert block.offsets[-1] == len(values)
            people += [values[a:b].tolist() for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)]
        passes.append(people)
    assert passes[0] == passes[1]
    return passes[0]


def table(array, ids):
    columns = {f"x{j}": array[:, j] for j in range(array.shape[1])}
    return pa.table({"x0": columns.pop("x0"), "who": pa.array(ids), **columns})


def written(frame, ending, parts=1):
    folder = Path(tempfile.mkdtemp())
    for part in range(parts):
        rows = frame.slice(*_part(frame.num_rows, parts, part))
        if ending == "parquet":
            pq.write_table(rows, folder / f"{part}.parquet", row_group_size=3)
        else:
            pf.write_feather(rows, folder / f"{part}.feather", chunksize=3)
    return folder


def _part(n, parts, part):
    start, stop = n * part // parts, n * (part + 1) // parts
    return start, stop - start


NAMED = {
    "pandas": lambda x, ids: table(x, ids).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda x, ids: pl.from_arrow(table(x, ids)),
    "lazy": lambda x, ids: pl.from_arrow(table(x, ids)).lazy(),
    "relation": lambda x, ids: duckdb.from_arrow(table(x, ids)),
    "reader": lambda x, ids: table(x, ids).to_reader(max_chunksize=3),
    "table": table,
    "parquet": lambda x, ids: written(table(x, ids), "parquet"),
    "three files": lambda x, ids: written(table(x, ids), "parquet", parts=3),
    "feather": lambda x, ids: written(table(x, ids), "feather"),
    "dataset": lambda x, ids: ds.dataset(table(x, ids)),
}


@pytest.mark.parametrize("way", NAMED)
@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("block_bytes", [1, 64, 1 << 20])
@SETTINGS
@given(data=st.data())
def test_unit_column(monkeypatch, way, kind, block_bytes, data):
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    ids = data.draw(st.lists(IDS[kind] | st.none(), min_size=1, max_size=25).filter(any_id))
    array = np.arange(2.0 * len(ids)).reshape(-1, 2)
    assert read(NAMED[way](array, ids), units="who") == [
        [row.tolist() for row in one] for one in by_hand(array, ids)
    ]


def any_id(ids):
    """Return whether any id is present; a column of nulls has no type in some formats: tested separately."""
    return any(one is not None for one in ids)


GIVEN = {
    "array": lambda x: x,
    "list": lambda x: x.tolist(),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "pandas": pd.DataFrame,
    "polars": lambda x: pl.DataFrame(x, schema=["a", "b"]),
    "table": lambda x: pa.table({"a": x[:, 0], "b": x[:, 1]}),
    "parquet": lambda x: written(table(x, [1] * len(x)).select(["x0", "x1"]), "parquet"),
    "int array": lambda x: x.astype(np.int32),
}
SHAPES = {
    "list": list,
    "array": lambda ids: np.array(ids, dtype=object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda ids: pa.chunked_array([ids[:1], ids[1:]], type=pa.array(ids).type),
    "categories": pd.Categorical,
}


@pytest.mark.parametrize("way", GIVEN)
@pytest.mark.parametrize("shape", SHAPES)
@SETTINGS
@given(ids=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=25).filter(any_id))
def test_given_ids(way, shape, ids):
    array = np.arange(2.0 * len(ids)).reshape(-1, 2)
    want = [[row.tolist() for row in one] for one in by_hand(array, ids)]
    assert read(GIVEN[way](array), units=SHAPES[shape](ids)) == want


FRAME = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6.0)}, index=list("uvwxyz"))
WHO = pd.Series([1, 1, 2, 2, 3, 3], index=FRAME.index, name="who")
SHUFFLED = FRAME.iloc[[3, 0, 5, 2, 1, 4]]
INDEXES = {
    "text": lambda index: index,
    "numbers": lambda index: pd.Index([ord(one) for one in index]),
    "several levels": lambda index: pd.MultiIndex.from_tuples([(one, 1) for one in index]),
    "times": lambda index: pd.to_datetime([f"2020-01-{ord(one) - 100}" for one in index]),
}


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("make", [pd.Series, lambda *ids, **how: pd.Series(*ids, **how).to_frame("who")])
def test_ids_in_another_order_than_the_rows_are_refused(kind, make):
    """Found in a review: after df.sample(frac=1), 0.1 % of the rows belonged to their own person."""
    rows, ids = SHUFFLED.set_index(INDEXES[kind](SHUFFLED.index)), make(list(WHO), index=INDEXES[kind](WHO.index))
    with pytest.raises(InvalidInputError, match="units in the order of the rows") as refusal:
        open_source(rows, units=ids)
    assert "units=ids.loc[X.index]" in refusal.value.hint
    want = read(rows.to_numpy(), units=[2, 1, 3, 2, 1, 3])
    assert read(rows, units=ids.loc[rows.index]) == want
    assert read(rows, units=np.ravel(ids.loc[rows.index])) == want
    assert read(rows.to_numpy(), units=ids.loc[rows.index]) == want


def written_array(_, folder):
    np.save(folder / "x.npy", FRAME.to_numpy())
    return folder / "x.npy"


@pytest.mark.parametrize("make", [lambda array, _: array, lambda array, _: pl.DataFrame(array), written_array])
def test_ids_whose_index_numbers_the_rows_in_another_order_are_refused(make, tmp_path):
    """Rows without an index have these numbers: after ids.sample(frac=1), rows had the ids of others."""
    rows = make(FRAME.to_numpy(), tmp_path)
    ids = WHO.reset_index(drop=True)
    mixed = ids.iloc[[3, 0, 5, 2, 1, 4]]
    with pytest.raises(InvalidInputError, match="units in the order of the rows") as refusal:
        open_source(rows, units=mixed)
    assert "units=ids.sort_index()" in refusal.value.hint
    assert "units=ids.reset_index(drop=True)" in refusal.value.hint
    assert read(rows, units=mixed.sort_index()) == read(rows, units=ids) == read(rows, units=list(WHO))
    assert read(rows, units=mixed.reset_index(drop=True)) == read(rows, units=list(mixed))
    assert len(read(rows, units=ids.set_axis([9, 8, 7, 6, 5, 4]))) == 3  # numbers of something else


def test_ids_in_another_order_than_the_rows_of_a_file_are_refused(tmp_path):
    FRAME.to_parquet(tmp_path / "x.parquet", index=False)
    with pytest.raises(InvalidInputError, match="units in the order of the rows"):
        open_source(tmp_path / "x.parquet", units=WHO.reset_index(drop=True).iloc[::-1])


def test_an_index_with_equal_labels_is_no_other_order():
    for mine, yours in (
        (pd.RangeIndex(6), pd.Index([0, 1, 2, 3, 4, 5], dtype=object)),
        (pd.RangeIndex(6), pd.Index(np.arange(6.0))),
        (pd.Index(list("aabbcc")), pd.CategoricalIndex(list("aabbcc"))),
        (pd.date_range("2020", periods=6).as_unit("s"), pd.date_range("2020", periods=6).as_unit("ns")),
    ):
        assert len(read(FRAME.set_axis(mine), units=WHO.set_axis(yours))) == 3
    assert len(read(FRAME, units=list(WHO))) == len(read(FRAME.to_numpy(), units=WHO)) == 3
    assert len(read(pl.DataFrame(FRAME.to_numpy()), units=WHO)) == 3


def test_the_hint_holds_for_repeated_and_unknown_labels():
    for labels in (list("aabbcc"), list("ABCDEF")):
        ids = WHO.set_axis(pd.Index(labels))
        with pytest.raises(InvalidInputError, match="order of the rows") as refusal:
            open_source(SHUFFLED, units=ids)
        assert ".loc" not in refusal.value.hint
        assert "units=ids.to_numpy()" in refusal.value.hint
        assert len(read(SHUFFLED, units=ids.to_numpy())) == 3


@pytest.mark.parametrize(
    "ids",
    [
        [1, "a", None, 1],
        [(1, 2), (3,), None, (1, 2)],
        [1, 2**80, None, 1],
        [uuid.UUID(int=1), uuid.UUID(int=2), None, uuid.UUID(int=1)],
        pd.Series([1, "a", pd.NA, 1], dtype=object),
        np.array(["2020-01-01", "2021-01-01", "NaT", "2020-01-01"], dtype="datetime64[D]"),
        np.array([1, 2, np.nan, 1]),
        np.array([1, 2, np.nan, 1], dtype=np.float16),
        pl.Series([1.0, 2.0, float("nan"), 1.0]),
        pa.array([1.0, 2.0, float("nan"), 1.0]),
    ],
)
@pytest.mark.parametrize("way", ["array", "parquet"])
def test_ids_of_any_type(way, ids):
    array = np.arange(8.0).reshape(4, 2)
    people = read(GIVEN[way](array), units=ids)
    assert people == [[[0, 1], [6, 7]], [[2, 3]]]


@pytest.mark.parametrize("way", GIVEN)
def test_no_ids_at_all(way):
    array = np.ones((3, 2))
    assert read(GIVEN[way](array), units=[None] * 3) == []


@pytest.mark.parametrize("way", ["table", "parquet", "feather", "pandas"])
def test_null_column_of_ids(way):
    assert read(NAMED[way](np.ones((3, 2)), [None] * 3), units="who") == []


def test_categories_as_ids_in_files():
    frame = table(np.arange(8.0).reshape(4, 2), ["b", "a", None, "b"])
    coded = frame.set_column(1, "who", frame.column("who").dictionary_encode())
    for data in (coded, written(coded, "parquet", parts=2), written(coded, "feather")):
        assert read(data, units="who") == [[[2, 3]], [[0, 1], [6, 7]]]


def test_csv_ids():
    folder = Path(tempfile.mkdtemp())
    (folder / "a.csv").write_text(f"who,x\n{2**60 + 1},1\n{2**60},2\n,3\n{2**60 + 1},4.5\n")
    assert read(folder, units="who") == [[[2]], [[1], [4.5]]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("way", ["table", "parquet"])
def test_float_type_is_kept(way, dtype):
    data = NAMED[way](np.ones((3, 2), dtype=dtype), [1, 2, 1])
    assert {block.values.dtype for block in open_source(data, units="who").blocks()} == {np.dtype(dtype)}


@pytest.mark.parametrize("way", ["table", "parquet"])
def test_invalid_values_stay_in_their_rows(way):
    array = np.array([[np.nan, 1], [np.inf, 2], [3, 4]])
    (block,) = open_source(NAMED[way](array, [2, 1, 2]), units="who").blocks()
    np.testing.assert_array_equal(block.values, array[[1, 0, 2]])


@pytest.mark.parametrize("way", GIVEN)
@pytest.mark.parametrize("count", [2, 4])
def test_wrong_number_of_ids(way, count):
    with pytest.raises(InvalidInputError, match=r"expected one id per row, got \d ids"):
        list(open_source(GIVEN[way](np.ones((3, 2))), units=[1] * count).blocks())


@pytest.mark.parametrize("way", NAMED)
def test_missing_unit_column(way):
    with pytest.raises(InvalidInputError, match=r"unit column 'whom'(.|\n)*Did you mean 'who'"):
        open_source(NAMED[way](np.ones((3, 2)), [1, 2, 3]), units="whom")


@pytest.mark.parametrize("way", NAMED)
def test_unit_column_cannot_be_data(way):
    with pytest.raises(InvalidInputError, match="cannot be data as well"):
        open_source(NAMED[way](np.ones((3, 2)), [1, 2, 3]), units="who", columns=["x0", "who"])


@pytest.mark.parametrize("units", [5, np.ones((3, 2)), [[1], [2], [3]], "who"])
def test_invalid_units(units):
    with pytest.raises(InvalidInputError):
        open_source(np.ones((3, 2)), units=units)


def test_nested_unit_column():
    with pytest.raises(InvalidInputError, match="'who' is of type list"):
        open_source(written(table(np.ones((2, 2)), [[1], [2]]), "parquet"), units="who")


def test_blocks_cannot_have_units():
    with pytest.raises(InvalidInputError, match=r"several(.|\n)*Parquet"):
        open_source([np.ones((2, 2))], units=[1, 2])


def test_sorted_file_is_deleted_with_its_source(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    pq.write_table(table(np.ones((3, 2)), [1, 2, 1]), tmp_path / "a.parquet")
    opened = open_source(tmp_path / "a.parquet", units="who")
    running = opened.blocks()
    next(running)
    (folder,) = (tmp_path / "scratch").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    del opened, running
    gc.collect()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_sorting_larger_than_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(on_disk, "_LEAST_MEGABYTES", 64)
    rng = np.random.default_rng(0)
    array, ids = rng.standard_normal((1_200_000, 10)), rng.integers(0, 10_000, 1_200_000)
    pq.write_table(pa.table({"who": ids, **{f"x{j}": array[:, j] for j in range(10)}}), tmp_path / "a.parquet")
    order = np.argsort(ids, kind="stable")
    blocks = list(open_source(tmp_path / "a.parquet", units="who").blocks())
    np.testing.assert_array_equal(np.concatenate([block.values for block in blocks]), array[order])
    sizes = np.concatenate([np.diff(block.offsets) for block in blocks])
    np.testing.assert_array_equal(sizes, np.unique(ids, return_counts=True)[1])
