"""Dask: the same integers as on one machine, for any partitioning; nothing is lost or charged twice."""

import os
import pickle
import signal
import threading
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.engines import DaskEngine, LocalEngine
from eigenveil.engines.engine_choice import read_engine
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget, Ledger
from eigenveil.sources import open_source
from eigenveil.sources.clusters import dask_collections

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array", reason="dask is not installed (extra eigenveil[dask])")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6000, 6)) * [9, 5, 2, 1, 1, 1] + 3
ROWS[17, 2] = np.nan
FRAME = pd.DataFrame(ROWS, columns=list("abcdef")).assign(who=RNG.integers(0, 2000, 6000))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def client():
    """Two workers in threads of this process, with a long timeout for busy machines."""
    where = {"processes": False, "dashboard_address": ":0"}
    patient = {"distributed.comm.timeouts.connect": "300s", "distributed.scheduler.worker-ttl": None}
    with (
        dask.config.set(patient),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster,
        distributed.Client(cluster, set_as_default=False, timeout=300) as client,
    ):
        yield client


def fit(data, units=None, **options):
    return DPPCA(2, random_state=0, **options).fit(data, units=units)


def same(one, other):
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one.explained_variance_, other.explained_variance_)
    assert [entry.what for entry in one.ledger_.entries] == [entry.what for entry in other.ledger_.entries]


@pytest.mark.parametrize("where", ["threads", "workers"])
@pytest.mark.parametrize("chunks", [(6000, 6), (1000, 6), (1733, 4), (599, 1)])
def test_arrays_give_the_same_release_however_they_are_cut(where, chunks, client):
    engine = DaskEngine() if where == "threads" else client
    same(fit(da.from_array(ROWS, chunks=chunks), engine=engine), fit(ROWS))


@pytest.mark.parametrize("options", [{"center": False}, {"scale": np.arange(1.0, 7.0)}, {"scale": "private"}])
def test_rows_are_centred_and_scaled_where_they_are(options, client):
    same(fit(da.from_array(ROWS, chunks=(1000, 6)), engine=client, **options), fit(ROWS, **options))


def test_frames_keep_their_names_and_choose_columns(client):
    plain = FRAME.drop(columns="who")
    there = fit(dd.from_pandas(plain, npartitions=4), engine=client)
    same(there, fit(plain))
    assert list(there.feature_names_in_) == list("abcdef")
    some = fit(dd.from_pandas(FRAME, npartitions=4), columns=["b", "a"])
    same(some, fit(FRAME, columns=["b", "a"]))


@pytest.mark.parametrize("where", ["threads", "workers"])
@pytest.mark.parametrize("kind", ["number", "text", "missing"])
def test_people_are_brought_together_first(where, kind, client):
    who = FRAME["who"]
    ids = {"number": who, "text": who.map("p{}".format), "missing": who.astype("Int64").mask(who < 300)}[kind]
    frame = FRAME.assign(who=ids)
    engine = DaskEngine() if where == "threads" else client
    same(fit(dd.from_pandas(frame, npartitions=5), "who", engine=engine), fit(frame, "who"))


@pytest.mark.parametrize("where", ["threads", "workers"])
def test_ids_that_lost_digits_are_refused_before_anything_is_charged(where, client):
    """All ids were missing, and the budget was spent on nobody."""
    frame = FRAME.assign(who=1e17 + 16.0 * np.arange(len(FRAME)))
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
    with pytest.raises(InvalidInputError, match="whole numbers with all their digits"):
        fit(
            dd.from_pandas(frame, npartitions=3),
            "who",
            engine=DaskEngine() if where == "threads" else client,
            ledger=ledger,
        )
    assert ledger.mu == 0


def test_what_dask_brings_together_is_checked(monkeypatch):
    class Careless:
        """A Dask frame whose shuffle moves no row."""

        def __init__(self, frame):
            self.frame = frame

        def shuffle(self, **_):
            return self.frame

    real = dask_collections._marked
    collection = dd.from_pandas(FRAME, npartitions=3)
    kept = type(collection).map_partitions
    marked = lambda self, function, *a, **k: (  # noqa: E731
        Careless(kept(self, function, *a, **k)) if function is real else kept(self, function, *a, **k)
    )
    monkeypatch.setattr(type(collection), "map_partitions", marked)
    with pytest.raises(InvalidInputError, match="several partitions"):
        open_source(collection, units="who").partitions()


def test_files_are_read_by_the_workers(tmp_path, client):
    for number in range(3):
        FRAME.iloc[2000 * number : 2000 * (number + 1)].drop(columns="who").to_parquet(
            tmp_path / f"{number}.parquet"
        )
    same(fit(tmp_path, engine=client), fit(tmp_path))


