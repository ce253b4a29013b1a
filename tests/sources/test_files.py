"""Files given by path, list, glob and folder; which files are refused, and when."""

import dataclasses
import os
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from eigenveil import DPPCA, Budget, Ledger
from eigenveil.engines import SampledPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.operators import Products, samples
from eigenveil.sources import open_source
from eigenveil.sources.files import scans
from eigenveil.sources.wrapped import SameRows

CANARY = "canary-7351"


def rows_of(data, **how):
    return np.concatenate([block.values for block in open_source(data, **how).blocks()])


def write(path, start, count, **more):
    pq.write_table(pa.table({"x": np.arange(start, start + count, dtype=float), **more}), path)
    return path


def message(data, **how):
    """Return the error that is raised before any block is requested."""
    with pytest.raises(InvalidInputError) as refusal:
        open_source(data, **how)
    assert refusal.value.hint
    return str(refusal.value)


def failure(data, **how):
    """Return the error that is raised while blocks are read."""
    with pytest.raises(InvalidInputError) as refusal:
        list(open_source(data, **how).blocks())
    assert refusal.value.__context__ is None
    return str(refusal.value)


def test_list_glob_and_folder(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    paths = [tmp_path / "b.parquet", tmp_path / "a.parquet", tmp_path / "deep" / "er" / "c.parquet"]
    for number, path in enumerate(paths):
        write(path, 10 * number, 2)
    (tmp_path / "_metadata.parquet").write_text("not data")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "d.parquet").write_text("not data")
    (tmp_path / "README.txt").write_text("not data")
    assert rows_of([str(path) for path in paths]).ravel().tolist() == [0, 1, 10, 11, 20, 21]
    assert rows_of(str(tmp_path / "[ab].parquet")).ravel().tolist() == [10, 11, 0, 1]
    assert rows_of(str(tmp_path / "**" / "[abc].parquet")).ravel().tolist() == [10, 11, 0, 1, 20, 21]
    assert rows_of(tmp_path).ravel().tolist() == [10, 11, 0, 1, 20, 21]


def test_a_name_with_special_characters_of_a_glob(tmp_path):
    assert len(rows_of(write(tmp_path / "a[1].parquet", 0, 3))) == 3


def test_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "a.parquet", 0, 3)
    assert len(rows_of("~/a.parquet")) == 3


def test_many_files(tmp_path):
    for number in range(300):
        write(tmp_path / f"{number:04}.parquet", number, 1)
    assert rows_of(tmp_path).ravel().tolist() == list(range(300))


