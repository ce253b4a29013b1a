"""Rule 12, the unit survives the reader: one line, entry or id changes nothing but its own unit, to the bit.

Every source is tested with a list of nasty lines or entries, under both relations. Adding a unit leaves all others
unchanged. Replacing a unit also leaves all others in their places.
"""

import tempfile
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse

from eigenveil import DPPCA, CsvFiles
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples
from eigenveil.sources import Layout, open_source
from eigenveil.sources.files import csv_lines

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(41, 3)) * [1.0, 1e-8, 1e12]
NAMES = ["a", "b", "c"]
PLACES = [0, 20, 41]

LINES = {
    "stray quote first": b'"oops,1,2',
    "stray quote last": b'1,2,oops"',
    "stray quote alone": b'"',
    "quote in the middle": b'1,2"5,3',
    "quote that opens a field late": b'1,x"y,"2',
    "two stray quotes": b'"1,"2,3',
    "inches": b'6" pipe,1,2',
    "quoted comma": b'"a,b",1,2',
    "quoted quotes": b'"a""b",1,2',
    "quoted numbers": b'"1","2","3"',
    "quote and backslash": b'"a\\",1,2',
    "single quotes": b"'1,2,3",
    "too many fields": b"1,2,3,4",
    "too few fields": b"1,2",
    "only delimiters": b",,",
    "many delimiters": b"," * 5000,
    "blank": b"",
    "spaces": b"   ",
    "tab": b"1\t2\t3",
    "semicolons": b"1;2;3",
    "carriage return": b"1,2,3\r4,5,6",
    "carriage return at the end": b"1,2,3\r\r",
    "NUL": b"1,\x00,3",
    "form feed and friends": b"1,\x0b\x0c\x1c\x1d\x1e\x1f\x85,3",
    "line separators of Unicode": "1,\u2028\u2029\u0085,3".encode(),
    "not UTF-8": b"1,\xff\xfe,3",
    "half a character": b"1,2,\xe3\x81",
    "surrogate": b"1,\xed\xa0\x80,3",
    "byte order mark": b"\xef\xbb\xbf1,2,3",
    "text": b"abc,1,2",
    "truth": b"true,false,TRUE",
    "date": b"2020-01-01,1,2",
    "missing": b"NA,null,nan",
    "infinite": b"inf,-inf,infinity",
    "huge": b"1e999,-1e999,1e-999",
    "hexadecimal": b"0x10,0b1,1_000",
    "long number": b"1" * 3000 + b",2,3",
    "looks like a header": b"a,b,c",
    "comment": b"# 1,2,3",
    "long line": b"x" * 100_000,
    "long quoted line": b'"' + b"y," * 50_000,
    "separator for Excel": b"sep=,",
    "trailing comma": b"1,2,3,",
    "decimal commas": b"1,5;2,5;3,5",
}
assert all(b"\n" not in line for line in LINES.values())


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """Put all temporary files in a folder that pytest deletes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def bits(rows):
    """Rows as bytes, with the same bytes for every nan."""
    dense = np.ascontiguousarray(rows.toarray() if sparse.issparse(rows) else np.asarray(rows), dtype=np.float64)
    return [row.tobytes() for row in np.where(np.isnan(dense), np.nan, dense) + 0.0]


def rows_of(data, **how):
    return [row for block in open_source(data, **how).blocks() for row in bits(block.values)]


def people_of(data, units):
    people = []
    for block in open_source(data, units=units).blocks():
        rows = bits(block.values)
        people += [tuple(rows[a:b]) for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)]
    return people


# -- lines of CSV files ----------------------------------------------------------------------------


def csv_line(row):
    return ",".join(map(repr, map(float, row))).encode()


GOOD = [csv_line(row) for row in ROWS]


def one_file(folder, lines):
    path = folder / "one.csv"
    path.write_bytes(b"\n".join([b"a,b,c", *lines, b""]))
    return path


def no_last_newline(folder, lines):
    path = folder / "open.csv"
    path.write_bytes(b"\n".join([b"a,b,c", *lines]))
    return path


def windows(folder, lines):
    path = folder / "windows.csv"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([b'"a","b","c"', *lines, b""]))
    return path


def headless(folder, lines):
    path = folder / "headless.csv"
    path.write_bytes(b"\n".join([*lines, b""]))
    return CsvFiles(path, header=False)


def three_files(folder, lines):
    for number, part in enumerate((lines[:9], lines[9:30], lines[30:])):
        (folder / f"part-{number}.csv").write_bytes(b"\n".join([b"a,b,c", *part, b""]))
    return sorted(folder.glob("part-*.csv"))


TEXT_FILES = {
    "one file": one_file,
    "no newline at the end": no_last_newline,
    "windows": windows,
    "no header": headless,
    "three files": three_files,
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(("way", "piece"), [("one file", 97), *((way, 1 << 22) for way in TEXT_FILES)])
def test_lines(way, line, piece, tmp_path, monkeypatch):
    """Fails if lines are not read one by one: a stray quote then deletes all lines that follow."""
    monkeypatch.setattr(csv_lines, "PIECE", piece)
    plain = rows_of(TEXT_FILES[way](tmp_path, GOOD))
    assert plain == bits(ROWS)
    for place in PLACES:
        added = rows_of(TEXT_FILES[way](tmp_path, [*GOOD[:place], LINES[line], *GOOD[place:]]))
        if way == "no newline at the end" and line == "blank" and place == len(GOOD):
            assert added == plain  # a newline at the end of the file starts no line
            continue
        assert added[:place] + added[place + 1 :] == plain
        instead = min(place, len(GOOD) - 1)
        lines = [*GOOD[:instead], LINES[line], *GOOD[instead + 1 :]]
        replaced = rows_of(TEXT_FILES[way](tmp_path, lines + [b"1,2,3"] * (way == "no newline at the end")))
        replaced = replaced[:-1] if way == "no newline at the end" else replaced
        assert len(replaced) == len(plain)
        assert replaced[:instead] + replaced[instead + 1 :] == plain[:instead] + plain[instead + 1 :]


@pytest.mark.parametrize("line", LINES)
def test_lines_of_people(line, tmp_path):
    """The id is the first entry. The nasty line belongs to a person with no other line, or to no one."""
    ids = [b"p%d" % (i % 14) for i in range(len(ROWS))]
    lines = [one + b"," + row for one, row in zip(ids, GOOD, strict=True)]

    def read(lines):
        path = tmp_path / "people.csv"
        path.write_bytes(b"\n".join([b"id,a,b,c", *lines, b""]))
        return people_of(path, "id")

    plain = read(lines)
    assert len(plain) == 14
    for place in PLACES:
        for nasty in (LINES[line], b"new person," + LINES[line], b'"new, ""person""",' + LINES[line]):
            added = read([*lines[:place], nasty, *lines[place:]])
            assert [person for person in added if person in plain] == plain
            assert len(added) <= len(plain) + 1


