"""Arrow streams of databases: read once into a file that only the user can read, and read again in every pass."""

import os
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from eigenveil import DPPCA, samples
from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.sources import open_source
from eigenveil.sources.files import arrow_streams

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3000, 3)) * [5, 2, 1]
TABLE = pa.table({"who": RNG.integers(0, 1000, 3000), **{name: ROWS[:, i] for i, name in enumerate("abc")}})
CANARY = "31415.92653"


def read(source):
    return np.concatenate([np.asarray(block.values) for block in source.blocks()])


def broken(schema=TABLE.schema):
    """Return a reader that fails in the middle, with a value of the data in its message."""

    def batches():
        yield TABLE.to_batches()[0]
        raise pa.ArrowInvalid(f"could not convert {CANARY}")

    return pa.RecordBatchReader.from_batches(schema, batches())


def test_a_reader_is_read_as_often_as_needed():
    opened = open_source(TABLE.to_reader(max_chunksize=7), columns=["c", "a"])
    assert opened.rereadable
    assert opened.columns == ("c", "a")
    for _ in range(2):
        np.testing.assert_array_equal(read(opened), ROWS[:, [2, 0]])


def test_small_batches_become_large_row_groups_in_the_same_order(monkeypatch):
    monkeypatch.setattr(arrow_streams, "_GROUP_BYTES", 6000)
    opened = open_source(TABLE.to_reader(max_chunksize=3), columns=["a", "b", "c"])
    np.testing.assert_array_equal(read(opened), ROWS)
    (partition,) = opened.partitions()
    file = pa.parquet.ParquetFile(partition.scan.paths[0])
    assert 5 < file.num_row_groups < 20


def test_only_the_user_can_read_the_file_and_it_is_deleted_with_the_source():
    opened = open_source(TABLE.to_reader(), columns=["a"])
    folder = opened.scan.owner.path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert opened.scan.schema.names == ["a"], "nothing is written that was not asked for"
    del opened
    assert not folder.exists()


@pytest.mark.parametrize(
    "make",
    [
        TABLE.to_reader,
        lambda: duckdb.from_arrow(TABLE),
        lambda: duckdb.from_arrow(TABLE).to_arrow_reader(64),
        lambda: pl.from_arrow(TABLE).lazy(),
    ],
)
def test_fits_of_rows_and_people(make):
    options = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
    rows = DPPCA(1, columns=["a", "b", "c"], **options)
    want = DPPCA(1, columns=["a", "b", "c"], **options).fit(TABLE)
    np.testing.assert_array_equal(rows.fit(make()).components_, want.components_)
    want = DPPCA(1, **options).fit(TABLE, units="who")
    np.testing.assert_array_equal(DPPCA(1, **options).fit(make(), units="who").components_, want.components_)


@pytest.mark.parametrize(
    "make", [TABLE.to_reader, lambda: duckdb.from_arrow(TABLE), lambda: pl.from_arrow(TABLE).lazy()]
)
def test_a_query_may_exclude_rows_by_value_so_places_are_not_fixed(make):
    assert not samples.rows(make()).fixed_places
    assert not samples.people(make(), "who").fixed_places


def test_a_relation_may_return_its_rows_in_any_order():
    """The relation is run once; every pass and every coin then uses that one order."""
    shuffled = duckdb.from_arrow(TABLE).query("t", "select * from t order by random()")
    opened = open_source(shuffled, columns=["a", "b", "c"])
    first = read(opened)
    np.testing.assert_array_equal(first, read(opened))
    np.testing.assert_array_equal(np.sort(first[:, 0]), np.sort(ROWS[:, 0]))


@pytest.mark.parametrize("make", [TABLE.to_reader, lambda: duckdb.from_arrow(TABLE)])
def test_separate_ids_of_rows_without_a_fixed_order_are_refused(make):
    with pytest.raises(InvalidInputError, match="name of a column for units"):
        open_source(make(), columns=["a"], units=np.arange(3000))


@pytest.mark.parametrize("make", [TABLE.to_reader, lambda: duckdb.from_arrow(TABLE)])
def test_a_missing_unit_column_is_refused(make):
    with pytest.raises(InvalidInputError, match="Did you mean 'who'"):
        open_source(make(), columns=["a"], units="whom")


