"""Labels in files become their indices in a public list."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from eigenveil.errors import InvalidInputError
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
