"""Ids: the id of one person never becomes two ids, and never silently becomes the id of another person."""

import datetime as dt
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import zip_longest

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from hypothesis import given as example
from hypothesis import strategies as st

from eigenveil import DPPCA, TrackedStream
from eigenveil.errors import InvalidInputError
from eigenveil.sources import open_source
from eigenveil.sources.people.identities import bytes_to_hash, identities
from eigenveil.sources.people.normal_form import (
    _BLANK,
    MISSING,
    exact_texts,
    is_blank,
    lost_digits,
    normal_text,
    normal_texts,
)

BIG = 2**53
X = np.random.default_rng(0).normal(size=(4, 2))


def frame(ids):
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "who": pd.Series(ids)})


def pandas(ids, _):
    return frame(ids), "who"


def given(ids, _):
    return X, pd.Series(ids)


def array(ids, _):
    return X, np.array(ids, dtype=float)


def in_polars(ids, _):
    return pl.DataFrame(frame(ids)), "who"


def parquet(ids, folder):
    frame(ids).to_parquet(folder / "x.parquet")
    return folder / "x.parquet", "who"


WAYS = [pandas, given, array, in_polars, parquet]


@pytest.mark.parametrize("way", WAYS)
def test_floats_that_lost_digits_are_refused(way, tmp_path):
    """Review finding: one missing id made all ids floats, and people were merged in pairs (19,928 -> 9,986)."""
    data, units = way([BIG, BIG + 1, None, BIG + 2], tmp_path)
    for action in (
        lambda: list(open_source(data, units=units).blocks()),
        lambda: DPPCA(1, center=False).fit(data, units=units),
    ):
        with pytest.raises(InvalidInputError, match="digits") as refusal:
            action()
        assert "Int64" in refusal.value.hint
    below, units = way([BIG - 1, BIG - 2, None, BIG - 2], tmp_path)
    people = [np.diff(block.offsets).tolist() for block in open_source(below, units=units).blocks()]
    assert people == [[2, 1]]


def test_the_hint_works():
    for ids in (
        pd.array([BIG, BIG + 1, None, BIG + 2], dtype="Int64"),
        [str(BIG), str(BIG + 1), None, str(BIG + 2)],
    ):
        (block,) = open_source(X, units=ids).blocks()
        assert np.diff(block.offsets).tolist() == [1, 1, 1]


@pytest.mark.parametrize(("kind", "limit"), [(np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53)])
def test_every_width_of_floats_has_its_own_limit(kind, limit):
    for sign in (1, -1):
        for ids in (np.array([1, 2, 3, sign * limit], dtype=kind), [1, 2, 3, kind(sign * limit)]):
            assert open_source(X, units=ids).order.tolist() == [0, 1, 2]
            assert identities(ids) == [b"n1", b"n2", b"n3", None]
            assert bytes_to_hash(ids) == [b"n1", b"n2", b"n3", None]
        assert open_source(X, units=np.array([1, 2, 3, sign * (limit - 1)], dtype=kind)).order.size == 4


@pytest.mark.parametrize("way", [pandas, given, array, in_polars, parquet])
def test_one_float_that_lost_its_digits_is_one_missing_id(way, tmp_path):
    """It once refused all: an error from one id."""
    data, units = way([7, 8, float(BIG), 7], tmp_path)
    assert [np.diff(block.offsets).tolist() for block in open_source(data, units=units).blocks()] == [[2, 1]]
    mixed = open_source(X, units=[("a", 1), ("b", 2), float(BIG), None])
    assert [np.diff(block.offsets).tolist() for block in mixed.blocks()] == [[1, 1]]


def test_one_id_is_one_id_in_every_type():
    want = identities([7, None])
    for ids in (
        np.array([7.0, np.nan]),
        np.array([7, np.nan], dtype=np.float32),
        pa.array([7, None], pa.uint8()),
        pd.Series([7, None], dtype="Int64"),
        pd.Series([7, None]),
        pl.Series([7, None], dtype=pl.UInt64),
    ):
        assert identities(ids) == want


def test_fractions_and_infinities_are_no_ids():
    """0.1 in single precision differs from 0.1: one person would become two."""
    assert identities(np.array([0.1, np.inf, -np.inf, 3.0])) == [None, None, None, b"n3"]