LAYOUTS = {
    "text": {"encode": {"a": ["x", "y, z"]}, "fill": 5},
    "numbers": {"encode": {"a": [1, 2]}, "fill": {"b": 5}},
    "dates": {"encode": {"a": "days since 2020-01-01"}, "fill": {"*": 0}},
}
"""Ways to read the first column; the other columns contain numbers."""


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("way", LAYOUTS)
def test_lines_of_encoded_and_filled_columns(way, line, tmp_path):
    """The type of the comparison depends on the declared list, not on the majority of the lines."""
    firsts = [b"x", b"1", b'"y, z"', b"1.0", b"2020-01-02", b"2", b""]  # as many numbers as strings
    gap = [b"", b"7"]
    lines = [b",".join([firsts[i % 7], gap[i % 2], row.split(b",")[2]]) for i, row in enumerate(GOOD)]

    def read(lines):
        path = tmp_path / "encoded.csv"
        path.write_bytes(b"\n".join([b"a,b,c", *lines, b""]))
        return rows_of(path, **LAYOUTS[way])

    plain = read(lines)
    assert len(set(plain)) == len(GOOD)
    for place in PLACES:
        added = read([*lines[:place], LINES[line], *lines[place:]])
        assert added[:place] + added[place + 1 :] == plain


@pytest.mark.parametrize("line", ["stray quote first", "too many fields", "not UTF-8", "blank"])
def test_a_line_of_a_labelled_file(line, tmp_path):
    from eigenveil.sources.labels import open_labelled

    def read(lines):
        path = tmp_path / "labelled.csv"
        path.write_bytes(b"\n".join([b"site,a,b,c", *lines, b""]))
        source = open_labelled(path, layout=Layout.of(NAMES), units=None, labels_in="site", labels=["x, y", "z"])
        return [row for block in source.blocks() for row in bits(block.values)]

    lines = [(b'"x, y",' if i % 2 else b"z,") + row for i, row in enumerate(GOOD)]
    plain = read(lines)
    nasty = read([*lines[:7], LINES[line], *lines[7:]])
    assert nasty[:7] + nasty[8:] == plain