def test_an_invalid_schema_is_refused_before_a_row_is_read():
    schema = TABLE.schema.append(pa.field("t", pa.string()))
    with pytest.raises(InvalidInputError, match="expected columns of numbers, got 't'"):
        open_source(broken(schema))


def failing_relation():
    table = pa.table({"x": ["1.5", CANARY + "!"]})
    return duckdb.from_arrow(table).select("x::double as x")


@pytest.mark.parametrize(
    "make",
    [
        broken,
        failing_relation,
        lambda: pl.LazyFrame({"x": ["1.5", CANARY + "!"]}).select(pl.col("x").cast(pl.Float64)),
    ],
)
def test_the_message_of_a_failing_query_is_not_shown(make):
    with pytest.raises(UnreadableError, match="could not read all rows") as caught:
        open_source(make())
    while caught is not None:
        error = caught.value if hasattr(caught, "value") else caught
        assert CANARY not in str(error)
        caught = error.__cause__ or error.__context__


def test_readers_of_text_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="whose parser lets one line change others"):
        open_source(pyarrow.csv.open_csv(tmp_path / "x.csv"))


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.large_string()])
def test_text_of_any_kind_is_encoded(kind):
    words = pa.array(["x", "y", None, "x"]).cast(kind)
    opened = open_source(pa.table({"t": words}).to_reader(), encode={"t": ["x", "y"]})
    want = open_source(pa.table({"t": ["x", "y", None, "x"]}), encode={"t": ["x", "y"]})
    np.testing.assert_array_equal(read(opened), read(want))


# -- a real server -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgres():
    """Start a PostgreSQL server for this test, on a socket in a temporary folder, and yield its address."""
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    found = shutil.which("postgres")
    if found is None:
        pytest.skip("there is no PostgreSQL server on this machine (postgres is not on PATH)")
    programs = Path(found).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: the path of a socket has at most 107 bytes
    who = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        who = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": folder}
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "-U", "tester"], check=True, **quiet, **who)  # noqa: S603
    start = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    server = subprocess.Popen(start, **quiet, **who)  # noqa: S603
    try:
        ready = [programs / "pg_isready", "-q", "-h", folder]
        while subprocess.run(ready, check=False).returncode:  # noqa: S603
            assert server.poll() is None, "the server has ended"
            time.sleep(0.1)
        yield f"postgresql:///postgres?host={folder}&user=tester"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


@pytest.mark.slow
def test_postgresql(postgres):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("visits", TABLE)
        options = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
        cursor.execute("SELECT a, b, c FROM visits")
        model = DPPCA(1, **options).fit(cursor.fetch_record_batch())
        want = DPPCA(1, columns=["a", "b", "c"], **options).fit(TABLE)
        np.testing.assert_array_equal(model.components_, want.components_)
        cursor.execute("SELECT * FROM visits")
        model = DPPCA(1, **options).fit(cursor.fetch_record_batch(), units="who")
        want = DPPCA(1, **options).fit(TABLE, units="who")
        np.testing.assert_array_equal(model.components_, want.components_)
        cursor.execute("SELECT (a::text || '!')::float8 AS a FROM visits")
        with pytest.raises(UnreadableError, match="could not read all rows"):
            DPPCA(1, **options).fit(cursor.fetch_record_batch())


def test_rows_of_a_person_are_ordered_by_content():
    """The query's order may depend on rows of other people, and sums of floats depend on the order of rows."""
    rows = pa.table({"who": ["a", "b", "a", "a"], "x": [2.0**53, 5.0, 1.0, -(2.0**53)], "y": [1.0, 2.0, 3.0, 4.0]})
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        stream = pa.RecordBatchReader.from_batches(rows.schema, rows.take(order).to_batches())
        (block,) = open_source(stream, units="who").blocks()
        found.append((block.values.tolist(), block.offsets.tolist()))
    assert found[0] == found[1] == found[2]
    assert found[0][0][:3] == [[-(2.0**53), 4.0], [1.0, 3.0], [2.0**53, 1.0]]