def test_a_person_is_in_one_batch_whatever_other_ids_are():
    """Review findings: the id 2^53 + 1, later a float, was in two batches; then it refused the whole block."""
    stream = TrackedStream(1, epsilon=1.0, delta=1e-6, batch_size=1000, units="people", random_state=0)
    rows = np.random.default_rng(0).normal(size=(100, 3))
    stream.add(rows, units=pd.Series([BIG + 1, *range(10, 109)]))
    stream.add(rows, units=pd.Series([BIG + 1, None, *range(1000, 1098)]))
    assert np.flatnonzero(stream._open.empty).tolist() == [100, 101]


def test_parquet_of_people_is_refused_while_it_is_read(tmp_path):
    table = pa.table({"x": [1.0, 2.0], "who": [1.0, 2.0**60]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InvalidInputError, match="digits"):
        list(open_source(tmp_path / "x.parquet", units="who").blocks())


def test_a_missing_id_in_one_file_does_not_merge_the_people_of_another(tmp_path):
    """The common type of whole numbers and floats is float, in which large ids would lose their digits."""
    numbers = pa.table({"x": np.arange(4.0), "who": pa.array([BIG, BIG + 1, BIG + 2, BIG + 3], pa.int64())})
    pq.write_table(numbers, tmp_path / "a.parquet")
    for column in (pa.array([7.0, None]), pa.array([7.0, None], pa.float32())):
        pq.write_table(pa.table({"x": np.arange(2.0), "who": column}), tmp_path / "b.parquet")
        with pytest.raises(InvalidInputError, match="digits"):
            list(open_source(tmp_path, units="who").blocks())
    pq.write_table(pa.table({"x": np.arange(2.0), "who": pa.array([BIG, None])}), tmp_path / "b.parquet")
    (block,) = open_source(tmp_path, units="who").blocks()
    assert np.diff(block.offsets).tolist() == [2, 1, 1, 1]
    pq.write_table(pa.table({"x": [0.0], "who": pa.array([10**20], pa.decimal128(30, 0))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [0.0], "who": [7.0]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidInputError, match="digits"):
        list(open_source(tmp_path, units="who").blocks())


def groups_of(ids):
    """Return which of the ids, without the last one, are equal."""
    source = open_source(np.arange(float(len(ids)))[:, None], units=ids)
    people = [
        tuple(row for row in np.asarray(block.values)[a:b, 0] if row < len(ids) - 1)
        for block in source.blocks()
        for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)
    ]
    return {person for person in people if person}


@pytest.mark.parametrize("shape", [list, lambda ids: np.array([*ids, None], dtype=object)[:-1], pd.Series])
@pytest.mark.parametrize(
    "ids",
    [
        [pd.Timestamp(10**18 + i) for i in range(4)],
        [dt.time(1), dt.time(1, tzinfo=dt.UTC), dt.time(1), dt.time(2)],
        [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 2)],  # noqa: DTZ001
        [2**63 + 1, 2**63 + 2, 5],
        ["a", "b", "a"],
        [1, 2, 1],
        [(1, 2), (1, 3), (1, 2)],
    ],
)
def test_one_odd_id_changes_no_other(ids, shape):
    """Arrow and Python differ in which ids are equal, and one unusual id used to switch between them."""
    if shape is pd.Series and not isinstance(ids[0], str | int | tuple):
        shape = partial(pd.Series, dtype=object)
    want = groups_of(shape([*ids, ids[0]]))
    for odd in (
        "x",
        7,
        None,
        0.5,
        (9,),
        [1],
        {},
        1j,
        np.inf,
        Decimal("sNaN"),
        np.datetime64("2020"),
        np.float32(3),
    ):
        others = [*ids, odd]
        if shape is pd.Series:
            others = pd.Series(others, dtype=object)
            assert groups_of(others) == want
        else:
            assert groups_of(shape(others) if odd != [1] else others) == want


def test_text_ids_that_are_not_utf_8_are_read_as_bytes():
    text = pa.array([b"\xff", b"a"]).view(pa.string())
    assert identities(text) == [b"s\xff", b"sa"]


def test_bytes_to_hash_are_equal_for_equal_ids():
    same = [7, 7.0, np.int8(7), Decimal(7), Fraction(7), np.float32(7)]
    assert len({bytes_to_hash([one, "x"])[0] for one in same} | set(bytes_to_hash(np.array([7, 7.0])))) == 1
    assert (
        bytes_to_hash(["7", None])[0]
        == bytes_to_hash(pd.Series(["7", "8"]))[0]
        == bytes_to_hash(pd.Categorical(["7"]))[0]
    )
    assert bytes_to_hash([(1, 2), "a"])[0] == bytes_to_hash([(1.0, 2.0), 3])[0]
    assert bytes_to_hash([None, float("nan"), "a"])[:2] == [None, None]
    with pytest.raises(InvalidInputError, match="whole numbers or text"):
        bytes_to_hash(pd.Series(pd.to_datetime(["2020-01-01"])))


# -- whole numbers as text -------------------------------------------------------------------------

TEXTS = {
    7: ["7", "7.0", "7.", "7.000", "+7", " 7", "7.0 ", "\t7\u00a0", "\u30007"],
    -7: ["-7", "-7.0"],
    0: ["0", "-0", "+0", "0.0", "-0.0"],
    "1000": ["1000", "1000.0"],
    "large": ["9007199254740991", "9007199254740991.0", "+9007199254740991."],
    "larger": ["9007199254740992", " 9007199254740992"],
    "largest": ["9007199254740993"],
    "twenty digits": ["12345678901234567890", "+12345678901234567890"],
    "twenty other digits": ["12345678901234567891"],
    "many digits": ["9" * 5000],
    **{
        one: [one]
        for one in ("007", "07", "00", "-07", "007.0", "1e3", "7e0", "7.5", "7,0", "7.0.0", "+-7", "--7")
    },
    **{one: [one] for one in ("\u0667", "0x7", "7a", "seven", "Seven", "seven ", "True", "nan.", ".", "-", "7 0")},
}
"""By person: texts of that person's id."""

TEXT_ROWS = [
    (person, text)
    for texts in zip_longest(*([(p, t) for t in ts] for p, ts in TEXTS.items()))
    for person, text in filter(None, texts)
]


def as_csv(ids, folder):
    lines = (f'{number},"{one}"' for number, one in enumerate(ids))
    (folder / "x.csv").write_text("\n".join(["x,who", *lines]) + "\n", encoding="utf-8")
    return folder / "x.csv"


def table_of(ids, kind=None):
    return pa.table({"x": np.arange(float(len(ids))), "who": pa.array(ids, kind)})


def as_file(table, folder, write, name):
    write(table, folder / name)
    return folder / name


TEXT_WAYS = {
    "list": lambda ids, _: (np.arange(float(len(ids)))[:, None], ids),
    "objects": lambda ids, _: (np.arange(float(len(ids)))[:, None], np.array(ids, dtype=object)),
    "numpy": lambda ids, _: (np.arange(float(len(ids)))[:, None], np.array(ids)),
    "pandas": lambda ids, _: (table_of(ids).to_pandas(), "who"),
    "pandas objects": lambda ids, _: (table_of(ids).to_pandas().astype({"who": object}), "who"),
    "pandas python": lambda ids, _: (table_of(ids).to_pandas().astype({"who": "string[python]"}), "who"),
    "pandas arrow": lambda ids, _: (table_of(ids).to_pandas(types_mapper=pd.ArrowDtype), "who"),
    "categories": lambda ids, _: (table_of(ids).to_pandas().astype({"who": "category"}), "who"),
    "polars": lambda ids, _: (pl.from_arrow(table_of(ids)), "who"),
    "lazy": lambda ids, _: (pl.from_arrow(table_of(ids)).lazy(), "who"),
    "arrow": lambda ids, _: (table_of(ids), "who"),
    "large": lambda ids, _: (table_of(ids, pa.large_string()), "who"),
    "views": lambda ids, _: (table_of(ids, pa.string_view()), "who"),
    "codes": lambda ids, _: (table_of(ids, pa.dictionary(pa.int32(), pa.string())), "who"),
    "parquet": lambda ids, to: (as_file(table_of(ids), to, pq.write_table, "x.parquet"), "who"),
    "feather": lambda ids, to: (as_file(table_of(ids), to, pf.write_feather, "x.feather"), "who"),
    "csv": lambda ids, to: (as_csv(ids, to), "who"),
}


def persons(data, units):
    people = []
    for block in open_source(data, units=units).blocks():
        rows = np.asarray(block.values)[:, 0]
        people += [tuple(rows[a:b]) for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)]
    return set(people)