def test_every_line_is_one_row_of_the_public_count(tmp_path):
    """Found in a review: 20,026 people became 1, and under replace 1000.0 became 999.0 without noise."""
    lines = [csv_line(row) for row in RNG.normal(size=(3000, 3))]

    def fitted(lines, **how):
        pca = DPPCA(1, center=False, random_state=0, algorithm="dp-gauss-1", **how)
        return pca.fit(one_file(tmp_path, lines)).n_samples_

    for nasty in (b'"oops,1,2', b"1,2,3,4", b"", b"1,\xff,3"):
        for place in (0, 1500):
            lines_with = [*lines[:place], nasty, *lines[place + 1 :]]
            assert fitted(lines_with, relation="replace") == 3000.0
            assert abs(fitted(lines_with) - fitted(lines)) <= 1.5


def test_a_mark_at_the_start_of_a_line_is_part_of_its_entry(tmp_path, monkeypatch):
    """Arrow drops one mark where it starts to read, and which line that is depends on all lines before it."""
    for piece in (1, 64, 97, 1 << 22):
        monkeypatch.setattr(csv_lines, "PIECE", piece)
        rows = rows_of(one_file(tmp_path, [*GOOD, b"1,2,3", *(b"\xef\xbb\xbf" + line for line in GOOD)]))
        want = ROWS.copy()
        want[:, 0] = np.nan
        assert rows[len(GOOD) + 1 :] == bits(want)


def test_no_line_alone_decides_whether_the_header_fits(tmp_path):
    """The file is refused only if lines of another width lead by two; the columns are those of the header."""
    path = tmp_path / "x.csv"
    for odd in (b"1", b"1,2,3,", b"9,1,2,3", b"1,5;2,5;3,5", b""):
        for lines in ([odd], [odd, *GOOD[:1]], [*GOOD[:2], odd, odd, odd]):
            path.write_bytes(b"\n".join([b"a,b,c", *lines, b""]))
            assert open_source(path).columns == ("a", "b", "c")


def test_very_long_lines_are_never_held(tmp_path, monkeypatch):
    """Exactly the lines longer than the limit become rows without values, wherever the pieces of a file end."""
    monkeypatch.setattr(csv_lines, "LONGEST_LINE", 300)
    fits, too_long = b"1,2," + b"0" * 295 + b"7", b"1,2," + b"0" * 296 + b"7"
    assert (len(fits), len(too_long)) == (300, 301)
    for piece in (1, 7, 64, 299, 300):
        monkeypatch.setattr(csv_lines, "PIECE", piece)
        for end in (no_last_newline, one_file):
            rows = rows_of(end(tmp_path, [*GOOD[:3], too_long, fits, *GOOD[3:], too_long]))
            assert rows[:3] + rows[5:-1] == bits(ROWS)
            assert rows[4] == bits(np.array([[1.0, 2.0, 7.0]]))[0]
            assert rows[3] == rows[-1] == bits(np.full((1, 3), np.nan))[0]