@pytest.mark.parametrize("ending", [".feather", ".arrow", ".ipc", ".csv", ".parquet", ".pq", ".PARQUET"])
def test_endings(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    frame = pa.table({"x": [1, 2], "y": [True, False], "z": [0.5, None]})
    if ending == ".csv":
        frame.to_pandas().to_csv(path, index=False)
    elif "p" in ending.lower() and "ipc" not in ending:
        pq.write_table(frame, path)
    else:
        pf.write_feather(frame, path)
    np.testing.assert_array_equal(rows_of(path), [[1, 1, 0.5], [2, 0, np.nan]])


def test_types_differ_between_files(tmp_path):
    pq.write_table(
        pa.table({"x": pa.array([1], pa.int32()), "y": pa.array([1], pa.float32())}), tmp_path / "1.parquet"
    )
    pq.write_table(pa.table({"y": [0.1], "x": [0.5]}), tmp_path / "2.parquet")
    assert rows_of(tmp_path).tolist() == [[1, 1], [0.5, 0.1]]


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_value_that_another_files_type_cannot_hold_is_no_error(tmp_path, ending):
    """Review finding: the whole number 2^53 + 1 made a folder of Feather files unreadable, and 5 did not."""
    writer = pq.write_table if ending == "parquet" else pf.write_feather
    for value in (5, 2**53 + 1):
        writer(pa.table({"x": pa.array([1, value], pa.int64())}), tmp_path / f"a.{ending}")
        writer(pa.table({"x": [1.5]}), tmp_path / f"b.{ending}")
        assert rows_of(tmp_path).tolist() == [[1.0], [float(value)], [1.5]]


def test_columns_differ_between_files(tmp_path):
    write(tmp_path / "1.parquet", 0, 2)
    write(tmp_path / "2.parquet", 0, 2, extra=[1.0, 2.0])
    assert "differ in ['extra']" in message(tmp_path)


def test_text_in_a_later_file(tmp_path):
    write(tmp_path / "1.parquet", 0, 1)
    pq.write_table(pa.table({"x": [CANARY]}), tmp_path / "2.parquet")
    told = message(tmp_path)
    assert "same types" in told
    assert CANARY not in told


def test_dotted_names(tmp_path):
    pq.write_table(pa.table({"a.b": [1.0], "a": [2.0]}), tmp_path / "a.parquet")
    pf.write_feather(pa.table({"a.b": [1.0], "a": [2.0]}), tmp_path / "a.feather")
    for ending in ("parquet", "feather"):
        assert rows_of(tmp_path / f"a.{ending}", columns=["a"]).tolist() == [[2]]
        assert rows_of(tmp_path / f"a.{ending}", columns=["a", "a.b"]).tolist() == [[2, 1]]


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
def test_no_rows(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    frame = pa.table({"x": pa.array([], pa.float64())})
    if ending == "csv":
        path.write_text("x\n")
    elif ending == "parquet":
        pq.write_table(frame, path)
    else:
        pf.write_feather(frame, path)
    opened = open_source(path)
    assert opened.columns == ("x",)
    assert list(opened.blocks()) == []


def test_refused_by_schema_before_values_are_read(tmp_path):
    """The column chunks are overwritten with zeros: only the schema at the end can still be read."""
    path = tmp_path / "a.parquet"
    days = pa.array([0], pa.date32())
    pq.write_table(pa.table({"x": [1.0], "name": [CANARY], "day": days, "list": [[1]], "raw": [b"1"]}), path)
    whole = path.read_bytes()
    footer = 8 + int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(b"PAR1" + bytes(len(whole) - footer - 4) + whole[-footer:])
    told = message(path)
    assert "'name' (string), 'day' (date32[day]), 'list' (list<element: int64>), 'raw' (binary)" in told
    assert "that hold numbers ('x')" in told
    assert "could not read" in failure(path, columns=["x"])


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_no_numbers(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    frame = pa.table({"name": pa.array(["a"]).dictionary_encode()})
    pq.write_table(frame, path) if ending == "parquet" else pf.write_feather(frame, path)
    assert "No column holds numbers" in message(path)


def test_no_columns(tmp_path):
    pq.write_table(pa.table({}), tmp_path / "a.parquet")
    assert "at least one column" in message(tmp_path / "a.parquet")
    assert "at least one column" in message(write(tmp_path / "b.parquet", 0, 1), units="x")


def test_paths_without_files(tmp_path):
    assert "there is no file or folder" in message(tmp_path / "a.parquet")
    assert "there is no file or folder" in message("~nobody-at-all/a.parquet")
    assert "no file matches" in message(str(tmp_path / "*.parquet"))
    assert "contains no data files" in message(tmp_path)
    (tmp_path / "a.xlsx").write_text("?")
    assert "from its extension" in message(tmp_path / "a.xlsx")


def test_mixed_and_repeated_files(tmp_path):
    write(tmp_path / "a.parquet", 0, 1)
    assert "expected every file once" in message([tmp_path / "a.parquet", str(tmp_path / "*.parquet")])
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert "one format, got csv, parquet" in message(tmp_path)


@pytest.mark.parametrize("ending", ["parquet", "feather", "npy", "npz", "csv"])
@pytest.mark.parametrize("content", ["", CANARY])
def test_damaged(tmp_path, ending, content):
    if ending == "csv" and content:
        pytest.skip("a word is a CSV file of one column")
    (tmp_path / f"a.{ending}").write_text(content)
    told = message(tmp_path / f"a.{ending}")
    assert ("it is empty" in told) == (not content)
    assert "could not read" in told
    assert CANARY not in told


def test_csv_value_that_does_not_fit(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "1\n" * 300_000 + f"{CANARY}\n")
    rows = rows_of(path)
    assert len(rows) == 300_001
    assert np.isnan(rows[-1, 0])


def test_failure_while_sorting_people_is_reported(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [CANARY] * 50_000, "x": np.random.default_rng(0).normal(size=50_000)}), path)
    whole = bytearray(path.read_bytes())
    whole[1000:200_000] = bytes(199_000)
    path.write_bytes(whole)
    with pytest.raises(InvalidInputError, match="could not read") as refusal:
        list(open_source(path, units="id").blocks())
    assert CANARY not in str(refusal.value)


def test_csv_widens(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,\n2,\n")
    (tmp_path / "b.csv").write_text("x,y\n1.5,inf\nNA,3\n")
    np.testing.assert_array_equal(rows_of(tmp_path), [[1, np.nan], [2, np.nan], [1.5, np.inf], [np.nan, 3]])


def test_csv_text_and_dates(tmp_path):
    (tmp_path / "a.csv").write_text("x,name,day\n1,a,2020-01-01\n")
    assert "'name' (string), 'day' (string)" in message(tmp_path / "a.csv")


def test_numpy_files(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    (block,) = open_source(tmp_path / "a.npy").blocks()
    assert not block.values.flags.owndata
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(np.eye(3)))
    (block,) = open_source(str(tmp_path / "s.npz")).blocks()
    assert sparse.issparse(block.values)
    np.savez(tmp_path / "two.npz", a=np.ones((1, 1)), b=np.ones((1, 1)))
    assert "found 2: ['a', 'b']" in message(tmp_path / "two.npz")
    np.save(tmp_path / "o.npy", np.array([[CANARY, None]], dtype=object))
    assert "contains objects" in message(tmp_path / "o.npy")
    assert "expected one .npy" in message(str(tmp_path / "*.npy"))


def poisoned(path, start):
    """Overwrite the second half of the bytes between `start` and the directory at the end with zeros."""
    whole = path.read_bytes()
    first, end = whole.index(start) + len(start), whole.index(b"PK\x01\x02")
    middle = len(whole[first:end]) // 2
    path.write_bytes(whole[: first + middle] + bytes(end - first - middle) + whole[end:])
    return path


@pytest.mark.parametrize("other", [(40, 3), (39, 4), (41, 4), (40, 5)])
def test_an_array_that_was_replaced_after_opening_is_refused(tmp_path, other):
    """The loops in C rely on the shape at opening: with another shape, one row would extend into the next."""
    for name in ("x.npy", "x.npz"):
        save = np.save if name.endswith("npy") else np.savez
        save(tmp_path / name, np.ones((40, 4)))
        operator = samples.rows(str(tmp_path / name))
        save(tmp_path / f"new-{name}", np.ones(other))
        (tmp_path / f"new-{name}").replace(tmp_path / name)
        with pytest.raises(InvalidInputError, match="as it was when opened, but its shape or type has changed"):
            list(operator.source.blocks())


def test_rows_of_another_width_are_refused_before_any_loop():
    class Changing(SameRows):
        def over(self, partition, number):  # noqa: ARG002
            return open_source(np.ones((5, 3)))

    operator = samples.rows(np.ones((5, 4)))
    changed = dataclasses.replace(operator, source=Changing(operator.source))
    population = SampledPopulation(changed, Products(np.eye(4)[:, :1]))
    with pytest.raises(InvalidInputError, match="expected rows of 4 columns"):
        population.count()


def test_an_archive_with_another_extension_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", np.ones((3, 2)))
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    with pytest.raises(InvalidInputError, match="could not read an array"):
        samples.rows(str(tmp_path / "x.npy"))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_opening_an_npz_reads_no_value(tmp_path, save):
    values = np.random.default_rng(0).normal(size=(20_000, 3))
    save(tmp_path / "a.npz", values)
    source = open_source(poisoned(tmp_path / "a.npz", b"arr_0.npy"), columns=[2, 0])
    assert (source.n_columns, source.columns) == (2, None)
    with pytest.raises(InvalidInputError, match="could not read"):
        list(source.blocks())


def test_opening_a_sparse_npz_reads_its_shape_and_no_value(tmp_path):
    matrix = sparse.random(5000, 40, density=0.2, random_state=0, format="csr")
    sparse.save_npz(tmp_path / "s.npz", matrix)
    (block,) = open_source(tmp_path / "s.npz").blocks()
    assert (block.values != matrix).nnz == 0
    source = open_source(poisoned(tmp_path / "s.npz", b"data.npy"))
    assert source.n_columns == 40
    with pytest.raises(InvalidInputError, match="could not read"):
        list(source.blocks())


def test_an_npz_is_refused_by_its_schema(tmp_path):
    for name, array, said in (
        ("flat", np.ones(3), "2-D"),
        ("text", np.array([[CANARY]]), "real numbers"),
        ("objects", np.array([[CANARY, None]], dtype=object), "contains objects"),
        ("none", np.ones((3, 0)), "at least one column"),
    ):
        np.savez(tmp_path / f"{name}.npz", array)
        told = message(tmp_path / f"{name}.npz")
        assert said in told
        assert CANARY not in told
    np.savez(tmp_path / "fine.npz", np.arange(6).reshape(3, 2))
    assert "from 0 to 1" in message(tmp_path / "fine.npz", columns=[2])
    assert "no names" in message(tmp_path / "fine.npz", units="who")
    (block,) = open_source(tmp_path / "fine.npz", units=[1, 0, 1]).blocks()
    assert block.values.tolist() == [[2, 3], [0, 1], [4, 5]]


def test_unknown_columns(tmp_path):
    path = write(tmp_path / "a.parquet", 0, 1, height=[1.0])
    assert "Did you mean 'height'?" in message(path, columns=["heigth"])
    assert "The columns are 'x', 'height'." in message(path, columns=["q*"])
    assert "every column once" in message(path, columns=["x", "x*"])
    assert "at least one column" in message(path, columns=[])


def test_dataset(tmp_path):
    write(tmp_path / "a.parquet", 0, 5)
    opened = open_source(ds.dataset(tmp_path))
    assert opened.rereadable
    assert [len(list(opened.blocks())) for _ in range(2)] == [1, 1]


def test_wide_rows_and_long_files_come_in_small_blocks(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({f"x{j}": np.zeros(30_000) for j in range(100)}), path)
    sizes = [block.values.nbytes for block in open_source(path).blocks()]
    assert max(sizes) <= 8 << 20
    assert sum(sizes) == 30_000 * 100 * 8


def test_files_may_be_left_half_read(tmp_path):
    path = write(tmp_path / "a.parquet", 0, 2_000_000)
    running = open_source(path).blocks()
    next(running)
    running.close()
    os.remove(path)  # noqa: PTH107


FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]})
INDEXED = {
    "__index_level_0__": FRAME.sample(frac=1.0, random_state=0),
    "i": FRAME.rename_axis("i"),
    "person": FRAME.assign(person=[7, 8, 9]).set_index("person"),
    "g": FRAME.assign(g=[1, 1, 2]).groupby("g").mean(),
    "when": FRAME.set_index(pd.date_range("2020", periods=3, name="when")),
}
INDEXED_WAYS = {
    "parquet": lambda table, folder: pq.write_table(table, folder / "a.parquet") or folder / "a.parquet",
    "feather": lambda table, folder: pf.write_feather(table, folder / "a.feather") or folder / "a.feather",
    "dataset": lambda table, folder: ds.dataset(INDEXED_WAYS["parquet"](table, folder)),
    "table": lambda table, _: table,
    "reader": lambda table, _: table.to_reader(),
}


