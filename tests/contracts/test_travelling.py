"""Partitions, plans and queries are pickled, and give the same integers in another process."""

import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import reduce
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse

from contracts.catalogue import OPERATORS, D
from contracts.test_sources import ARRAYS, SEVERAL, TABLES, table
from contracts.test_sources import ROWS as SOURCE_ROWS
from contracts.test_sources import D as COLUMNS
from eigenveil import DPPCA
from eigenveil.engines import Coins, DisjointPlan, FullPlan, LocalEngine, PoissonPlan, RangePlan
from eigenveil.engines.columns import ColumnQuery
from eigenveil.engines.left_out import LeftOutQuery
from eigenveil.engines.plans import EmptySlots
from eigenveil.engines.query import SlotsQuery, SurveyQuery, fold
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.mechanisms.score_histogram import CellQuery, ScoreGrid
from eigenveil.operators import ColumnGroup, Matrices, MeanRows, Products, Squares, Variances, samples
from eigenveil.operators.rescaled import rescaled
from eigenveil.privacy import Budget, Ledger
from eigenveil.sources import source as source_room
from eigenveil.units.units import Both, Units

EDGES = 2.0 ** (np.arange(-40, 60) / 4)
CLIPS = (Clip(1.5, -24), Clip(6.0, -22))
COINS = Coins(b"k" * 32)
MARK = 3.0e-7 + 1.0 / 3.0


def tensors(d):
    rng = np.random.default_rng(2)
    return {
        "products": Products(rng.normal(size=(d, 3))),
        "matrices": Matrices(),
        "mean rows": MeanRows(),
        "variances": Variances(np.linalg.qr(rng.normal(size=(d, 2)))[0]),
        "rest": Variances(np.linalg.qr(rng.normal(size=(d, 2)))[0], slice(2, None)),
    }


def plans(sizes):
    """Every kind of plan; `sizes` are the numbers of units of the partitions."""
    ends = np.cumsum(sizes).tolist()
    whole = RangePlan(2, ends[-1] - 1, fixed_places=True, starts=(0, *ends[:-1]))
    part = DisjointPlan(2, COINS).part(1)
    listed = {
        "full": FullPlan(),
        "part": part,
        "part of a part": part.split(2, b"other").part(0),
        "poisson": PoissonPlan(0.5, 3, COINS),
        "both": Both(part, PoissonPlan(0.7, 1, COINS)),
        "range": whole,
        "part of a range": whole.split(2, b"").part(1),
    }
    if len(sizes) == 1:
        listed["empty slots"] = EmptySlots(np.arange(sizes[0]) % 3 == 0)
    return listed


def queries(operator):
    """Every kind of query."""
    public, d = operator.without_data(), operator.d
    for name, tensor in tensors(d).items():
        if name == "mean rows" and not (operator.has_rows or hasattr(operator, "rows")):
            continue
        for centre in (np.zeros(tensor.shape(d)), np.full(tensor.shape(d), 0.125)):
            yield SurveyQuery(operator=public, tensor=tensor, centre=centre, edges=EDGES, clips=CLIPS)
    yield SlotsQuery(len(operator.partitions()))
    if operator.has_rows:
        edges = np.array([-1.0, 0.0, 0.5, 2.0])
        grid = ScoreGrid(axes=np.eye(d)[:, :2], origin=np.zeros(d), edges=(edges, edges))
        yield CellQuery(operator=public, grid=grid, whole=1 << 20)
        yield LeftOutQuery(replace(public, groups=(ColumnGroup("a", slice(0, 1)), ColumnGroup("b", slice(1, d)))))
        same = {"operator": public, "columns": np.arange(d)}
        for squared in (False, True):
            yield ColumnQuery(squared=squared, edges=EDGES, **same)
            yield ColumnQuery(squared=squared, clips=(np.full(d, 1.5), -24), **same)
        squares = Squares(np.arange(0, d, 2), np.full(len(range(0, d, 2)), 0.5), 3.0)
        centre = np.zeros(squares.shape(d))
        yield SurveyQuery(operator=public, tensor=squares, centre=centre, edges=EDGES, clips=CLIPS)


