"""Columns queried together equal single columns, and a unit changes each by at most its sensitivity."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from eigenveil.engines import ColumnPopulation, LocalEngine, PoissonPlan, SampledPopulation
from eigenveil.engines.columns import ColumnQuery
from eigenveil.engines.query import Chunk
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Columns
from eigenveil.mechanisms.radius import EDGES
from eigenveil.operators import Matrices, MeanRows, entries, samples
from eigenveil.sources import Block
from eigenveil.sources import source as source_room

D = 5
SHIFT = np.linspace(-0.7, 0.6, D).astype(np.float32).astype(np.float64)
ALL, SOME = np.arange(D), np.array([3, 0])
RADII, EXPONENT = np.array([1.0, 0.1, 3.7, 2.0**20, 1e-3]), -20
ODD = [math.nan, math.inf, -math.inf, 1e200, 1e154, 1e77, 1e-200, 5e-324, 0.0, -0.0, 1.0, 2.0**0.25, 3e38]


def ids_of(units):
    return np.repeat(np.arange(len(units)), [len(unit) for unit in units])


ROWS = {
    "rows": lambda units: samples.rows(np.concatenate(units)),
    "rows shifted": lambda units: samples.rows(np.concatenate(units)).shifted(SHIFT),
    "rows float32": lambda units: samples.rows(np.concatenate(units).astype(np.float32)).shifted(SHIFT),
    "sparse": lambda units: samples.rows(sparse.csr_array(np.concatenate(units))),
    "sparse shifted": lambda units: samples.rows(sparse.csr_array(np.concatenate(units))).shifted(SHIFT),
    "sparse float32": lambda units: samples.rows(sparse.csr_array(np.concatenate(units).astype(np.float32))),
}
PEOPLE = {
    "people": lambda units: samples.people(np.concatenate(units), ids_of(units)),
    "factors shifted": lambda units: samples.factors(units).shifted(SHIFT),
    "sparse people": lambda units: samples.people(sparse.csr_array(np.concatenate(units)), ids_of(units)).shifted(
        SHIFT
    ),
}
FORMS = {**ROWS, **PEOPLE}


def some_units(name, rng, n, odd=()):
    units = [
        rng.normal(size=(1 if name in ROWS else int(rng.integers(1, 5)), D)) * rng.lognormal(sigma=2)
        for _ in range(n)
    ]
    for unit in units:
        unit[rng.random(unit.shape) < 0.3] = 0.0
    for value in odd:
        mine = units[int(rng.integers(n))]
        mine[int(rng.integers(len(mine))), int(rng.integers(D))] = value
    return units


@st.composite
def problems(draw, name):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 30))
    units = some_units(name, rng, n, draw(st.lists(st.sampled_from(ODD), max_size=8)))
    return units, int(rng.integers(n)), rng.permutation(n)


def columns(name, units, *, squared=False, which=ALL, **how):
    with np.errstate(all="ignore"):
        operator = FORMS[name](units)
    return ColumnPopulation(SampledPopulation(operator, MeanRows(), **how), which, squared=squared)


def answers(name, units, squared, which=ALL):
    population = columns(name, units, squared=squared, which=which, engine=LocalEngine(2))
    return population.counts_between(EDGES), population.clipped_sums(RADII[which], EXPONENT)


def numbers(name, units, squared):
    """Reference for a unit's number in every column: a row that is invalid in any column is excluded from all.

    A mean of valid rows can still overflow; the unit is then excluded from this column only.
    """
    shift = SHIFT if "shifted" in name or name in ("rows float32", "sparse people") else np.zeros(D)
    out = np.full((len(units), D), np.nan)
    with np.errstate(all="ignore"):
        for u, rows in enumerate(units):
            x = (rows.astype(np.float32) if "float32" in name else rows).astype(np.float64) - shift
            good = [row for row in x if all(math.isfinite(v) and abs(v) < 2.0**512 for v in row.tolist())]
            if good:
                total = np.zeros(D)
                for row in good:
                    total = total + (row * row if squared else row)
                out[u] = total / len(good)
    return np.where(np.isfinite(out), out, np.nan)


def assert_as_numbers(name, units, squared):
    counts, sums = answers(name, units, squared)
    table = numbers(name, units, squared)
    for j in range(D):
        sizes = np.abs(table[:, j])
        np.testing.assert_array_equal(counts[j], np.diff([np.sum(sizes <= edge) for edge in EDGES], prepend=0))
        with np.errstate(over="ignore"):
            whole = np.rint(np.nan_to_num(table[:, j]) * (2.0**-EXPONENT / RADII[j]))
        assert int(np.clip(whole, -(2**20), 2**20).sum()) == int(sums[j])


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_every_column_is_a_population_of_one_number(name, squared):
    @settings(max_examples=15)
    @given(problems(name))
    def search(problem):
        assert_as_numbers(name, problem[0], squared)

    search()


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("name", PEOPLE)
def test_a_mean_that_overflows_excludes_a_person_from_its_column_only(name, squared):
    """Two valid rows whose squares add up to more than a float holds (found by a search over random examples)."""
    person = np.array([[0.0, 0.0, 1e154, 2.0, 0.0], [1.0, 0.0, -1e154, 0.0, 0.0]])
    assert_as_numbers(name, [person, np.ones((1, D))], squared)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_removing_replacing_and_moving_units(name, squared):
    @settings(max_examples=15)
    @given(problems(name))
    def search(problem):
        units, out, order = problem
        counts, sums = answers(name, units, squared)
        for one, other in zip((counts, sums), answers(name, [units[i] for i in order], squared), strict=True):
            np.testing.assert_array_equal(one, other)
        fewer_counts, fewer = answers(name, units[:out] + units[out + 1 :], squared)
        own_counts, own = answers(name, [units[out]], squared)
        assert set(np.unique(counts - fewer_counts).tolist()) <= {0, 1}
        assert own_counts.sum(axis=1).max() <= 1
        np.testing.assert_array_equal(counts - fewer_counts, own_counts)
        np.testing.assert_array_equal(sums - fewer, own)
        assert np.all(np.abs(own) <= 2.0**-EXPONENT)
        other_counts, other = answers(name, [*units[:out], -2 * units[out - 1], *units[out + 1 :]], squared)
        assert np.all(np.abs(other_counts - counts) <= 1)
        assert np.all(np.abs(other - sums) <= 2 * 2.0**-EXPONENT)

    search()


@pytest.mark.parametrize("name", FORMS)
def test_blocks_plans_and_columns_that_are_asked_for_change_nothing(name, monkeypatch):
    units = some_units(name, np.random.default_rng(2), 200, ODD)
    counts, sums = answers(name, units, squared=False)
    for whole, part in zip((counts, sums), answers(name, units, squared=False, which=SOME), strict=True):
        np.testing.assert_array_equal(part, whole[SOME])
    plan = PoissonPlan(0.3)
    kept = [unit for unit, left_out in zip(units, plan.skip(0, 0, len(units)), strict=True) if not left_out]
    np.testing.assert_array_equal(
        columns(name, units, plan=plan).counts_between(EDGES), answers(name, kept, squared=False)[0]
    )
    monkeypatch.setattr(source_room, "BLOCK_BYTES", 500)
    monkeypatch.setattr(entries, "_ENTRIES_AT_A_TIME", 7)
    for one, other in zip((counts, sums), answers(name, units, squared=False), strict=True):
        np.testing.assert_array_equal(one, other)


def test_columns_as_they_come_from_files_are_read_as_rows():
    X = np.concatenate(some_units("rows", np.random.default_rng(3), 100, [math.nan, 1e200]))
    public = samples.rows(X).shifted(SHIFT).without_data()
    for asked in ({"edges": EDGES}, {"clips": (RADII, EXPONENT)}):
        query = ColumnQuery(operator=public, squared=False, columns=ALL, **asked)
        given, skip = (X, Columns(list(X.T))), np.arange(len(X)) % 7 == 0
        one, other = (query.add(query.zero(), Chunk(0, Block(values), skip)) for values in given)
        np.testing.assert_array_equal(one, other)
        with pytest.raises(InvalidInputError, match="as when the data were opened"):
            query.add(query.zero(), Chunk(0, Block(X[:, 1:])))


def test_wide_sparse_rows_never_become_dense():
    X = sparse.random_array((2000, 100_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    rows = SampledPopulation(samples.rows(X), MeanRows())
    sums = ColumnPopulation(rows, np.arange(100_000)).clipped_sums(np.ones(100_000), -20)
    np.testing.assert_allclose(sums / 2.0**20, X.sum(axis=0), atol=1e-4)
    some = np.arange(50_000, 50_040)
    counts = ColumnPopulation(rows, some).counts_between(EDGES)
    np.testing.assert_array_equal(counts[:, 0], 2000 - X[:, some].count_nonzero(axis=0))


def test_units_without_rows_and_wrong_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="no rows"):
        ColumnPopulation(SampledPopulation(samples.matrices(np.ones((3, 2, 2))), Matrices()), np.arange(2))
    population = columns("rows", [np.ones((1, D))])
    with pytest.raises(InvalidInputError, match="one per column"):
        population.clipped_sums(np.ones(2), EXPONENT)
    for edges in (np.zeros(0), np.array([0.0, 1.0]), np.array([2.0, 1.0]), np.array([1.0, np.inf])):
        with pytest.raises(InvalidInputError, match="edges"):
            population.counts_between(edges)
    for radii, exponent in ((np.zeros(D), EXPONENT), (RADII, -600), (np.full(D, np.inf), EXPONENT)):
        with pytest.raises(InvalidInputError, match="radii"):
            population.clipped_sums(radii, exponent)
