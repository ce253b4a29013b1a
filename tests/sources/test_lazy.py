"""Lazy frames: computed once; failures and excluded rows reveal nothing about the values."""

import traceback
import warnings

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.sources import open_source

FRAME = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "text": ["1", "2", "secret-4711"]}).lazy()


def test_a_value_that_cannot_be_computed_is_not_quoted():
    with pytest.raises(InvalidInputError, match="could not read all rows of the LazyFrame") as failure:
        open_source(FRAME.with_columns(pl.col("text").cast(pl.Float64)))
    assert "4711" not in "".join(traceback.format_exception(failure.value))


def test_rows_that_may_be_excluded_by_value_have_no_fixed_places():
    """Under replace-one, their exact number would otherwise be published."""
    few = FRAME.filter(pl.col("a") > 1).select("a", "b")
    table = ds.dataset(pa.table({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]}))
    assert open_source(table).fixed_places
    for data in (few, table.filter(ds.field("a") > 1)):
        assert not open_source(data).fixed_places
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there are few rows
            model = DPPCA(1, relation="replace", random_state=0).fit(data)
        assert not any("public under replace" in entry.note for entry in model.ledger_.entries)