def work(pickled):
    """The work of a worker; its input and output are pickles only."""
    query, plan, partition, number = pickle.loads(pickled)  # noqa: S301
    return pickle.dumps(fold(query, plan, [(number, partition)]))


@pytest.fixture(scope="module")
def elsewhere():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def flat(result):
    """All integers of an answer."""
    return [result.counts, *result.sums, result.slots] if hasattr(result, "sums") else [result]


def same(got, want):
    for one, other in zip(flat(got), flat(want), strict=True):
        assert np.asarray(one).dtype.kind == "i"
        np.testing.assert_array_equal(one, other)


def check(operator, elsewhere, chosen=None):
    """Every plan with every query: here on 1 and 3 threads, there per partition, merged in reverse order."""
    partitions = operator.partitions()
    sizes = LocalEngine(1).reduce(partitions, FullPlan(), SlotsQuery(len(partitions)))
    asked = [
        (plan, query)
        for name, plan in plans(sizes.tolist()).items()
        if chosen is None or name in chosen
        for query in queries(operator)
    ]
    jobs = [
        [pickle.dumps((query, plan, partition, number)) for number, partition in enumerate(partitions)]
        for plan, query in asked
    ]
    flat_jobs = [one for job in jobs for one in job]
    states = iter(elsewhere.map(work, flat_jobs, chunksize=50))
    for plan, query in asked:
        here = LocalEngine(1).reduce(partitions, plan, query)
        same(LocalEngine(3).reduce(partitions, plan, query), here)
        back = [pickle.loads(next(states)) for _ in partitions]  # noqa: S301
        same(query.finish(reduce(query.merge, reversed(back))), here)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_plan_and_query(name, elsewhere, monkeypatch):
    operator, _ = OPERATORS[name]()
    check(operator, elsewhere)
    monkeypatch.setattr(source_room, "BLOCK_BYTES", 600)  # in this process; elsewhere they stay unchanged
    check(operator, elsewhere, chosen=("part of a part", "range"))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_projected(name, elsewhere):
    operator, _ = OPERATORS[name]()
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(D, 2)))[0]
    check(operator.projected(basis), elsewhere, chosen=("part",))


def _feathers(folder, _):
    for number, start in enumerate(range(0, len(SOURCE_ROWS), 20)):
        feather.write_feather(table().slice(start, 20), folder / f"part-{number}.feather")
    return folder


def _csvs(folder, _):
    for number, start in enumerate(range(0, len(SOURCE_ROWS), 20)):
        table().slice(start, 20).to_pandas().to_csv(folder / f"part-{number}.csv", index=False)
    return folder


FOLDERS = {"feather files": (_feathers, 3), "csv files": (_csvs, 3)}


def _sparse_blocks():
    whole = sparse.csr_array(SOURCE_ROWS)
    return [whole[:7], whole[7:]]


def _sparse_npz(folder, _):
    sparse.save_npz(folder / "x.npz", sparse.csr_array(SOURCE_ROWS))
    return folder / "x.npz"


SPARSE = {
    "sparse": lambda *_: sparse.csr_array(SOURCE_ROWS),
    "sparse blocks": lambda *_: _sparse_blocks(),
    "sparse npz": _sparse_npz,
}
ROWS_OF = {
    **ARRAYS,
    **TABLES,
    **SPARSE,
    "sparse npz": _sparse_npz,
    **{k: make for k, (make, _) in FOLDERS.items()},
}


@pytest.mark.parametrize("kind", ROWS_OF)
def test_every_source_of_rows(kind, elsewhere, tmp_path):
    operator = samples.rows(ROWS_OF[kind](tmp_path, False))
    assert operator.source.sparse == ("sparse" in kind)
    assert len(operator.partitions()) == (6 if kind in SEVERAL else FOLDERS.get(kind, (None, 1))[1])
    check(operator, elsewhere, chosen=("full", "both", "part of a range"))


