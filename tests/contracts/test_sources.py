"""The same numbers from any source give the same counts and the same sums, to the last bit, for any block size."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse

from eigenveil.engines import (
    DisjointPlan,
    LocalEngine,
    PoissonPlan,
    SampledPopulation,
)
from eigenveil.engines.plans import Coins
from eigenveil.kernels import Clip
from eigenveil.operators import Matrices, MeanRows, Products, samples
from eigenveil.sources import source as source_room

N, D = 57, 5
RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(N, D)) * RNG.lognormal(size=(N, 1))
ROWS[4, 2] = np.nan
ROWS[9, 0] = np.inf
IDS = np.array([f"p{i}" for i in RNG.integers(0, 14, N)])
NAMES = [f"x{i}" for i in range(D)]
W = RNG.normal(size=(D, 2))
CENTRE = np.full((D, 2), 0.25)
EDGES = 2.0 ** (np.arange(-40, 60) / 4)


def table(ids=False):
    columns = {name: ROWS[:, i] for i, name in enumerate(NAMES)}
    return pa.table({**columns, "person": IDS} if ids else columns)


def _npy(folder, _):
    np.save(folder / "x.npy", ROWS)
    return folder / "x.npy"


def _npz(folder, _):
    np.savez(folder / "x.npz", ROWS)
    return str(folder / "x.npz")


def _parquet(folder, ids):
    pq.write_table(table(ids), folder / "x.parquet", row_group_size=11)
    return folder / "x.parquet"


def _feather(folder, ids):
    feather.write_feather(table(ids), folder / "x.feather")
    return folder / "x.feather"


def _csv(folder, ids):
    table(ids).to_pandas().to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def _many(folder, ids):
    for i, start in enumerate(range(0, N, 10)):
        pq.write_table(table(ids).slice(start, 10), folder / f"part-{i:02d}.parquet")
    return folder


def _glob(folder, ids):
    _many(folder, ids)
    return str(folder / "part-*.parquet")


def _list(folder, ids):
    _many(folder, ids)
    return sorted(folder.glob("part-*.parquet"))


def _dataset(folder, ids):
    return ds.dataset(_parquet(folder, ids))


ARRAYS = {
    "numpy": lambda *_: ROWS,
    "fortran": lambda *_: np.asfortranarray(ROWS),
    "strided": lambda *_: np.repeat(ROWS, 2, axis=0)[::2],
    "big endian": lambda *_: ROWS.astype(">f8"),
    "list of rows": lambda *_: ROWS.tolist(),
    "npy": _npy,
    "npz": _npz,
    "list of blocks": lambda *_: [ROWS[:7], ROWS[7:7], ROWS[7:8], ROWS[8:]],
}
TABLES = {
    "pandas": lambda _, ids: table(ids).to_pandas(),
    "polars": lambda _, ids: pl.from_arrow(table(ids)),
    "polars lazy": lambda _, ids: pl.from_arrow(table(ids)).lazy(),
    "arrow": lambda _, ids: table(ids),
    "reader": lambda _, ids: table(ids).to_reader(max_chunksize=7),
    "relation": lambda _, ids: duckdb.from_arrow(table(ids)),
    "dataset": _dataset,
    "parquet": _parquet,
    "feather": _feather,
    "csv": _csv,
    "folder": _many,
    "glob": _glob,
    "list of paths": _list,
}
PLANS = {
    "full": None,
    "part": DisjointPlan(2, Coins(b"k")).part(0),
    "poisson": PoissonPlan(0.5, 1, Coins(b"k")),
}


SEVERAL = ("folder", "glob", "list of paths")
FILES = [10, 10, 10, 10, 10, 7]
"""Number of rows of each file; each file is a partition."""


def included(plan, sizes):
    """Which rows a plan includes, by partition and place."""
    if PLANS[plan] is None:
        return np.ones(sum(sizes), dtype=bool)
    return np.concatenate([~PLANS[plan].skip(number, 0, size) for number, size in enumerate(sizes)])


def answer(operator, plan="full", threads=2):
    population = SampledPopulation(operator, Products(W), plan=PLANS[plan], engine=LocalEngine(threads))
    counts, (total,) = population.survey(CENTRE, EDGES, [Clip(3.0, -24)])
    return counts, total, population.slots()


def same(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("block_bytes", [1, 400, 1 << 22])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", [*ARRAYS, *TABLES])
def test_rows_from_everywhere(kind, plan, block_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(source_room, "BLOCK_BYTES", block_bytes)
    data = {**ARRAYS, **TABLES}[kind](tmp_path, False)
    want = answer(samples.rows(ROWS[included(plan, FILES if kind in SEVERAL else [N])]), threads=1)
    operator = samples.rows(data)
    same(answer(operator, plan), want)
    same(answer(operator, plan), want)


@pytest.mark.parametrize("block_bytes", [1, 400, 1 << 22])
@pytest.mark.parametrize("kind", ["fortran", "npy", "list of blocks", *(kind for kind in TABLES if kind != "csv")])
def test_rows_of_float32_from_everywhere(kind, block_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(source_room, "BLOCK_BYTES", block_bytes)
    monkeypatch.setitem(globals(), "ROWS", ROWS.astype(np.float32))
    operator = samples.rows({**ARRAYS, **TABLES}[kind](tmp_path, False))
    same(answer(operator), answer(samples.rows(ROWS), threads=1))


SHIFT, BASIS = np.linspace(-1, 1, D), np.linalg.qr(RNG.normal(size=(D, 2)))[0]
FORMS = {
    "shifted": lambda data: SampledPopulation(samples.rows(data).shifted(SHIFT), Products(W)),
    "projected": lambda data: SampledPopulation(samples.rows(data).projected(BASIS), Products(W)),
    "spiked": lambda data: SampledPopulation(samples.spiked(BASIS, [3.0, 2.0], data), Products(W)),
    "matrices": lambda data: SampledPopulation(samples.rows(data), Matrices()),
    "vectors": lambda data: SampledPopulation(samples.rows(data), MeanRows()),
}


@pytest.mark.parametrize("block_bytes", [1, 400, 1 << 22])
@pytest.mark.parametrize("form", FORMS)
def test_files_in_every_form(form, block_bytes, tmp_path, monkeypatch):
    """Files come in columns, arrays in rows."""
    monkeypatch.setattr(source_room, "BLOCK_BYTES", block_bytes)
    want, got = (FORMS[form](data) for data in (ROWS, _parquet(tmp_path, False)))
    centre = np.zeros(want.shape)
    same(got.survey(centre, EDGES, [Clip(3.0, -24)]), want.survey(centre, EDGES, [Clip(3.0, -24)]))
    if form != "vectors":
        same([np.concatenate(list(got.tensors()))], [np.concatenate(list(want.tensors()))])


@pytest.mark.parametrize("block_bytes", [1, 1 << 22])
@pytest.mark.parametrize("kind", TABLES)
def test_people_from_everywhere(kind, block_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(source_room, "BLOCK_BYTES", block_bytes)
    want = answer(samples.people(ROWS, IDS))
    operator = samples.people(TABLES[kind](tmp_path, True), "person")
    same(answer(operator), want)
    same(answer(operator), want)


@pytest.mark.parametrize("block_bytes", [1, 400, 1 << 22])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix, sparse.csr_matrix])
def test_sparse_from_everywhere(form, block_bytes, monkeypatch):
    monkeypatch.setattr(source_room, "BLOCK_BYTES", block_bytes)
    want = answer(samples.rows(sparse.csr_array(ROWS)), threads=1)
    same(answer(samples.rows(form(ROWS))), want)


def test_generators_are_read_once():
    want = answer(samples.rows(ROWS))[:2]
    population = SampledPopulation(samples.rows(block for block in np.array_split(ROWS, 5)), Products(W))
    counts, (total,) = population.survey(CENTRE, EDGES, [Clip(3.0, -24)])
    same((counts, total), want)
