"""Layouts, as declared and as resolved for given data: columns, encodings and replacements of missing values."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from eigenveil.errors import InvalidInputError
from eigenveil.sources import Layout, open_source

NAMES = ["id", "age", "lab_a", "lab_b", "site"]
SITES = {"site": ["north", "south"]}


def exact(unit="id", names=NAMES, **given):
    return Layout.of(**given).by_names(names, units=unit)


def refusal(**given):
    with pytest.raises(InvalidInputError) as failure:
        exact(**given)
    return str(failure.value)


def values(data, **how):
    found = [block.values for block in open_source(data, **how).blocks()]
    return np.concatenate([part.toarray() if sparse.issparse(part) else np.asarray(part) for part in found])


# -- resolving for given names ---------------------------------------------------------------------


def test_columns_have_the_requested_order_and_encoded_columns_are_adjacent():
    layout = exact(columns=["lab_*", "site", "age"], encode=SITES, fill={"*": 0, "age": 40})
    assert layout.columns == ("lab_a", "lab_b", "site", "age")
    assert layout.names == ("lab_a", "lab_b", "site=north", "site=south", "age")
    assert layout.groups == (("site", slice(2, 4)),)
    assert layout.fill == {"lab_a": 0.0, "lab_b": 0.0, "age": 40.0}


def test_an_exact_layout_ignores_other_columns_and_their_order():
    layout = exact(columns=["lab_*", "site"], encode={"si*": ["a"]}, fill={"lab_*": 1})
    again = layout.by_names(["lab_c", "site", "lab_b", "x", "lab_a"], units=None)
    assert again == layout
    assert pickle.loads(pickle.dumps(layout)) == layout  # noqa: S301
    assert Layout.of(**layout.plain) == layout


def test_all_columns_except_the_ids_by_default():
    assert exact(encode=SITES).columns == ("age", "lab_a", "lab_b", "site")
    assert exact(fill=0).fill == 0.0
    assert Layout.of().by_positions(3) == Layout()
    assert Layout.of(columns=[2, np.int64(0)], fill={2: 1}).by_positions(3) == Layout((2, 0), {}, {2: 1.0})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"columns": ["lab_c"]}, "there is no column 'lab_c'"),
        ({"columns": ["id"]}, "holds the ids of the units"),
        ({"columns": ["age"], "encode": SITES}, "encode names column 'site', which is not among the selected"),
        ({"columns": ["age"], "fill": {"lab_a": 0}}, "fill names column 'lab_a', which is not among"),
        ({"encode": {"sites": ["a"]}}, "Did you mean 'site'?"),
        ({"fill": {"q_*": 0}}, "there is no column 'q_*'"),
        ({"fill": {"site": 0}, "encode": SITES}, "'site' is encoded by a list"),
        ({"fill": {"lab_*": 0, "*_a": 1}}, "fill has two patterns with different values for column 'lab_a'"),
        ({"encode": {"si*": ["a"], "*te": ["b"]}}, "encode has two patterns"),
        ({"names": ["site", "site=a"], "unit": None, "encode": {"site": ["a"]}}, "got 'site=a' more than once"),
    ],
)
def test_settings_that_do_not_match_the_names_are_refused(given, said):
    assert said in refusal(**given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"columns": 3}, "names or positions of columns, got int"),
        ({"columns": {"age": 1}}, "names or positions of columns, got dict"),
        ({"encode": ["site"]}, "expected encode to be a mapping"),
        ({"encode": "site"}, "expected encode to be a mapping"),
        *(
            ({"fill": bad}, "finite number")
            for bad in ("0", np.nan, np.inf, True, [0], {"a": None}, {"a": np.inf})
        ),
    ],
)
def test_invalid_settings_are_refused_without_data(given, said):
    with pytest.raises(InvalidInputError, match=said):
        Layout.of(**given)


def test_columns_without_names_cannot_be_encoded():
    with pytest.raises(
        InvalidInputError, match="encode names column 'site', but the columns of this data have no"
    ):
        open_source(np.eye(2), encode=SITES)
    with pytest.raises(InvalidInputError, match="expected a column number from 0 to 1, got 'age'"):
        open_source(np.eye(2), fill={"age": 0})
    with pytest.raises(InvalidInputError, match="fill names column 1, which is not among"):
        open_source(np.eye(2), columns=[0], fill={1: 0})


# -- missing values --------------------------------------------------------------------------------

GAPS = np.array([[1.0, np.nan, 3.0], [np.nan, np.inf, np.nan]])


def test_missing_values_of_arrays():
    np.testing.assert_array_equal(values(GAPS, fill=7), [[1, 7, 3], [7, np.inf, 7]])
    np.testing.assert_array_equal(values(GAPS, fill={2: 5}), [[1, np.nan, 3], [np.nan, np.inf, 5]])
    np.testing.assert_array_equal(values(GAPS, columns=[2, 0], fill={2: 5}), [[3, 1], [5, np.nan]])
    np.testing.assert_array_equal(values(np.ma.masked_array([[1.0, 2.0]], [[True, False]]), fill=0), [[0, 2]])
    np.testing.assert_array_equal(values([[1, None], ["text", 2], [3, 4]], fill=9), [[1, 9], [9, 2], [3, 4]])
    assert np.isnan(GAPS).sum() == 3, "the caller's own array stays as it is"


def test_filling_keeps_single_precision():
    (block,) = open_source(GAPS.astype(np.float32), fill=0.1).blocks()
    assert block.values.dtype == np.float32
    assert block.values[0, 1] == np.float32(0.1)


def test_missing_values_of_arrays_in_files(tmp_path):
    np.save(tmp_path / "x.npy", GAPS)
    np.testing.assert_array_equal(values(tmp_path / "x.npy", fill={1: 7}), [[1, 7, 3], [np.nan, np.inf, np.nan]])


def test_missing_values_of_sparse_rows_are_stored_entries():
    matrix = sparse.csr_array((np.array([np.nan, 2.0, np.nan]), ([0, 0, 1], [0, 2, 2])), shape=(2, 3))
    np.testing.assert_array_equal(values(matrix, fill=7), [[7, 0, 2], [0, 0, 7]])
    np.testing.assert_array_equal(values(matrix, fill={2: 5}), [[np.nan, 0, 2], [0, 0, 5]])
    np.testing.assert_array_equal(values(matrix, columns=[2, 1], fill={2: 5}), [[2, 0], [5, 0]])
    assert np.isnan(matrix.data).sum() == 2


def test_a_sparse_row_with_an_index_outside_stays_invalid_with_a_fill():
    broken = sparse.csr_array(np.eye(3))
    broken.indices[1] = 7
    rows = values(broken, fill=0)
    assert np.isfinite(rows).all(axis=1).tolist() == [True, False, True]


def test_missing_values_of_blocks():
    blocks = [
        pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}),
        pd.DataFrame({"a": [None, 2.0], "b": ["y", None]}),
    ]
    found = values(blocks, encode={"b": ["x"]}, fill=5)
    assert found.tolist() == [[1, 1], [5, 0], [5, 0], [2, 0]]


# -- every kind of column: the tables in docs/tables.md ---------------------------------------------

DAY = dt.datetime(2020, 1, 2)  # noqa: DTZ001
KINDS = {
    "floats": (pa.array([1.5]), [1.5], "by value", "refused"),
    "float32": (pa.array([1.5], pa.float32()), [1.5], "by value", "refused"),
    "whole numbers": (pa.array([1], pa.int16()), [1], "by value", "refused"),
    "decimals": (pa.array([1]).cast(pa.decimal128(20, 1)), [1], "by value", "refused"),
    "truth values": (pa.array([True]), [True], "by value", "refused"),
    "text": (pa.array(["2020-01-02"]), ["2020-01-02"], "by value", "numbers", "refused"),
    "dictionary": (pa.array(["2020-01-02"]).dictionary_encode(), ["2020-01-02"], "by value", "numbers", "refused"),
    "dates": (pa.array([DAY.date()]), ["2020-01-02"], "refused", "numbers", "refused"),
    "times": (pa.array([DAY]), ["2020-01-02"], "refused", "numbers", "refused"),
    "times of day": (pa.array([DAY.time()]), ["a"], "refused", "refused", "refused"),
    "durations": (pa.array([dt.timedelta(1)]), ["a"], "refused", "refused", "refused"),
    "bytes": (pa.array([b"a"]), ["a"], "refused", "refused", "refused"),
    "lists": (pa.array([[1]]), ["a"], "refused", "refused", "refused"),
    "structs": (pa.array([{"a": 1}]), ["a"], "refused", "refused", "refused"),
}
FORMS = {
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "parquet": lambda table, folder: pq.write_table(table, folder / "x.parquet") or folder / "x.parquet",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_in_every_form(kind, form, tmp_path):
    column, labels, with_list, with_origin, *refused = KINDS[kind]
    data = FORMS[form](pa.table({"x": column, "y": [0.0]}), tmp_path)
    ways = {
        "as it is": ({}, "refused" if refused else "numbers"),
        "list": ({"encode": {"x": labels}}, with_list),
        "origin": ({"encode": {"x": "days since 2020-01-01"}}, with_origin),
    }
    for how, answer in ways.values():
        if answer == "refused":
            with pytest.raises(InvalidInputError, match="'x'"):
                open_source(data, **how)
        else:
            want = float(column[0].as_py()) if not how else 1.0
            assert values(data, **how).tolist() == [[want, 0.0]]


def test_categories_of_numbers_are_not_numbers():
    codes = pa.array([30, 10]).dictionary_encode()
    for data in (pa.table({"x": codes}), pa.table({"x": codes}).to_pandas()):
        assert values(data, encode={"x": [10, 30]}).tolist() == [[0, 1], [1, 0]]
        with pytest.raises(InvalidInputError, match="expected columns of numbers, got 'x'"):
            open_source(data)


def test_nullable_numbers_and_objects_of_pandas():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None], dtype="Int64"),
            "truth": pd.array([None, True], dtype="boolean"),
            "real": pd.array([None, 0.5], dtype="Float64"),
        }
    )
    np.testing.assert_array_equal(values(frame), [[1, np.nan, np.nan], [np.nan, 1, 0.5]])
    np.testing.assert_array_equal(values(frame, fill=3), [[1, 3, 3], [3, 1, 0.5]])
    objects = pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)})
    with pytest.raises(InvalidInputError, match="expected columns of numbers"):
        open_source(objects)
    assert values(objects, encode={"x": ["a", 1]}).tolist() == [[0, 1], [1, 0]]


def test_duplicate_names(tmp_path):
    table = pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "b"])
    pq.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a,a,b\n1,2,3\n")
    for data in (table, tmp_path / "x.parquet", tmp_path / "x.csv"):
        assert values(data, columns=["b"]).tolist() == [[3.0]]
        with pytest.raises(InvalidInputError, match="every column once"):
            open_source(data)
    with pytest.raises(InvalidInputError, match="unique names of columns"):
        open_source(table.to_pandas(), columns=["b"])


def test_the_hint_shows_what_to_write():
    table = pa.table({"x": [1.0], "site": ["a"], "visit": [DAY], "odd": [[1]]})
    with pytest.raises(InvalidInputError) as failure:
        open_source(table)
    assert "that hold numbers ('x')" in str(failure.value)
    assert "encode={'site': ['a', 'b'], 'visit': 'days since 2000-01-01'}" in str(failure.value)
    with pytest.raises(InvalidInputError, match="No column holds numbers"):
        open_source(table.select(["odd"]))


# -- CSV files -------------------------------------------------------------------------------------


def test_encoded_columns_of_csv_files_are_read_as_declared(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('code,flag,x\n1,True,1\n1.0,true,\n"2",False,oops\n01,NA,4\nbad,1,5\n')
    assert values(path, columns=["code"], encode={"code": [1, 2]}).tolist() == [
        [1, 0],
        [1, 0],
        [0, 1],
        [1, 0],
        [0, 0],
    ]
    texts = values(path, columns=["code"], encode={"code": ["1", "bad"]})
    assert texts.tolist() == [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1]]
    flags = values(path, columns=["flag"], encode={"flag": [True, False]})
    assert flags.tolist() == [[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]]
    assert values(path, columns=["x"], fill=9).tolist() == [[1], [9], [9], [4], [5]]
    assert values(path, columns=["flag"], fill=9).tolist() == [[1], [1], [0], [9], [1]]