@pytest.mark.parametrize("kind", TABLES)
def test_every_source_of_people(kind, elsewhere, tmp_path):
    operator = samples.people(TABLES[kind](tmp_path, True), "person")
    assert len(operator.partitions()) == 1
    check(operator, elsewhere, chosen=("part",))


def test_wrapped_sources(elsewhere, tmp_path):
    for data in (TABLES["folder"](tmp_path, False), sparse.csr_array(SOURCE_ROWS)):
        operator = samples.rows(data)
        check(rescaled(operator, np.arange(1.0, COLUMNS + 1)), elsewhere, chosen=("part",))


# -- queries are small and contain no data -----------------------------------------------------------


def _marked(n):
    rows = np.random.default_rng(0).normal(size=(n, 4))
    rows[n // 2, 1] = MARK
    return rows


FORMS = {
    "rows": samples.rows,
    "sparse rows": lambda rows: samples.rows(sparse.csr_array(rows)),
    "people": lambda rows: samples.people(rows, np.arange(len(rows)) % 7),
    "factors": lambda rows: samples.factors(list(rows[:, None])),
    "spiked": lambda rows: samples.spiked(np.eye(4)[:, :1], [2.0], rows),
    "matrices": lambda rows: samples.matrices(rows[:, :, None] * np.ones(4)),
    "rescaled": lambda rows: rescaled(samples.rows(rows), np.ones(4)),
}


@pytest.mark.parametrize("form", FORMS)
def test_queries_and_plans_hold_no_data(form):
    mark = np.float64(MARK).tobytes()
    few, many = (FORMS[form](_marked(n)) for n in (50, 5000))
    assert mark in pickle.dumps(many.partitions())
    for small, large in zip(queries(few), queries(many), strict=True):
        pickled = pickle.dumps(large)
        assert mark not in pickled
        assert len(pickled) <= len(pickle.dumps(small)) + 50
    for small, large in zip(plans([50]).values(), plans([5000]).values(), strict=True):
        if not isinstance(large, EmptySlots):  # one bit per slot
            assert len(pickle.dumps(large)) <= len(pickle.dumps(small)) + 50


@pytest.mark.parametrize("form", FORMS)
def test_states_hold_integers_and_no_data(form):
    operator = FORMS[form](_marked(500))
    (partition,) = operator.partitions()
    for query in queries(operator):
        state = pickle.dumps(fold(query, FullPlan(), [(0, partition)]))
        assert np.float64(MARK).tobytes() not in state
        assert len(state) < 8000  # no work space, which is larger


class Cluster:
    """An engine that gets pickles and merges in reverse order; only partitions may contain data."""

    def __init__(self):
        self.mark = np.float64(MARK).tobytes()
        self.reduced = self.mapped = 0

    def _sent(self, what):
        pickled = pickle.dumps(what)
        assert self.mark not in pickled
        return pickle.loads(pickled)  # noqa: S301

    def reduce(self, partitions, plan, query):
        self.reduced += 1
        plan, query = self._sent((plan, query))
        states = [
            self._sent(fold(query, plan, [(number, pickle.loads(pickle.dumps(partition)))]))  # noqa: S301
            for number, partition in enumerate(partitions)
        ]
        return query.finish(reduce(query.merge, reversed(states)))

    def map(self, partitions, plan, transform):
        self.mapped += 1
        plan, transform = self._sent((plan, transform))
        there = pickle.loads(pickle.dumps(list(partitions)))  # noqa: S301
        return LocalEngine(1).map(there, plan, transform)


FITS = {
    "tracked": {},
    "scaled": {"scale": "private"},
    "k-dp-pca": {"algorithm": "k-dp-pca", "relation": "replace"},
    "literal k-dp-pca": {
        "algorithm": "k-dp-pca",
        "relation": "replace",
        "options": {"mean_estimator": "privmean", "range_finder": "privrange"},
    },
    "k-dp-ojas": {"algorithm": "k-dp-ojas"},
    "dp-gauss-1": {"algorithm": "dp-gauss-1"},
    "dp-gauss-2": {"algorithm": "dp-gauss-2"},
    "dp-power": {"algorithm": "dp-power"},
}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_whole_fits_travel(name, several, tmp_path):
    """All queries of all algorithms can be pickled, and the release is the same to the bit."""
    rows = _marked(600) * [4.0, 3.0, 1.0, 1.0]
    rows[300, 1] = MARK
    data = rows
    if several:
        for number in range(3):
            pq.write_table(table_of(rows[200 * number : 200 * (number + 1)]), tmp_path / f"{number}.parquet")
        data = tmp_path
    engines = LocalEngine(2), Cluster()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = (
            DPPCA(2, epsilon=5, random_state=3, engine=engine, **FITS[name]).fit(data) for engine in engines
        )
    np.testing.assert_array_equal(here.components_, there.components_)
    assert engines[1].reduced
    assert bool(engines[1].mapped) == name.startswith("literal")


# -- several partitions ----------------------------------------------------------------------------------


def test_a_full_plan_over_files_gives_what_the_rows_give_in_memory(tmp_path):
    together, apart = samples.rows(SOURCE_ROWS), samples.rows(TABLES["folder"](tmp_path, False))
    for one, other in zip(queries(together), queries(apart), strict=True):
        want = LocalEngine(1).reduce(together.partitions(), FullPlan(), one)
        got = LocalEngine(3).reduce(apart.partitions(), FullPlan(), other)
        if isinstance(one, SlotsQuery):
            assert got.tolist() == [10, 10, 10, 10, 10, 7]
            assert want.tolist() == [57]
        else:
            same(got, want)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_each_unit_of_several_files_is_in_one_part_whatever_the_blocks(parts, tmp_path, monkeypatch):
    rows = np.arange(2000.0)[:, None] * np.ones(2)
    for number in range(4):
        pq.write_table(table_of(rows[500 * number : 500 * (number + 1)]), tmp_path / f"{number}.parquet")
    split = DisjointPlan(parts, COINS)
    seen = {}
    for block_bytes in (64, 3000, 1 << 22):
        monkeypatch.setattr(source_room, "BLOCK_BYTES", block_bytes)
        partitions = samples.rows(tmp_path).partitions()
        taken = [
            [
                value
                for block in LocalEngine(2).map(partitions, split.part(index), _values)
                for value in block.tolist()
            ]
            for index in range(parts)
        ]
        assert sorted(value for part in taken for value in part) == rows[:, 0].tolist()
        assert all(part == sorted(part) for part in taken)  # in the order of the data
        seen[block_bytes] = taken
    assert seen[64] == seen[3000] == seen[1 << 22]
    if parts > 1:
        of_file = [[value % 500 for value in seen[64][0] if value // 500 == number] for number in range(4)]
        assert len({tuple(places) for places in of_file}) == 4  # other partitions have other coins


@pytest.mark.parametrize("batches", [1, 3])
def test_parts_by_place_over_files_are_those_of_the_rows_in_memory(batches, tmp_path):
    budget = Budget.from_mu(1.0)
    answers = []
    for data in (SOURCE_ROWS, TABLES["folder"](tmp_path, False)):
        veil = Veil(Ledger(budget, relation="replace"))
        units = Units(samples.rows(data), veil, budget).by_position()
        answers.append(
            [part.block(np.eye(COLUMNS)).clipped_sum(np.zeros((5, 5)), 3.0, -20) for part in units.split(batches)]
        )
    np.testing.assert_array_equal(*answers)


def _values(chunk):
    return np.asarray(chunk.included_units().values)[:, 0]


def table_of(rows):
    return pa.table({f"x{i}": rows[:, i] for i in range(rows.shape[1])})


def test_a_generator_cannot_travel_and_says_so():
    (partition,) = samples.rows(block for block in np.array_split(SOURCE_ROWS, 5)).partitions()
    with pytest.raises(InvalidInputError, match="cannot be sent to another process") as raised:
        pickle.dumps(partition)
    assert "Parquet" in str(raised.value)