def test_one_file_with_odd_entries_among_others(tmp_path):
    """Types were once unified over files before reading, so one `abc` made all files fail."""
    for odd in (b"1,abc,3", b"1,2020-01-01,3", b"1,true,3", b"1,\xff,3"):
        (tmp_path / "x.csv").write_bytes(b"\n".join([b"a,b,c", *GOOD]))
        (tmp_path / "y.csv").write_bytes(b"\n".join([b"c,b,a", *GOOD, odd]))
        rows = rows_of([tmp_path / "x.csv", tmp_path / "y.csv"])
        assert rows[:-1] == bits(np.concatenate([ROWS, ROWS[:, ::-1]]))


def test_datasets_of_text_files_are_refused(tmp_path):
    """Arrow's own parser lets a quote absorb lines, so eigenveil reads paths itself."""
    path = one_file(tmp_path, GOOD)
    plain = ds.dataset(path, format="csv")
    for data in (plain, ds.dataset([plain]), ds.dataset([ds.dataset([plain])]), pa.csv.open_csv(path)):
        with pytest.raises(InvalidInputError, match="text files"):
            open_source(data)


# -- entries of everything else --------------------------------------------------------------------

ENTRIES = {
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "largest": np.finfo(float).max,
    "smallest": 5e-324,
    "negative zero": -0.0,
    "2^53 + 2": 2.0**53 + 2,
}


def table(rows, **more):
    return pa.table({**{name: rows[:, j] for j, name in enumerate(NAMES)}, **more})


def saved(write, name):
    def way(folder, rows, **more):
        write(table(rows, **more), folder / name)
        return folder / name

    return way


def npy(folder, rows):
    np.save(folder / "x.npy", rows)
    return folder / "x.npy"


def npz(folder, rows):
    np.savez(folder / "x.npz", rows)
    return folder / "x.npz"


def sparse_npz(folder, rows):
    sparse.save_npz(folder / "s.npz", sparse.csr_array(rows))
    return folder / "s.npz"


def with_nulls(_, rows, **more):
    columns = {name: pa.array(rows[:, j], from_pandas=True) for j, name in enumerate(NAMES)}
    return pa.table({**columns, **more})


def masked(_, rows):
    return np.ma.array(np.where(np.isnan(rows), 7.0, rows), mask=np.isnan(rows))


