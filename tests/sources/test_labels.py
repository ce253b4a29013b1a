"""Labels in files become their indices in a public list."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.estimators.scores.release_scores import _codes
from eigenveil.sources import Layout
from eigenveil.sources.labels import open_labelled

TABLE = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "id": [7, 5, 7, 5], "site": ["b", "a", None, "elsewhere"]})


def rows_of(source):
    return np.concatenate([np.asarray(block.values) for block in source.blocks()])


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_rows_and_people_get_the_number_of_their_label(tmp_path, ending):
    path = str(tmp_path / f"t.{ending}")
    {"parquet": pq.write_table, "csv": pc.write_csv}[ending](TABLE, path)
    rows = open_labelled(path, layout=Layout.of(["x"]), units=None, labels_in="site", labels=["a", "b"])
    np.testing.assert_array_equal(rows_of(rows), [[1, 1], [2, 0], [3, np.nan], [4, np.nan]])
    people = open_labelled(path, layout=Layout.of(["x"]), units="id", labels_in="site", labels=["a", "b"])
    np.testing.assert_array_equal(rows_of(people), [[2, 0], [4, np.nan], [1, 1], [3, np.nan]])
    assert [block.offsets.tolist() for block in people.blocks()] == [[0, 2, 4]]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array([2, 1, 2, 9]), [1, 2]),
        (pa.array([True, False, True, None]), ["false", "true"]),
        (pa.array(["b", "a", "b", None]).dictionary_encode(), ["a", "b"]),
        (pa.array([dt.date(2020, 1, day) for day in (2, 1, 2, 9)]), ["2020-01-01", "2020-01-02"]),
    ],
)
def test_labels_are_compared_as_text(tmp_path, column, labels):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE.append_column("label", column), path)
    source = open_labelled(path, layout=Layout.of(["x"]), units=None, labels_in="label", labels=labels)
    np.testing.assert_array_equal(rows_of(source)[:, 1], [1, 0, 1, np.nan])


def test_a_column_may_be_data_and_label(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    source = open_labelled(path, layout=Layout.of(["id", "x"]), units=None, labels_in="id", labels=[5, 7])
    np.testing.assert_array_equal(rows_of(source), [[7, 1, 1], [5, 2, 0], [7, 3, 1], [5, 4, 0]])


def test_invalid_labels_are_refused_by_schema(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    for data, column, match in (
        (path, "x", "is of type double"),
        (path, "sight", "one column of labels 'sight'"),
        (TABLE, "site", "expected files with named columns"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            open_labelled(data, layout=Layout.of(["x"]), units=None, labels_in=column, labels=["a"])


DAYS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 12, 30)]  # noqa: DTZ001
COLUMNS = {
    "text": (pa.array(["b", "a", "b", None]), [["a", "b"]]),
    "numbers": (pa.array([2, 1, 2, None]), [[1, 2], ["1", "2"], [1.0, 2.0], [True, 2], [" 1", "2.0"]]),
    "small numbers": (pa.array([2, 1, 2, None], pa.uint8()), [[1, 2], ["1", "2"]]),
    "decimals": (pa.array(["1.50", "1.00", "1.50", None]).cast(pa.decimal128(9, 2)), [[1, 1.5], ["1", "1.5"]]),
    "numbers as text": (pa.array(["2.0", "1", "2", None]), [[1, 2], ["1", "2"], [1.0, 2.0]]),
    "truth": (pa.array([True, False, True, None]), [[False, True], ["false", "TRUE"], [0, 1], ["0", "1"]]),
    "truth as text": (pa.array(["True", "false", "TRUE", None]), [[False, True], ["False", "True"], [0, 1]]),
    "dates": (
        pa.array([dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2020, 1, 2), None]),
        [[dt.date(2020, 1, 1), dt.date(2020, 1, 2)], ["2020-01-01", "2020-01-02 00:00"], [DAYS[0], "2020-01-02"]],
    ),
    "times": (
        pa.array([DAYS[1], DAYS[0], DAYS[1], None]),
        [DAYS, [dt.date(2020, 1, 1), "2020-01-02T12:30Z"], np.array(DAYS, "datetime64[ns]")],
    ),
    "times with a zone": (
        pa.array([DAYS[1], DAYS[0], DAYS[1], None], pa.timestamp("ms", "Europe/Berlin")),
        [DAYS],
    ),
    "times as text": (
        pa.array(["2020-01-02 12:30:00.000", "2020-01-01 00:00:00", "2020-01-02 12:30", None]),
        [DAYS],
    ),
}
"""By kind of groups: a column of groups with the numbers 1, 0, 1 and none, and lists of labels that name them."""


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_labels_and_groups_match_whatever_their_types_are(tmp_path, kind, ending):
    """Review finding: truth values and date-times matched nothing, and the map was bought empty."""
    column, lists = COLUMNS[kind]
    table = pa.table({"x": np.arange(4.0), "group": column})
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        if kind in ("decimals", "times with a zone"):
            return  # text such as 1.50 and 12:00+01:00 is compared by its characters
        table.to_pandas().to_csv(path, index=False)
    else:
        {"parquet": pq.write_table, "feather": pf.write_feather}[ending](table, path)
    for labels in lists:
        source = open_labelled(path, layout=Layout.of(["x"]), units=None, labels_in="group", labels=list(labels))
        np.testing.assert_array_equal(rows_of(source)[:, 1], [1, 0, 1, np.nan])


@pytest.mark.parametrize("shape", ["list", "objects", "pandas", "pandas with NA", "polars", "arrow", "numpy"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_labels_and_groups_in_memory_match_whatever_their_types_are(kind, shape):
    column, lists = COLUMNS[kind]
    shapes = {
        "list": column.to_pylist,
        "objects": lambda: np.array(column.to_pylist(), dtype=object),
        "pandas": column.to_pandas,
        "pandas with NA": lambda: column.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: pl.from_arrow(column),
        "arrow": lambda: column,
        "numpy": lambda: column.to_numpy(zero_copy_only=False),
    }
    for labels in lists:
        assert _codes(shapes[shape](), list(labels)).tolist() == [1, 0, 1, -1]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ([1, 2], ["a", "b"]),
        ([1, 2], [1, "nobody"]),
        ([True, False], ["yes", "no"]),
        ([dt.date(2020, 1, 1)] * 2, ["January", "February"]),
    ],
)
def test_labels_that_no_group_can_have_are_refused(tmp_path, column, labels):
    """The type of the groups is known before anything is charged."""
    pq.write_table(pa.table({"x": [1.0, 2.0], "group": column}), tmp_path / "t.parquet")
    with pytest.raises(InvalidInputError, match="expected labels that groups can have"):
        open_labelled(
            tmp_path / "t.parquet", layout=Layout.of(["x"]), units=None, labels_in="group", labels=labels
        )
    array = np.array(column, dtype="datetime64[ns]") if isinstance(column[0], dt.date) else np.array(column)
    with pytest.raises(InvalidInputError, match="expected labels that groups can have"):
        _codes(array, labels)


@pytest.mark.parametrize("labels", [[], [1, "1"], [True, 1], ["7", "7.0"], [None, "a"], [[1]], ["a", "a"]])
def test_labels_that_name_one_group_twice_or_none_are_refused(labels):
    with pytest.raises(InvalidInputError, match="each named once"):
        _codes(["a", "b"], labels)


def test_no_group_raises_an_error(tmp_path):
    buffers = [None, pa.py_buffer(np.array([0, 1, 3, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")]
    text = pa.Array.from_buffers(pa.string(), 3, buffers)
    times = pa.array([0, 2**62, -(2**62)], pa.int64())
    kinds = (
        text,
        times.view(pa.timestamp("s")),
        times.view(pa.timestamp("ns")),
        times,
        pa.array([0, 9, 9], pa.date32()),
    )
    for column, label in zip(kinds, ("a", "1970-01-01", "1970-01-01", 0, "1970-01-01"), strict=True):
        pf.write_feather(pa.table({"x": np.arange(3.0), "group": column}), tmp_path / "t.feather")
        source = open_labelled(
            tmp_path / "t.feather", layout=Layout.of(["x"]), units=None, labels_in="group", labels=[label]
        )
        assert rows_of(source)[:, 1].tolist()[0] == 0
        assert np.isnan(rows_of(source)[1:, 1]).all()
    odd = [
        object(),
        [1],
        {"a": 1},
        1j,
        "\udc80",
        float("nan"),
        pd.NA,
        pd.NaT,
        b"\xff",
        (1, 2),
        10**400,
        np.datetime64("NaT"),
    ]
    assert _codes([*odd, *["a"] * 12], ["a"]).tolist() == [-1] * len(odd) + [0] * 12


SHAPES = {
    "chunks of Arrow": (pa.chunked_array([["v", "u"], ["v", None]]), ["u", "v"]),
    "bytes": (np.array(["v", "u", "v", ""], "S1"), ["u", "v"]),
    "periods": (pd.PeriodIndex(["2020-02", "2020-01", "2020-02", None], freq="M"), ["2020-01", "2020-02"]),
    "a series of periods": (
        pd.Series(pd.PeriodIndex(["2020-01-02", "2020-01-01", "2020-01-02", None], freq="D")),
        ["2020-01-01", "2020-01-02"],
    ),
    "blanks around groups": (pd.Series([" v", "u ", "\tv\xa0", " "]), ["u", "v"]),
    "blanks around labels": (["v", "u", "v", None], ["u ", "\tv"]),
    "floats": (np.array([0.5, 0.25, 0.5, np.nan]), [".25", "0.50"]),
    "floats of polars": (pl.Series([0.5, 1000.0, 0.5, None]), ["1e3", "0.50"]),
    "floats in a list": ([0.5, 0.25, 0.5, None], ["0.250", "0.50"]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_of_more_types_match_their_labels(shape):
    """Review finding: maps of these were bought empty, without a word."""
    groups, labels = SHAPES[shape]
    assert _codes(groups, labels).tolist() == [1, 0, 1, -1]


@pytest.mark.parametrize("odd", [[["a"]], [{"a": 1}], [b"\xff"], [pd.Interval(0, 1)]])
def test_groups_without_text_are_refused_by_most_of_the_first(odd):
    with pytest.raises(InvalidInputError, match="expected groups that can be compared"):
        _codes([*odd * 10, *["a"] * 10], ["a"])
    assert _codes([*odd * 9, *["a"] * 10], ["a"]).tolist() == [*[-1] * 9, *[0] * 10]


def test_blanks_around_text_in_files_name_no_other_group(tmp_path):
    table = pa.table({"x": np.arange(4.0), "group": [" v", "u ", "v", None]})
    pq.write_table(table, tmp_path / "t.parquet")
    source = open_labelled(
        tmp_path / "t.parquet", layout=Layout.of(["x"]), units=None, labels_in="group", labels=["u", "v"]
    )
    np.testing.assert_array_equal(rows_of(source)[:, 1], [1, 0, 1, np.nan])