@pytest.mark.parametrize("way", INDEXED_WAYS)
@pytest.mark.parametrize("index", INDEXED)
def test_a_row_index_is_no_data(tmp_path, index, way):
    """Review finding: the row number was the first component, and set_index("person") made ids data."""
    table = pa.Table.from_pandas(INDEXED[index], preserve_index=True)
    make = INDEXED_WAYS[way]
    with pytest.warns(UserWarning, match=f"left out '{index}': the row index"):
        opened = open_source(make(table, tmp_path))
    assert opened.columns == ("x", "y")
    with pytest.warns(UserWarning, match="left out"):
        np.testing.assert_array_equal(rows_of(make(table, tmp_path)), INDEXED[index].to_numpy())
    assert open_source(make(table, tmp_path), columns=["*"]).columns == ("x", "y")
    assert open_source(make(table, tmp_path), units=index).columns == ("x", "y")
    if index != "when":
        assert open_source(make(table, tmp_path), columns=[index, "x"]).columns == (index, "x")


def test_a_row_index_whose_metadata_were_lost(tmp_path):
    """polars, DuckDB and Spark keep the column and drop the metadata of pandas."""
    for name in ("__index_level_0__", "__index_level_1__", "__null_dask_index__", "Unnamed: 0"):
        table = pa.table({name: [0, 1, 2], "x": FRAME.x, "y": FRAME.y})
        pq.write_table(table, tmp_path / "a.parquet")
        (tmp_path / "a.csv").write_text(f"{name},x,y\n0,1,4\n1,2,5\n2,3,6\n")
        lazy = pl.scan_parquet(tmp_path / "a.parquet")
        for data in (table, tmp_path / "a.parquet", tmp_path / "a.csv", lazy, lazy.collect(), table.to_pandas()):
            with pytest.warns(UserWarning, match=f"left out '{name}'"):
                np.testing.assert_array_equal(rows_of(data), FRAME.to_numpy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows, and the same message
            model = DPPCA(1).fit(table.to_pandas())
            assert list(model.feature_names_in_) == ["x", "y"]
            assert model.transform(table.to_pandas()).shape == (3, 1)


def test_metadata_that_name_no_index(tmp_path):
    for text in (
        b"",
        b"{}",
        b"[]",
        b'{"index_columns": 5}',
        b'{"index_columns": [5, {"kind": "range"}]}',
        b"\xff",
    ):
        table = pa.table({"x": [1.0], "y": [2.0]}).replace_schema_metadata({b"pandas": text})
        pq.write_table(table, tmp_path / "a.parquet")
        assert open_source(tmp_path / "a.parquet").columns == ("x", "y")


def test_an_index_in_one_of_many_files(tmp_path):
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.assign(i=0).set_index("i").to_parquet(tmp_path / "b.parquet")
    assert "differ in ['i']" in message(tmp_path)
    FRAME.assign(i=0).to_parquet(tmp_path / "a.parquet")
    told = message(tmp_path)  # review finding: one file took a column from all others
    assert "not all files say" in told
    assert ".parquet" not in told.replace("to_parquet", "")
    FRAME.assign(i=0).set_index("i").to_parquet(tmp_path / "a.parquet")
    with pytest.warns(UserWarning, match="left out 'i'"):
        assert open_source(tmp_path).columns == ("x", "y")
    pl.DataFrame({"__index_level_0__": [1], "x": [0.0], "y": [0.0]}).write_parquet(tmp_path / "a.parquet")
    FRAME.set_axis([5, 3, 9]).to_parquet(tmp_path / "b.parquet")
    with pytest.warns(UserWarning, match="left out '__index_level_0__'"):  # its name says so everywhere
        assert open_source(tmp_path).columns == ("x", "y")


def test_a_column_without_a_name_is_refused_unless_columns_are_chosen(tmp_path):
    """pandas writes the row number like this by default, and R the row names."""
    FRAME.to_csv(tmp_path / "a.csv")
    table = pa.table({"": [0, 1, 2], "x": FRAME.x, "y": FRAME.y})
    for data in (tmp_path / "a.csv", table, pl.DataFrame({"": [0, 1, 2], **FRAME})):
        assert "column 1 of 3 has none" in message(data)
        np.testing.assert_array_equal(rows_of(data, columns="?*"), FRAME.to_numpy())
        assert open_source(data, columns=["y", ""]).columns == ("y", "")
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(rows_of(tmp_path / "a.csv"), FRAME.to_numpy())


@pytest.mark.parametrize("blank", [" ", "\t", "\xa0", "\u200b", " \ufeff "])
def test_a_name_that_shows_nothing_is_no_name(blank):
    """Review finding: a blank name passed as a name."""
    table = pa.table({"x": FRAME.x, blank: [0, 1, 2], "y": FRAME.y})
    assert "column 2 of 3 has none" in message(table)
    np.testing.assert_array_equal(rows_of(table, columns="?*"), FRAME.to_numpy())
    assert open_source(table, columns=["y", blank]).columns == ("y", blank)


@pytest.mark.parametrize("units", [None, "who"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_column_without_values_is_refused_before_anything_is_charged(tmp_path, ending, units):
    """Review finding: an empty column of notes cost the whole budget, and no row was left."""
    n = 300
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 3)), columns=list("abc")).assign(
        who=np.arange(n)
    )
    path, kinds = tmp_path / f"t.{ending}", {"csv": "to_csv", "parquet": "to_parquet", "feather": "to_feather"}

    def fit(present, **how):
        notes = np.where(np.arange(n) < present, 1.0, np.nan)
        written = table.assign(notes=notes) if units else table.assign(notes=notes).drop(columns="who")
        getattr(written, kinds[ending])(path, **({"index": False} if ending == "csv" else {}))
        ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows
            try:
                DPPCA(1, algorithm="dp-gauss-1", ledger=ledger, **how).fit(path, units=units)
            except InvalidInputError as refusal:
                assert "'notes'" in str(refusal)  # noqa: PT017
        assert bool(ledger.entries) is (ledger.unit is not None)
        return bool(ledger.entries)

    assert [fit(0), fit(1), fit(2), fit(n)] == [False, False, True, True]  # one value decides nothing
    assert fit(0, fill=0.0)
    assert fit(0, columns=["a", "b", "c"])