@pytest.mark.parametrize("way", TEXT_WAYS)
def test_a_whole_number_as_text_is_one_id_in_every_source(way, tmp_path):
    """Review finding: with one id missing in a month, pandas wrote 7.0 for 7, and 8,000 people became 16,000."""
    where = {}
    for row, (person, _) in enumerate(TEXT_ROWS):
        where.setdefault(person, []).append(float(row))
    data, units = TEXT_WAYS[way]([text for _, text in TEXT_ROWS], tmp_path)
    assert persons(data, units) == {tuple(rows) for rows in where.values()}


LOST = [
    *("9007199254740992.0", "-9007199254740993.", "\t12345678901234567890.00 ", "9" * 5000 + ".0"),
    *("9.626811782018036e+17", "9.62681E+17", "1e+16", "-1.5e17", "9.63E+11", " 2.5e+123"),
]
NO_FLOATS = [
    "9007199254740991.0",
    "8999999999999999.0",
    "9007199254740993",
    "1e3",
    "1e+05",
    "1.5e10",
    "5e17",
    "1e+16a",
]


@pytest.mark.parametrize("way", TEXT_WAYS)
def test_text_that_is_a_float_without_its_digits_is_no_id(way, tmp_path):
    """pandas writes 9.6e+17 for every id of a CSV file if one is missing there: people became one, or two."""
    ids = [text for both in zip_longest(NO_FLOATS, LOST[4:], LOST[:4]) for text in both if text is not None]
    ids += [f"p{one}" for one in range(5)]
    data, units = TEXT_WAYS[way](ids, tmp_path)
    assert persons(data, units) == {(float(row),) for row, one in enumerate(ids) if one not in LOST}
    data, units = TEXT_WAYS[way](["1", *LOST], tmp_path)
    with pytest.raises(InvalidInputError, match="digits") as refusal:
        persons(data, units)
    assert "when the file is read" in refusal.value.hint


