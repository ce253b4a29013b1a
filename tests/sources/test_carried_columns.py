"""Columns that are kept next to scores have the same rows in the same positions, whatever other columns hold."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.sources import CsvFiles
from eigenveil.sources.carried_columns import open_kept


def all_rows(kept, *numbers):
    rows = kept.reader()
    return [[column.to_pylist() for column in rows(number)] for number in numbers]


def test_any_number_of_rows_can_be_read_at_a_time():
    table = pa.table({"id": pa.chunked_array([["a"], ["b", "c"], ["d"]]), "x": [1.0, 2.0, 3.0, 4.0]})
    assert all_rows(open_kept(table, "id"), 0, 1, 3) == [[[]], [["a"]], [["b", "c", "d"]]]
    assert all_rows(open_kept(table, ["x", "id"]), 2) == [[[1.0, 2.0], ["a", "b"]]]
    assert all_rows(open_kept(table.to_pandas().set_index("x"), "id"), 4) == [[["a", "b", "c", "d"]]]


def test_many_files_follow_each_other_and_ids_stay_as_written(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text(f"id,x\n00{i},1\n1,2,3\n,4\n")
    found = all_rows(open_kept(str(tmp_path), ["id"]), 2, 5, 2)
    assert [one for part in found for one in part[0]] == ["000", None, None, "001", None, None, "002", None, None]
    assert all_rows(open_kept(CsvFiles(str(tmp_path), header=False), "column_1"), 1) == [[["id"]]]


def test_categories_are_plain_text_and_lists_are_refused():
    table = pd.DataFrame({"site": pd.Categorical(["n", "s", None]), "x": [1.0, 2.0, 3.0]})
    kept = open_kept(table, "site")
    assert pa.types.is_string(kept.schema.field("site").type) or pa.types.is_large_string(kept.schema[0].type)
    assert all_rows(kept, 3) == [[["n", "s", None]]]
    with pytest.raises(InvalidInputError, match="cannot be kept"):
        open_kept(pa.table({"many": [[1], [2]]}), "many")


@pytest.mark.parametrize("data", [np.ones((2, 2)), [[1.0, 2.0]], iter([np.ones((1, 2))])])
def test_columns_without_names_are_refused(data):
    with pytest.raises(InvalidInputError, match="have no names"):
        open_kept(data, ["id"])