TABLES = {
    "pandas": lambda _, rows, **more: table(rows, **more).to_pandas(),
    "pandas with NA": lambda _, rows, **more: with_nulls(_, rows, **more).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _, rows, **more: pl.from_arrow(with_nulls(_, rows, **more)),
    "polars lazy": lambda _, rows, **more: pl.from_arrow(with_nulls(_, rows, **more)).lazy(),
    "reader": lambda _, rows, **more: with_nulls(_, rows, **more).to_reader(max_chunksize=7),
    "relation": lambda _, rows, **more: duckdb.from_arrow(with_nulls(_, rows, **more)),
    "arrow": lambda _, rows, **more: table(rows, **more),
    "arrow with nulls": with_nulls,
    "parquet": saved(pq.write_table, "x.parquet"),
    "feather": saved(feather.write_feather, "x.feather"),
    "dataset": lambda folder, rows, **more: ds.dataset(TABLES["parquet"](folder, rows, **more)),
}
ARRAYS = {
    "numpy": lambda _, rows: rows,
    "masked": masked,
    "objects": lambda _, rows: rows.astype(object),
    "list of rows": lambda _, rows: rows.tolist(),
    "list of arrays of single precision": lambda _, rows: list(rows.astype(np.float32)),
    "csr": lambda _, rows: sparse.csr_array(rows),
    "npy": npy,
    "npz": npz,
    "sparse npz": sparse_npz,
    "blocks": lambda _, rows: [rows[:7], rows[7:8], rows[8:]],
    "blocks of lists": lambda _, rows: iter([rows[:7].tolist(), rows[7:].tolist()]),
    "frames": lambda _, rows: [pd.DataFrame(rows[:7]), pd.DataFrame(rows[7:])],
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("way", [*ARRAYS, *TABLES])
def test_entries(way, entry, tmp_path):
    make = {**ARRAYS, **TABLES}[way]
    plain = rows_of(make(tmp_path, ROWS))
    for place in (0, 20, 40):
        nasty = ROWS.copy()
        nasty[place, 1] = ENTRIES[entry]
        replaced = rows_of(make(tmp_path, nasty))
        assert len(replaced) == len(plain)
        assert replaced[:place] + replaced[place + 1 :] == plain[:place] + plain[place + 1 :]
        added = rows_of(make(tmp_path, np.insert(ROWS, place, nasty[place], axis=0)))
        assert added[:place] + added[place + 1 :] == plain


ODD = [
    *(np.timedelta64(5, "D"), np.datetime64("2020-01-01"), np.timedelta64("NaT"), pd.Timedelta("1D")),
    *(pd.Timestamp("2020-01-01"), Decimal("0.1"), Decimal("sNaN"), Fraction(1, 3), True, np.bool_(True)),
    *(np.longdouble("1e400"), np.float32(0.1), np.int8(-3), np.complex128(2), np.ma.masked, np.array(4.0)),
    *(2**70 + 2**17 + 1, "\ud800", np.str_("2"), bytearray(b"2"), (1.0,), np.void(b"1")),
]
ODD += ["abc", "", "1.5", b"2", None, pd.NA, pd.NaT, 10**400, 1j, {"a": 1}, [1], np.array([1, 2]), object()]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{type(odd).__name__} {odd!r:.8}")
@pytest.mark.parametrize("kind", ["objects", "list of rows", "blocks"])
def test_odd_objects(odd, kind):
    """One invalid entry makes one row invalid; it once made the whole array fail."""
    objects = ROWS.astype(object)
    objects[20, 1] = None
    if kind == "objects":
        objects[20, 1:2] = np.array([odd, None], dtype=object)[:1] if not isinstance(odd, np.ndarray) else None
    as_lists = objects.tolist()
    as_lists[20][1] = odd if not isinstance(odd, (list, np.ndarray)) else None
    data = {"objects": objects, "list of rows": as_lists, "blocks": iter([as_lists[:5], as_lists[5:]])}[kind]
    rows = rows_of(data)
    plain = bits(ROWS)
    assert rows[:20] + rows[21:] == plain[:20] + plain[21:]


def with_entries(kind, places):
    """ROWS with objects in some places, as an array of objects or a list of rows."""
    objects = ROWS.astype(object)
    for place, odd in places.items():
        objects[place] = None
        held = np.empty((), dtype=object)
        held[()] = odd
        objects[place] = held
    return objects if kind == "objects" else [list(row) for row in objects]


@pytest.mark.parametrize("kind", ["objects", "list of rows"])
@pytest.mark.parametrize("one", ODD, ids=lambda odd: f"{type(odd).__name__} {odd!r:.8}")
def test_what_a_row_is_read_as_depends_on_no_other_row(one, kind):
    """Found in a review: text in one row of an array of objects made 18,000 rows with durations invalid."""
    alone = rows_of(with_entries(kind, {(3, 1): one}))
    for other in ODD:
        beside = rows_of(with_entries(kind, {(3, 1): one, (20, 0): other}))
        assert beside[:20] + beside[21:] == alone[:20] + alone[21:]


def test_masks_of_rows_in_lists_are_kept():
    """Found in a review: 999 was read, and one long double made masked entries of all other rows 0."""
    masked_row = np.ma.array([1.0, 999.0, 2.0], mask=[0, 1, 0])
    rows = rows_of([masked_row, [1.0, np.ma.masked, 2.0], np.array([np.longdouble("1e400"), 0, 0]), [1, 2, 3]])
    assert rows == bits([[1, np.nan, 2], [1, np.nan, 2], [np.inf, 0, 0], [1, 2, 3]])


@pytest.mark.filterwarnings("error::RuntimeWarning", "error:.*masked:UserWarning")
@pytest.mark.parametrize(
    "odd", [np.longdouble("1e400"), np.ma.masked, 10**400, np.complex128(1j), Decimal("sNaN")]
)
def test_no_entry_causes_a_warning(odd):
    lists = [[1.0 * i, 2.0, odd if i == 7 else np.longdouble(1)] for i in range(600)]
    masked_array = np.ma.array(np.ones((600, 3), np.longdouble))
    masked_array[7, 1] = odd if isinstance(odd, np.longdouble) else np.ma.masked
    for data in (lists, masked_array):
        DPPCA(1, delta=1e-5, center=False, random_state=0, epsilon=50.0).fit(data)


def test_one_single_precision_row_in_a_list_changes_no_type():
    """A list of rows is float64 whatever the type of one row is, so one row cannot change all norms."""
    singles = list(ROWS.astype(np.float32))
    for one in (np.ones(3), np.ones(3, dtype=np.float32), np.ones(3, dtype=np.int8)):
        (block,) = open_source([*singles, one]).blocks()
        assert block.values.dtype == np.float64


# -- ids -------------------------------------------------------------------------------------------

TEXT_IDS = [f"p{i % 14:02d}" for i in range(len(ROWS))]
NUMBER_IDS = [100 + i % 14 for i in range(len(ROWS))]
NO_IDS = (None, "", " ", "NaN", "9.6e+17", "9007199254740992.0")
NASTY_IDS = {
    "text": (
        TEXT_IDS,
        [
            *NO_IDS,
            *("a", "zz", "p", "p00 ", "\x00", "\ufffd", "7", " 7.0", "007", "9" * 5000, "1e3"),
        ],
    ),
    "numbers": (NUMBER_IDS, [None, 0, -1, 2**62, 99, 1000]),
}


@pytest.mark.parametrize("kind", NASTY_IDS)
@pytest.mark.parametrize("way", TABLES)
def test_ids(way, kind, tmp_path):
    """Another id, or none, on one person's rows leaves all other people unchanged."""
    ids, nasty = NASTY_IDS[kind]
    plain = people_of(TABLES[way](tmp_path, ROWS, who=pa.array(ids)), "who")
    mine = [i for i, one in enumerate(ids) if one == ids[3]]
    others = [person for place, person in enumerate(plain) if place != sorted(set(ids)).index(ids[3])]
    for odd in nasty:
        changed = [odd if i in mine else one for i, one in enumerate(ids)]
        people = people_of(TABLES[way](tmp_path, ROWS, who=pa.array(changed)), "who")
        assert [person for person in people if person in others] == others
        assert len(people) == len(others) + (odd not in NO_IDS)


@pytest.mark.parametrize("kind", NASTY_IDS)
def test_ids_given_apart(kind):
    ids, nasty = NASTY_IDS[kind]
    plain = people_of(ROWS, ids)
    for odd in (*nasty, float("nan"), pd.NA):
        changed = list(ids)
        changed[3] = odd
        people = people_of(ROWS, changed)
        kept = [person for person in plain if bits(ROWS)[3] not in person]
        assert [person for person in people if person in kept] == kept


# -- numbers of units and their places, under replace ----------------------------------------------


def units_of(operator, relation="replace"):
    from eigenveil.mechanisms.noise.veil import Veil
    from eigenveil.privacy import Budget, Ledger
    from eigenveil.units import Units

    budget = Budget.from_mu(1.0)
    return Units(operator, Veil(Ledger(budget, relation=relation)), budget)


def test_people_found_by_ids_have_no_fixed_places(tmp_path):
    """Found in a review: renaming one person moved units in all four parts, but was charged as a change in one."""
    ids = [f"p{i:02d}" for i in range(12)]
    on_disk = TABLES["parquet"](tmp_path, ROWS[:12], who=pa.array(ids))
    for people in (samples.people(np.eye(12), ids), samples.people(on_disk, "who")):
        units = units_of(people)
        assert not units.number_is_public
        with pytest.raises(InvalidInputError, match="order of the ids"):
            units.by_position()
    for fixed in (samples.rows(ROWS), samples.factors([ROWS[:3], ROWS[3:]]), samples.matrices(np.ones((4, 3, 3)))):
        assert units_of(fixed).number_is_public
        assert units_of(fixed).by_position().split(2)
        assert not units_of(fixed, "add-remove").number_is_public


def test_the_number_of_people_is_never_released_as_it_is():
    """Found in a review: a person without an id vanished, and n_samples_ revealed it without noise."""
    X = np.random.default_rng(0).normal(size=(500, 3))
    ids = [f"p{i}" for i in range(500)]
    for algorithm in ("tracked", "dp-gauss-1", "dp-power"):
        pca = DPPCA(1, relation="replace", algorithm=algorithm, epsilon=20.0).fit(X, units=ids)
        assert pca.n_samples_ != round(pca.n_samples_)
        assert abs(pca.n_samples_ - 500) < 50
        assert not any(
            "number of" in entry.what and entry.note == "public under replace" for entry in pca.ledger_.entries
        )


@pytest.mark.parametrize("index", [3, -1, 2**31 - 1, 7])
@pytest.mark.parametrize("chosen", [None, [1, 2]])
def test_an_index_outside_a_sparse_matrix_is_one_bad_row(index, chosen):
    """scipy accepts any index, and loops in C once read and wrote at that address."""
    matrix = sparse.csr_array(ROWS)
    plain = rows_of(matrix, columns=chosen)
    broken = matrix.copy()
    broken.indices[3 * 20 + 1] = index
    rows = rows_of(broken, columns=chosen)
    assert rows[:20] + rows[21:] == plain[:20] + plain[21:]
    assert not np.isfinite(np.frombuffer(rows[20])).all()


def damage_indices(matrix):
    matrix.indices[5] = 1 << 20


def damage_negative(matrix):
    matrix.indices[5] = -3


def damage_pointers(matrix):
    matrix.indptr[1] = 1 << 20


def damage_end(matrix):
    matrix.indptr[1:-1] = 1 << 20
    matrix.indptr[-1] = 0


def damage_values(matrix):
    matrix.data = matrix.data[:-2]


def damage_rows(matrix):
    matrix.row[5] = 1 << 20


def damage_columns(matrix):
    matrix.col[5] = -1


def damage_offsets(matrix):
    matrix.offsets = np.append(matrix.offsets, 1)


def damage_lists(matrix):
    matrix.rows[5] = [0, 1 << 20]


def damage_lengths(matrix):
    matrix.data[5] = [1.0] * 1000


def damage_keys(matrix):
    (matrix._dict if hasattr(matrix, "_dict") else matrix)[(1 << 20, 0)] = 1.0


COMPRESSED = (damage_indices, damage_negative, damage_pointers, damage_end, damage_values)
DAMAGES = [
    *(("csc", damage) for damage in COMPRESSED),
    *(("bsr", damage) for damage in COMPRESSED),
    *(("coo", damage) for damage in (damage_rows, damage_columns, damage_values)),
    *(("dia", damage) for damage in (damage_offsets, damage_values)),
    *(("lil", damage) for damage in (damage_lists, damage_lengths)),
    ("dok", damage_keys),
]


@pytest.mark.parametrize("make", ["array", "matrix"])
@pytest.mark.parametrize(("kind", "damage"), DAMAGES, ids=lambda one: getattr(one, "__name__", one))
def test_a_damaged_sparse_matrix_never_reaches_the_code_of_scipy(kind, damage, make):
    """Found in a review: scikit-learn made CSR of a CSC matrix first, and Python ended with SIGSEGV."""
    model = DPPCA(1, epsilon=50.0, center=False, random_state=0).fit(ROWS)
    matrix = getattr(sparse, f"{kind}_{make}")(ROWS[:40])
    assert rows_of(matrix) == bits(ROWS[:40])
    damage(matrix)
    for action in (
        lambda: open_source(matrix),
        lambda: DPPCA(1, center=False).fit(matrix),
        lambda: DPPCA(1, center=False).fit(matrix, units=np.arange(40)),
        lambda: DPPCA(1, center=False).partial_fit(matrix),
        lambda: model.transform(matrix),
    ):
        with pytest.raises(InvalidInputError, match="indices"):
            action()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok"])
def test_text_in_a_sparse_matrix_of_objects_is_a_missing_value(kind):
    """It once refused the matrix, and the error of scikit-learn quoted the entry."""
    matrix = getattr(sparse, f"{kind}_array")(ROWS)
    if kind == "lil":
        matrix.data[20][1] = "SECRET-777"
    elif kind == "dok":
        (matrix._dict if hasattr(matrix, "_dict") else matrix)[(20, 1)] = "SECRET-777"
    else:
        matrix.data = matrix.data.astype(object)
        matrix.data[matrix.data == ROWS[20, 1]] = "SECRET-777"
    rows = rows_of(matrix)
    assert rows[:20] + rows[21:] == bits(ROWS)[:20] + bits(ROWS)[21:]
    assert np.isnan(np.frombuffer(rows[20])[1])
    DPPCA(1, epsilon=50.0, random_state=0).fit(matrix).transform(matrix)


def test_no_error_quotes_a_value():
    canary = "SECRET-777"
    pca = DPPCA(1, epsilon=50.0, random_state=0).fit(ROWS)
    eye = np.eye(3)[:, :1]
    nested = [[[canary, 1.0, 2.0]], [[1.0, 2.0, 3.0]]]
    for action in (
        lambda: pca.inverse_transform([[canary]]),
        lambda: pca.inverse_transform(np.array([[canary]])),
        lambda: pca.inverse_transform(np.array([[canary]], dtype=object)),
        lambda: samples.spiked(eye, [canary], ROWS),
        lambda: samples.spiked([[canary], [0], [0]], [1.0], ROWS),
        lambda: samples.matrices([[[canary]], [[1.0, 2.0]]]),
        lambda: samples.matrices(np.array([[[canary]]])),
        lambda: samples.factors([[[canary], [1.0, 2.0]]]),
    ):
        with pytest.raises(InvalidInputError) as refusal:
            action()
        assert canary not in str(refusal.value)
        assert refusal.value.__cause__ is None
    (block,) = samples.factors(nested).source.blocks()
    assert bits(block.values) == bits([[np.nan, 1, 2], [1, 2, 3]])


@pytest.mark.parametrize("as_list", [False, True])
def test_masks_of_matrices_and_factors_are_kept(as_list):
    """Found in a review: masked entries holding 1e6 became the first component."""
    values = np.ma.array(np.ones((4, 3, 3)), mask=False)
    values[1, 0, 0] = 1e6
    values.mask[1, 0, 0] = True
    given_values = list(values) if as_list else values
    operator = samples.matrices(given_values)
    found = np.concatenate([np.asarray(block.values) for part in operator.partitions() for block in part.blocks()])
    assert np.isnan(found[1, 0, 0])
    assert np.delete(found.ravel(), 9).tolist() == [1.0] * 35
    (block,) = samples.factors(given_values).source.blocks()
    np.testing.assert_array_equal(block.values, found.reshape(12, 3))
    with pytest.raises(InvalidInputError, match="finite"):
        samples.spiked(np.ma.array(np.eye(3)[:, :1], mask=np.eye(3)[:, :1]), [1.0], ROWS)


def test_decimals_do_not_depend_on_the_digits_of_others():
    """One entry with more digits changes the type of the whole column."""
    values = [Decimal(k).scaleb(-3) for k in range(1, 400)]
    for odd in (Decimal(1), Decimal("0.1234567890123456789012345")):
        rows = rows_of(pa.table({"a": [*values, odd]}))
        assert rows[:-1] == bits(np.array([[float(value)] for value in values]))


def test_objects_that_raise_anything_are_bad_entries():
    class Odd:
        def __float__(self):
            raise RuntimeError("canary")

    objects = ROWS.astype(object)
    for odd in (Odd(), Decimal("sNaN"), np.complex128(1j), np.ma.masked, np.longdouble("1e4000")):
        objects[20, 1] = odd
        rows = rows_of(objects)
        assert rows[:20] + rows[21:] == bits(ROWS)[:20] + bits(ROWS)[21:]