@pytest.mark.parametrize("way", TEXT_WAYS)
@pytest.mark.parametrize("missing", [*MISSING, " ", "\u00a0NA\t"])
def test_text_for_a_missing_id_is_the_same_in_every_source(way, missing, tmp_path):
    """A blank id was missing in CSV files, but all blank ids were one person elsewhere."""
    data, units = TEXT_WAYS[way](["a", missing, missing, missing, "b", "a", "None"], tmp_path)
    assert persons(data, units) == {(0.0, 5.0), (4.0,), (6.0,)}


@example(
    st.text(st.sampled_from("0017.+-e \u00a0\u2007\x1f\x00\n"), max_size=7)
    | st.from_regex(r"[ +-]?9?00719925474099[0-9]{1,4}(\.0*)?", fullmatch=True)
    | st.from_regex(r"[+-]?[0-9](\.[0-9]*)?[eE]\+?[0-9]{1,3} ?", fullmatch=True)
    | st.sampled_from([*MISSING, *LOST, *NO_FLOATS])
)
def test_python_and_arrow_write_a_number_in_the_same_form(text):
    arrow = normal_texts(pa.array([text, None]))
    assert arrow.to_pylist() == [None if is_blank(text) else normal_text(text), None]
    assert (exact_texts(arrow)[0].as_py() is None) == (is_blank(text) or lost_digits(text))
    assert normal_text(normal_text(text)) == normal_text(text)


def test_blanks_around_a_number_are_those_of_unicode():
    for number in range(0x10000):
        blank = chr(number)
        assert bool(re.fullmatch(_BLANK, blank)) == blank.isspace()


def test_two_months_of_csv_are_the_same_people(tmp_path):
    january = pd.DataFrame({"x": np.arange(50.0), "id": np.arange(50)})
    february = january.astype({"id": float})
    february.loc[5, "id"] = np.nan
    for kind, write in (("csv", partial(pd.DataFrame.to_csv, index=False)), ("parquet", pd.DataFrame.to_parquet)):
        (tmp_path / kind).mkdir()
        write(january, tmp_path / kind / f"a.{kind}")
        write(february, tmp_path / kind / f"b.{kind}")
        want = {(float(one), float(one)) if one != 5 else (5.0,) for one in range(50)}
        assert persons(tmp_path / kind, "id") == want