@pytest.mark.parametrize("kind", ["frame", "files"])
def test_people_are_brought_together_by_the_cluster_that_is_asked(kind, client, tmp_path):
    """The default scheduler would send rows to this process."""
    FRAME.iloc[:3000].to_parquet(tmp_path / "a.parquet")
    FRAME.iloc[3000:].to_parquet(tmp_path / "b.parquet")
    data = dd.from_pandas(FRAME, npartitions=3) if kind == "frame" else tmp_path
    with dask.config.set(scheduler=_nobody):
        same(fit(data, "who", engine=client), fit(FRAME, "who"))


def _nobody(*_, **__):
    raise AssertionError("computed here")


def test_people_in_text_files_stay_on_one_machine(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InvalidInputError, match="expected Parquet files"):
        fit(tmp_path / "a.csv", "who", engine="dask")


def test_a_collection_needs_no_engine_and_can_be_read_by_any():
    array = da.from_array(ROWS, chunks=(1000, 6))
    same(fit(array), fit(ROWS))
    same(fit(array, engine=LocalEngine(1)), fit(ROWS))
    assert isinstance(ev.samples.rows(array).source, dask_collections.DaskSource)


def test_engines_by_name_and_by_client(client):
    assert read_engine("auto") is None
    assert read_engine("dask") == DaskEngine()
    assert read_engine(client) == DaskEngine(client)
    with pytest.raises(InvalidInputError, match="'dask', 'spark', a Dask client"):
        read_engine("sparkle")