def test_few_rows_without_values_are_no_column_without_values(tmp_path):
    pd.DataFrame({"x": [1.0, np.nan], "y": [2.0, 3.0]}).iloc[1:].to_csv(tmp_path / "a.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DPPCA(1, algorithm="dp-gauss-1").fit(tmp_path / "a.csv")


def test_ids_of_another_number_leave_the_ledger_free(tmp_path):
    """Review finding: the failed fit had bound the ledger, which then refused the right one."""
    big = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    big.to_parquet(tmp_path / "a.parquet")
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
    with pytest.raises(InvalidInputError, match="one id per row"):
        DPPCA(1, algorithm="dp-gauss-1", ledger=ledger).fit(tmp_path / "a.parquet", units=np.arange(49))
    assert ledger.unit is None
    assert not ledger.entries


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("way", ["feather", "dataset"])
def test_an_odd_value_refuses_no_other(tmp_path, way, coded):
    """Review finding: one text that is not UTF-8 made a Feather file unreadable."""
    buffers = [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")]
    text = pa.Array.from_buffers(pa.string(), 2, buffers)
    table = pa.table({"x": [1.0, 2.0], "site": text, "day": pa.array([1, 2], pa.date64())})
    table = table.set_column(1, "site", text.dictionary_encode()) if coded else table
    pf.write_feather(table, tmp_path / "a.feather")
    data = tmp_path / "a.feather" if way == "feather" else ds.dataset(tmp_path / "a.feather", format="feather")
    how = {"columns": ["x", "site", "day"], "encode": {"site": ["a"], "day": "days since 1970-01-01"}}
    assert rows_of(data, **how)[:, :2].tolist() == [[1, 1], [2, 0]]
    assert [block.offsets.tolist() for block in open_source(data, columns="x", units="site").blocks()] == [
        [0, 1, 2]
    ]


def test_row_groups_too_large_for_one_go(tmp_path, monkeypatch):
    monkeypatch.setattr(scans, "_SMALL_GROUP", 0)
    monkeypatch.setattr(scans, "_PAGES", 0)
    path = tmp_path / "a.parquet"
    array = np.random.default_rng(0).standard_normal((50_000, 30))
    pq.write_table(pa.table({f"x{j}": array[:, j] for j in range(30)}), path, row_group_size=40_000)
    np.testing.assert_array_equal(rows_of(path, columns=["x3", "x1"]), array[:, [3, 1]])
    np.testing.assert_array_equal(rows_of(path), array)