def test_objects_that_are_one_number_are_one_person():
    """dask writes objects as text, so 7 and 7.0 and the text 7 are one id there; and so here."""
    mixed = [7, 7.0, "7", "7.0", np.int8(7), np.float32(7), Decimal(7), Fraction(7), np.str_("+7")]
    for others in ([], ["ann"], [0.5], [(1, 2)], [2**80, "1208925819614629174706176"]):
        ids = [*mixed, *others]
        rows = np.arange(float(len(ids)))[:, None]
        assert tuple(map(float, range(len(mixed)))) in persons(rows, ids)
        assert len(persons(rows, ids)) == 1 + bool(others)
        assert len(set(bytes_to_hash(ids)[: len(mixed)])) == 1
    assert persons(np.arange(4.0)[:, None], [("7", "a"), (7.0, "a"), ("07", "a"), "ann"]) == {(0, 1), (2,), (3,)}
    assert identities(["7.0"]) == identities([7]) == identities(pa.array([" 7"])) == [b"n7"]
    assert identities(pa.array(["007"])) == [b"s007"]


def test_times_keep_all_their_digits_on_disk(tmp_path):
    """Review finding: DuckDB keeps microseconds, so people whose ids differed by less became one."""
    odd = {
        pa.duration("ns"): [0, 1, 2, 999, 0],
        pa.timestamp("ns"): [0, 1, 2, 999, 0],
        pa.timestamp("s"): [0, 2**62, 2**61, -(2**62), 0],
        pa.time64("ns"): [0, 1, 2, 999, 0],
        pa.date64(): [0, 86400000, 2 * 86400000, -86400000, 0],
        pa.date32(): [0, 2**31 - 1, -(2**31), 5, 0],
    }
    for kind, ids in odd.items():
        table = table_of(pa.array(ids, pa.int32() if kind == pa.date32() else pa.int64()).view(kind))
        pf.write_feather(table, tmp_path / "x.feather")
        assert persons(tmp_path / "x.feather", "who") == persons(table, "who") == {(0, 4), (1,), (2,), (3,)}
    pf.write_feather(table_of(pa.array([0, 1, 2], pa.timestamp("ms"))), tmp_path / "a.feather")
    pf.write_feather(table_of(pa.array([0, 10**6, 2 * 10**6 + 1], pa.timestamp("ns"))), tmp_path / "b.feather")
    paths = [tmp_path / "a.feather", tmp_path / "b.feather"]
    assert persons(paths, "who") == {(0, 0), (1, 1), (2,)}


# -- ids that are compared one by one --------------------------------------------------------------

SURROGATE = "\ud800"
SURROGATES = [
    np.array(["a", "b", "a", SURROGATE]),
    ["a", "b", "a", SURROGATE],
    np.array(["a", "b", "a", SURROGATE], object),
    pd.Series(["a", "b", "a", SURROGATE], dtype="string[python]"),
]


@pytest.mark.parametrize("ids", SURROGATES, ids=["array", "list", "objects", "pandas"])
def test_a_lone_surrogate_is_an_id_like_any_other(ids):
    """Names read with errors="surrogateescape" have them; in an array of text, one refused the whole fit."""
    (block,) = open_source(X, units=ids).blocks()
    assert block.values.tolist() == X[[0, 2, 1, 3]].tolist()
    assert identities(ids) == bytes_to_hash(ids) == [b"sa", b"sb", b"sa", b"s\xed\xa0\x80"]