@pytest.mark.parametrize(
    ("data", "units", "said"),
    [
        (lambda: da.from_array(ROWS, chunks=(1000, 6)), np.arange(6000), "name of a column for units"),
        (lambda: da.from_array(ROWS, chunks=(1000, 6)), "who", "no names"),
        (lambda: da.from_array(ROWS[:, 0], chunks=1000), None, "Expected 2D"),
        (lambda: dd.from_pandas(FRAME, npartitions=2), "whom", "Did you mean 'who'"),
        (lambda: dd.from_pandas(FRAME.assign(t="x"), npartitions=2), None, "expected columns of numbers, got 't'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_computed(data, units, said):
    with pytest.raises(InvalidInputError, match=said):
        fit(data(), units)


def test_an_algorithm_that_reads_single_units_is_refused(client):
    literal = {"mean_estimator": "privmean", "range_finder": "privrange"}
    with pytest.raises(InvalidInputError, match="units one by one"):
        fit(
            da.from_array(ROWS, chunks=(1000, 6)),
            engine=client,
            algorithm="k-dp-pca",
            relation="replace",
            options=literal,
        )


def test_no_row_comes_back(client):
    """The answer that the caller gets is far smaller than the data, and contains none of their bytes."""
    mark = 1.2345678901234567
    rows = np.full((4000, 6), mark)
    seen = []

    class Seeing(DaskEngine):
        def _computed(self, state):
            answer = super()._computed(state)
            seen.append(pickle.dumps(answer))
            return answer

    fit(da.from_array(rows, chunks=(500, 6)), engine=Seeing(client))
    assert len(seen) > 5
    assert all(np.float64(mark).tobytes() not in one for one in seen)


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_of_a_fit_loses_nothing(tmp_path):
    for number in range(8):
        FRAME.drop(columns="who").to_parquet(tmp_path / f"{number}.parquet")
    want = fit(tmp_path)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        steps = []

        def kill_one(step):
            steps.append(step)
            if len(steps) == 3:
                threading.Timer(0.05, os.kill, (pids[0], signal.SIGKILL)).start()

        there = fit(tmp_path, engine=client, callback=kill_one)
        assert set(pids) != set(client.run(os.getpid).values()), "a worker has died and another took its place"
    same(there, want)
    assert there.ledger_.mu == want.ledger_.mu


def in_pieces(parts):
    """A Dask dataframe of these frames, one partition each."""
    return dd.from_map(lambda place: parts[place], range(len(parts)), meta=parts[0].iloc[:0])


def people(data):
    """The rows of every person, as bytes."""
    found = []
    for block in open_source(data, units="who").blocks():
        ends = zip(block.offsets[:-1], block.offsets[1:], strict=True)
        found += [np.asarray(block.values)[start:stop].tobytes() for start, stop in ends]
    return sorted(found)


@pytest.mark.parametrize("where", ["threads", "cluster"])
def test_rows_of_a_person_keep_their_order(where, client):
    """Sums depend on the order in their last bits: (1e16 + 1) - 1e16 is 0, and (1e16 - 1e16) + 1 is 1."""
    with client.as_current() if where == "cluster" else warnings.catch_warnings():
        assert people(dd.from_pandas(FRAME, npartitions=12)) == people(FRAME)


def test_one_unusual_id_changes_no_other_unit():
    """It is an id, as it is in memory, and does not make the whole fit fail."""
    who = FRAME["who"].map("p{}".format).astype(object)
    for odd in (17, 0.5, b"p1", pd.Timestamp("2020-01-01"), 10**30):
        ids = who.to_numpy().copy()
        ids[5] = odd
        frame = FRAME.assign(who=pd.Series(ids, dtype=object))
        with dask.config.set({"dataframe.convert-string": False}):  # otherwise Dask converts objects to text
            assert people(in_pieces([frame.iloc[:3000], frame.iloc[3000:]])) == people(frame)


def test_ids_that_are_not_whole_numbers_and_names_that_are():
    halves = FRAME.assign(who=FRAME["who"] + 0.5)
    assert people(dd.from_pandas(halves, npartitions=3)) == people(halves)
    numbered = FRAME.rename(columns=dict(zip("abcdef", range(6), strict=True)))
    assert people(dd.from_pandas(numbered, npartitions=3)) == people(numbered)


def test_objects_that_are_one_number_are_one_person():
    """dask writes objects as text: 7 and 7.0 became "7" and "7.0", and every person was two units."""
    who = FRAME["who"].tolist()
    kinds = (int, float, str, lambda one: f"{one}.0")
    mixed = FRAME.assign(who=np.array([kinds[i % 4](one) for i, one in enumerate(who)], dtype=object))
    for convert in (True, False):
        with dask.config.set({"dataframe.convert-string": convert}):
            collection = dd.from_pandas(mixed, npartitions=5)
            sizes = np.concatenate(
                [np.diff(block.offsets) for block in open_source(collection, units="who").blocks()]
            )
        assert sorted(sizes) == sorted(FRAME["who"].value_counts())


def test_an_index_is_no_data_but_may_hold_ids(tmp_path):
    """Review finding: the index that dask writes became a column, and the first component."""
    dd.from_pandas(FRAME.drop(columns="who"), npartitions=2).to_parquet(tmp_path / "rows")
    dd.from_pandas(FRAME.set_index("who"), npartitions=2).to_parquet(tmp_path / "people")
    for folder, name in (("rows", "__null_dask_index__"), ("people", "who")):
        with pytest.warns(UserWarning, match=f"left out '{name}'"):
            assert open_source(tmp_path / folder).columns == tuple("abcdef")
    here = DPPCA(2, random_state=0).fit(tmp_path / "people", units="who")
    there = DPPCA(2, random_state=0, engine="dask").fit(tmp_path / "people", units="who")
    assert list(here.feature_names_in_) == list(there.feature_names_in_) == list("abcdef")


def test_rows_that_were_chosen_by_their_values_have_no_fixed_places():
    """Under replace, their number would otherwise be released without noise."""
    array = da.from_array(ROWS, chunks=(1000, 6))
    source = open_source(array[array[:, 0] > 0])
    assert open_source(array).fixed_places
    assert not source.fixed_places
    counted = array[array[:, 0] > 0].compute_chunk_sizes()
    for chosen in (counted, counted.persist(), dd.from_pandas(FRAME).query("a > 0").to_dask_array(lengths=True)):
        assert not open_source(chosen).fixed_places
    assert source.nbytes == np.inf  # not nan, which is below any limit
    noted = fit(array[array[:, 0] > 0], relation="replace").ledger_.entries
    assert not any("public under replace" in entry.note for entry in noted)


def test_objects_are_refused_by_type_and_not_by_the_values_of_a_small_piece():
    rows = np.ones((1001, 3), dtype=object)
    with pytest.raises(InvalidInputError, match="got dtype object"):
        open_source(da.from_array(rows, chunks=(1000, 3)))


def test_sparse_pieces():
    array = da.from_array(ROWS[20:], chunks=(1000, 6))
    same(fit(array.map_blocks(sparse.csr_array)), fit(sparse.csr_array(ROWS[20:])))
    with pytest.raises(InvalidInputError, match="expected dense pieces"):
        fit(array.map_blocks(sparse.csr_array, meta=ROWS[:0]))


@pytest.mark.parametrize("units", [None, "who"])
@pytest.mark.parametrize("where", ["threads", "cluster"])
def test_what_fails_in_the_graph_is_not_quoted(units, where, client):
    def fails(part):
        return part.assign(a=float("secret-4711"))

    collection = dd.from_pandas(FRAME, npartitions=2).map_partitions(fails, meta=FRAME.iloc[:0])
    collection = collection if units else collection.drop(columns="who")
    engine = DaskEngine() if where == "threads" else client
    with pytest.raises(InvalidInputError, match="ValueError") as failure:
        fit(collection, units, engine=engine)
    shown = "".join(traceback.format_exception(failure.value))
    assert "4711" not in shown.replace('float("secret-4711")', "")
