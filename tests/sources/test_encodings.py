"""Encodings by a public list or origin: every value is encoded separately, and no value raises an error."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.sources import open_source
from eigenveil.sources.encodings import Categories, Since, read_encoding, text_of

DAYS = "days since 2020-01-01"


def encoded(data, how):
    """Return the encoding of column x, row by row."""
    table = pa.table({"x": data}) if isinstance(data, pa.Array | pa.ChunkedArray) else data
    return [row for block in open_source(table, encode={"x": how}).blocks() for row in block.values.tolist()]


def refusal(data, how):
    with pytest.raises(InvalidInputError) as failure:
        open_source(pa.table({"x": data}), encode={"x": how})
    return str(failure.value)


# -- how values are compared, by type --------------------------------------------------------------

ARROW = {
    "text": (pa.array(["b", "a", "A", " a", "", None, "c"]), ["a", "b"], [1, 0, None, None, None, None, None]),
    "large text": (pa.array(["b", None], pa.large_string()), ["a", "b"], [1, None]),
    "text views": (pa.array(["b", None], pa.string_view()), ["a", "b"], [1, None]),
    "digits in text": (pa.array(["1", "01", "1.0"]), [1], [0, None, None]),
    "whole numbers": (pa.array([1, 2, None, 3], pa.int8()), ["2", 1], [1, 0, None, None]),
    "beyond the type": (pa.array([1, 2], pa.int8()), [10**18, 10**25, 2], [None, 2]),
    "unsigned": (pa.array([2**64 - 1, 1], pa.uint64()), [-1, 2**64 - 1], [1, None]),
    "neighbours beyond 2^53": (pa.array([2**53, 2**53 + 1]), [2**53 + 1], [None, 0]),
    "floats": (pa.array([1.0, 0.5, np.nan, np.inf, -0.0, None]), [1, "0.5", 0], [0, 1, None, None, 2, None]),
    "half floats": (pa.array(np.array([1, 2], np.float16)), [2], [None, 0]),
    "decimals": (pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(5, 2)), [2, 1.5], [1, 0]),
    "truth values": (pa.array([True, False, None]), [False, True], [1, 0, None]),
    "truth values by number": (pa.array([True, False]), [0, "TRUE"], [1, 0]),
    "dictionary": (pa.array(["b", None, "c"]).dictionary_encode(), ["a", "b"], [1, None, None]),
    "dictionary of numbers": (pa.array([5, 7]).dictionary_encode(), [7], [None, 0]),
    "nulls": (pa.nulls(2), ["a"], [None, None]),
    "no rows": (pa.array([], pa.string()), ["a"], []),
    "not UTF-8": (pa.array([b"\xff", b"a"]).view(pa.string()), ["a"], [None, 0]),
}


@pytest.mark.parametrize("name", ARROW)
def test_how_values_of_each_type_are_compared(name):
    data, labels, places = ARROW[name]
    want = [[float(place == other) for other in range(len(labels))] for place in places]
    assert encoded(data, labels) == want


def test_each_chunk_may_have_a_dictionary_of_its_own():
    """The codes of values in a batch do not affect the result."""
    chunks = [
        pa.DictionaryArray.from_arrays([0, 1], ["a", "b"]),
        pa.DictionaryArray.from_arrays([0, 1], ["b", "z"]),
    ]
    data = pa.chunked_array(chunks)
    assert encoded(data, ["b"]) == [[0.0], [1.0], [1.0], [0.0]]
    people = open_source(pa.table({"x": data, "id": [2, 1, 2, 1]}), encode={"x": ["b"]}, units="id")
    assert [block.values.tolist() for block in people.blocks()] == [[[1.0], [0.0], [0.0], [1.0]]]


OBJECTS = [
    *("a", 1, 1.0, np.int8(1), True, np.True_, Decimal(1), None, np.nan, pd.NaT, pd.NA),
    *("\ud800", [1], {}, b"a", 10**5000, 1 + 2j, np.inf, object()),
]


class Hostile:
    """An object whose methods all raise errors."""

    def __eq__(self, other):
        raise RuntimeError

    __ne__ = __eq__
    __hash__ = None


def test_objects_are_read_one_by_one():
    frame = pd.DataFrame({"x": pd.Series([*OBJECTS, Hostile()], dtype=object)})
    found = encoded(frame, ["a", 1, True])
    assert [row.index(1.0) if 1.0 in row else None for row in found] == [
        *(0, 1, 1, 1, 2, 2, 1),
        *[None] * (len(OBJECTS) - 6),
    ]
    for place in range(len(frame)):
        assert encoded(frame.drop(index=place), ["a", 1, True]) == found[:place] + found[place + 1 :]


def test_categories_of_pandas_and_polars_are_compared_by_value():
    mixed = pd.DataFrame({"x": pd.Categorical([1, "1", "b", None], categories=["b", 1, "1", "unused"])})
    assert encoded(mixed, ["1", "b"]) == [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    ordered = pd.DataFrame({"x": pd.Categorical(["b", "a"], ordered=True)})
    assert encoded(ordered, ["a"]) == [[0.0], [1.0]]
    for kind in (pl.Categorical, pl.Enum(["b", "a"])):
        assert encoded(pl.DataFrame({"x": ["a", None]}, schema={"x": kind}), ["a"]) == [[1.0], [0.0]]


def test_messages_show_no_categories():
    frame = pd.DataFrame({"x": pd.Categorical(["canary", "a"], ordered=True)})
    with pytest.raises(InvalidInputError) as failure:
        open_source(frame)
    assert "canary" not in str(failure.value)


# -- dates -----------------------------------------------------------------------------------------

DATES = {
    "dates": pa.array([dt.date(2020, 1, 3), None, dt.date(2019, 12, 31)]),
    "date64": pa.array([dt.date(2020, 1, 3), None, dt.date(2019, 12, 31)], pa.date64()),
    **{
        f"timestamp {unit}": pa.array(["2020-01-03", None, "2019-12-31"]).cast(pa.timestamp(unit))
        for unit in ("s", "ms", "us", "ns")
    },
    "with a zone": pa.array(
        [dt.datetime(2020, 1, 3, tzinfo=dt.UTC), None, dt.datetime(2019, 12, 31, tzinfo=dt.UTC)]
    ),
    "text": pa.array(["2020-01-03", None, " 2019-12-31 00:00 "]),
    "dictionary": pa.array(["2020-01-03", None, "2019-12-31"]).dictionary_encode(),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_of_every_type_are_days_since_the_origin(name):
    np.testing.assert_array_equal(encoded(DATES[name], DAYS), [[2], [np.nan], [-1]])


def test_dates_of_frames():
    days = [dt.date(2020, 1, 3), None]
    stamps = pd.to_datetime(pd.Series(days))
    for frame in (
        pd.DataFrame({"x": pd.Series(days, dtype=object)}),
        pd.DataFrame({"x": stamps}),
        pd.DataFrame({"x": stamps.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")}),
        pd.DataFrame({"x": stamps.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo").astype(object)}),
        pl.DataFrame({"x": days}),
        pl.DataFrame({"x": days}).lazy(),
        pl.DataFrame({"x": days}).cast(pl.Datetime("ns")),
    ):
        np.testing.assert_array_equal(encoded(frame, DAYS), [[2], [np.nan]])


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2020-02-29", 59.0),
        ("2020-01-01T12:00", 0.5),
        ("2020-01-01 06:00:00", 0.25),
        ("2020-01-01T00:00:43.2Z", 0.0005),
        ("2020-01-01T00:00:00.0000000009", 0.0),
        ("0001-01-01", float((dt.date(1, 1, 1) - dt.date(2020, 1, 1)).days)),
        ("9999-12-31", float((dt.date(9999, 12, 31) - dt.date(2020, 1, 1)).days)),
        *((text, np.nan) for text in ("2019-02-29", "2020-13-01", "2020-00-10", "2020-01-00", "2020-01-32")),
        *(
            (text, np.nan)
            for text in ("2020-1-1", "01.02.2020", "20200101", "2020-01-01T24:00", "2020-01-01T10:60")
        ),
        *((text, np.nan) for text in ("soon", "", "2020-01-01x", "2020-01-01\n2020-01-01", "２020-01-01")),
        ("2020-01-01T10:00+01:00", np.nan),
    ],
)
def test_dates_in_text(text, days):
    np.testing.assert_array_equal(encoded(pa.array([text]), DAYS), [[days]])
    np.testing.assert_array_equal(encoded(pa.array(["2020-01-02", text, None]), DAYS), [[1], [days], [np.nan]])


def test_dates_as_far_as_their_type_goes():
    low, high = -(2**63), 2**63 - 1
    for unit in ("s", "ms", "us", "ns"):
        ends = pa.array([low, high], pa.int64()).cast(pa.timestamp(unit))
        (first,), (last,) = encoded(ends, DAYS)
        assert first < -100_000 < 80_000 < last


def test_units_and_origins():
    noon = pa.array([dt.datetime(2020, 1, 2, 12)])  # noqa: DTZ001
    for how, value in {
        "hours since 2020-01-01": 36.0,
        "minutes since 2020-01-02T11:00": 60.0,
        "seconds since 2020-01-02 12:00:01": -1.0,
        "days since 2020-01-01T12:00+00:00": 1.0,
        "days since 2020-01-01T12:00+12:00": 1.5,
    }.items():
        assert encoded(noon, how) == [[value]]


# -- refused by schema or settings -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "how", "said"),
    [
        (pa.array([1, 2]), ["north"], "holds whole numbers (int64), but the entry 'north'"),
        (pa.array([1, 2]), ["1.5"], "'1.5' of its list"),
        (pa.array([1, 2]), ["1", "01"], "a value twice"),
        (pa.array([1.5]), ["nan"], "holds numbers (double), but the entry 'nan'"),
        (pa.array([True]), ["yes"], "holds truth values (bool), but the entry 'yes'"),
        (pa.array([dt.date(2020, 1, 1)]), ["2020-01-01"], "encode={'x': 'days since 2000-01-01'}"),
        (pa.array([b"a"]), ["a"], "but 'x' holds something else (binary)"),
        (pa.array([[1]]), ["a"], "something else"),
        (pa.array([dt.timedelta(1)]), DAYS, "something else (duration"),
        (pa.array([1, 2]), DAYS, "but 'x' holds whole numbers (int64)"),
        (pa.array([True]), DAYS, "holds truth values"),
    ],
)
def test_a_type_that_cannot_hold_the_values_is_refused(data, how, said):
    assert said in refusal(data, how)


@pytest.mark.parametrize(
    "how",
    [
        "",
        "days",
        "days since",
        "days since soon",
        "years since 2020-01-01",
        "since 2020-01-01",
        "days since 2020-02-30",
    ],
)
def test_an_invalid_origin_is_refused(how):
    with pytest.raises(InvalidInputError, match="such as 'days since 2000-01-01'"):
        read_encoding("x", how)


@pytest.mark.parametrize("labels", [[], ["a", "a"], [1, "1"], [None], [np.nan], [object()], [["a"]], ["\ud800"]])
def test_an_invalid_list_is_refused(labels):
    with pytest.raises(InvalidInputError, match="each once"):
        read_encoding("x", labels)


@pytest.mark.parametrize("given", [None, 3, {"a"}, {"a": 1}, b"ab", dt.date(2020, 1, 1)])
def test_other_types_than_lists_are_refused_with_an_example(given):
    with pytest.raises(InvalidInputError, match="expected a list of values for column 'x'") as failure:
        read_encoding("x", given)
    assert "encode={'x': ['a', 'b']}" in str(failure.value)


def test_lists_of_any_sequence():
    want = Categories(("a", "b"))
    for given in (["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"]), pd.Series(["a", "b"]), want):
        assert read_encoding("x", given) == want
    assert read_encoding("x", range(2)) == Categories(("0", "1"))
    assert read_encoding("x", DAYS) == Since(DAYS)
    assert text_of(np.str_("a")) == "a"


@pytest.mark.parametrize(
    ("labels", "values"),
    [(["-1", "1"], pa.array([1, None, 255], pa.uint8())), (["1.5", "1"], pa.array([1, None, 2]))],
)
def test_a_missing_value_is_not_an_entry_that_the_type_cannot_hold(labels, values):
    """For example -1 for unsigned numbers, or 1.5 for the file, among several, that holds whole numbers."""
    assert [column.tolist() for column in Categories(tuple(labels)).read(values)] == [[0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("missing", [pd.NA, np.nan])
def test_a_lone_surrogate_in_text_of_pandas_is_no_error(missing):
    """If pandas stores Python strings, one lone surrogate would stop the fit."""
    text = pd.Series(["a", "\ud800", "b", None], dtype=pd.StringDtype("python", na_value=missing))
    frame = pd.DataFrame({"x": text, "y": 1.0})
    (block,) = open_source(frame, encode={"x": ["a", "b"]}).blocks()
    assert block.values.tolist() == [[1, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]]
    (block,) = open_source(frame, units="x").blocks()
    assert block.units == 3


def test_a_list_may_contain_texts_that_elsewhere_represent_a_missing_entry(tmp_path):
    """For example NA, the code of Namibia."""
    path = tmp_path / "a.csv"
    path.write_text("x,y,id\nNA,1,a\nUS,2,NA\n,3,b\nnull,NA,c\n")
    rows = [[1, 0, 1], [0, 1, 2], [0, 0, 3], [0, 0, 9]]
    how = {"encode": {"x": ["NA", "US"]}, "fill": {"y": 9}}
    (block,) = open_source(path, columns=["x", "y"], **how).blocks()
    assert np.asarray(block.values).tolist() == rows
    (block,) = open_source(path, units="id", **how).blocks()
    assert block.values.tolist() == [rows[0], *rows[2:]]