@pytest.mark.parametrize("kind", [">i8", ">i2", ">u4", ">f4", ">f8", "<i8"])
def test_ids_of_any_byte_order(kind):
    ids = np.array([1, 2, 1, 3], kind)
    assert open_source(X, units=ids).bounds.tolist() == [0, 2, 3, 4]
    assert open_source(X, units=np.ma.array(ids, mask=[0, 0, 0, 1])).bounds.tolist() == [0, 2, 3]
    assert identities(ids) == [b"n1", b"n2", b"n1", b"n3"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_one_column_is_that_column(make):
    assert open_source(X, units=make({"id": ["a", "b", "a", "c"]})).bounds.tolist() == [0, 2, 3, 4]
    assert identities(make({"id": [1, 2]})) == [b"n1", b"n2"]
    with pytest.raises(InvalidInputError, match="a frame of 2 columns"):
        open_source(X, units=make({"id": [1, 2, 3, 4], "b": [1, 2, 3, 4]}))


def test_ids_without_an_order_are_refused():
    for ids in ({1, 2, 3, 4}, {1: "a", 2: "b", 3: "c", 4: "d"}):
        with pytest.raises(InvalidInputError, match="one id per row"):
            open_source(X, units=ids)


def test_a_tuple_with_a_missing_part_is_a_missing_id():
    """Python finds the same nan equal and another nan not: one person was one unit or two."""
    one = float("nan")
    for other in (one, float("nan"), None, pd.NA, np.float32("nan")):
        ids = [("a", one), ("b", 1), ("b", 1.0), ("a", other), ("c", 2), ("d", ("e", 3))]
        source = open_source(np.arange(12.0).reshape(6, 2), units=ids)
        assert (source.order.tolist(), source.bounds.tolist()) == ([1, 2, 4, 5], [0, 2, 3, 4])


def test_times_of_numpy_are_no_numbers():
    """numpy finds 5 equal to five days and to five seconds, which differ."""
    days, seconds = np.timedelta64(5, "D"), np.timedelta64(5, "s")
    for ids in ([days, seconds, "x", "y"], [days, seconds, 5, "y"]):
        assert open_source(X, units=ids).bounds.tolist() == [0, 1, 2, 3, 4]


ODD_IDS = [(1, 2), "x", Decimal("4001.5"), dt.date(2020, 1, 1), 2.0**53, np.inf, 0.5, [1], {}, 1j, b"x", 10**5000]


@pytest.mark.parametrize(
    "odd",
    [*ODD_IDS, Decimal("1e999999999"), Decimal("sNaN"), np.array([1, 2]), object()],
    ids=lambda odd: type(odd).__name__,
)
def test_one_odd_id_changes_no_other_in_a_stream(odd):
    """It once refused the whole block, and so stopped the stream."""
    ids = list(range(20))
    want = identities(ids)
    ids[7] = odd
    found = identities(ids)
    assert found[7] == (b"sx" if isinstance(odd, str) else None)
    assert found[:7] + found[8:] == want[:7] + want[8:]


def test_numbers_and_text_are_compared_alike_in_every_block():
    """pandas reads a column of numbers as text if one entry of a block is none."""
    assert identities(["7", 7, 7.0, Decimal(7), Fraction(7), True, "1", "07", " 7", "-3", -3, "7.0", " x"]) == [
        *[b"n7"] * 5,
        *[b"n1"] * 2,
        b"s07",
        b"n7",
        *[b"n-3"] * 2,
        b"n7",
        b"s x",
    ]
    for ids in (pd.Series(["7", "x"]), np.array(["7", "x"]), pa.array(["7", "x"]), pl.Series(["7", "x"])):
        assert identities(ids) == [b"n7", b"sx"]
    assert open_source(X, units=["7", 7, "x", "07"]).bounds.tolist() == [0, 2, 3, 4]
    assert bytes_to_hash(["7", 7])[0] == bytes_to_hash(["7", 7])[1]


@pytest.mark.parametrize("digits", [1, 18, 19, 20, 400, 401, 4001, 4300])
@pytest.mark.parametrize("others", [[], ["ann"], ["\ud800"], [0.5], [2**70], [(1, 2)]], ids=repr)
def test_a_number_and_its_text_are_one_id_whatever_other_ids_are(digits, others):
    """Up to 400 digits; a larger number is another id than its text, and also that depends on no other id."""
    number = 10 ** (digits - 1)
    source = open_source(np.arange(4.0 + len(others))[:, None], units=[number, str(number), -number, "x", *others])
    sizes = sorted(np.diff(source.bounds).tolist())
    assert sizes == ([1] * (2 + len(others)) + [2] if digits <= 400 else [1] * (4 + len(others)))
    found = identities([number, str(number)])
    assert found[0] == (b"n%d" % number if digits <= 400 else None)
    assert (found[0] == found[1]) == (digits <= 400)


@pytest.mark.parametrize("ids", [[(1, 2), (3, 4), 5], [0.5, 1.5, 2.0], [2.0**60, 2.0**61, 1.0]])
def test_ids_of_which_most_are_odd_are_refused_before_a_stream_begins(ids):
    stream = TrackedStream(1, epsilon=1.0, delta=1e-6, batch_size=1000, units="people", random_state=0)
    for given_ids in (ids, np.array(ids)) if not isinstance(ids[0], tuple) else (ids,):
        with pytest.raises(InvalidInputError, match="ids that can be compared"):
            stream.add(np.ones((3, 2)), units=given_ids)
    assert stream.arrivals == 0
    stream.add(np.ones((1, 2)), units=[7])
    stream.add(np.ones((3, 2)), units=ids)
    assert stream.arrivals == 4
