"""Score histograms: exact counts, sensitivities that hold and are attained, noise as stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from eigenveil.engines import LocalEngine
from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import Veil, no_noise
from eigenveil.mechanisms.score_histogram import ScoreGrid, score_histogram
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units
from support.catalogue import MECHANISMS
from support.checks import draws_match_ledger, noise_matches_ledger, stated_sensitivity_holds

RELATIONS = ["add-remove", "replace", "empty-slot"]
EDGES = (np.linspace(-2, 2, 5), np.linspace(-1, 3, 4))
AXES = np.array([[0.6, -0.8], [0.8, 0.6], [0.0, 0.0]])
ORIGIN = np.array([0.25, -0.5, 7.0])
PICTURE = ScoreGrid(axes=AXES, origin=ORIGIN, edges=EDGES)


def open_units(operator, *, source=no_noise, relation="add-remove", engine=None):
    budget = Budget.from_mu(1.0)
    engine = LocalEngine() if engine is None else engine
    return Units(operator, Veil(Ledger(budget, relation=relation), source=source), budget, engine=engine)


def histogram_of(units, grid, *, mu):
    return score_histogram(units.vectors(), grid, mu=mu, veil=units.veil)


def rows(n=500, *, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) * 1.5


def expected(X):
    return np.histogram2d(*((X - ORIGIN) @ AXES).T, bins=EDGES)[0]


FORMS = {
    "dense": samples.rows,
    "sparse": lambda X: samples.rows(sparse.csr_array(X)),
    "float32": lambda X: samples.rows(X.astype(np.float32)),
    "blocks": lambda X: samples.rows([X[:7], X[7:300], X[300:]]),
    "people of one row": lambda X: samples.people(X, np.arange(len(X))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threads", [1, 3])
def test_without_noise_it_is_numpys_histogram(form, threads):
    X = rows().astype(np.float32).astype(float)
    sums = histogram_of(open_units(FORMS[form](X), engine=LocalEngine(threads)), PICTURE, mu=0.1)
    np.testing.assert_allclose(sums.inside, expected(X), atol=1e-9)
    assert sums.outside == pytest.approx(len(X) - expected(X).sum())


def test_edges_are_numpys():
    X = np.array([[-2.0, -1.0, 0], [2.0, 3.0, 0], [-1.0, 1 / 3, 0], [2.5, 0, 0]])
    grid = ScoreGrid(axes=np.eye(3)[:, :2], origin=np.zeros(3), edges=EDGES)
    sums = histogram_of(open_units(samples.rows(X)), grid, mu=0.1)
    np.testing.assert_array_equal(sums.inside, np.histogram2d(X[:, 0], X[:, 1], bins=EDGES)[0])
    assert sums.outside == 1


@pytest.mark.parametrize("form", ["dense", "sparse", "people of one row"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_invalid_rows_add_nothing(form, bad):
    X = rows(400)
    spoilt = np.concatenate([X, [[0.1, bad, 0.1], [0.1, 0.1, bad]]])
    sums = [histogram_of(open_units(FORMS[form](data)), PICTURE, mu=0.1) for data in (X, spoilt)]
    np.testing.assert_array_equal(sums[0].inside, sums[1].inside)
    assert sums[0].outside == sums[1].outside


@pytest.mark.parametrize("X", [np.zeros((0, 3)), np.full((3, 3), np.nan)])
@pytest.mark.parametrize("people", [False, True])
def test_no_units(X, people):
    operator = samples.people(X, np.zeros(len(X))) if people else samples.rows(X)
    sums = histogram_of(open_units(operator), PICTURE, mu=0.1)
    assert not sums.inside.any()
    assert sums.outside == 0


def test_a_person_has_a_total_weight_of_one():
    X, ids = rows(600), np.random.default_rng(1).integers(0, 90, size=600)
    X[ids == 5] = np.nan
    X[np.flatnonzero(ids == 6)[0]] = np.nan
    sums = histogram_of(open_units(samples.people(X, ids)), PICTURE, mu=0.1)
    total = np.zeros_like(sums.inside)
    for one in set(ids) - {5}:
        own = X[(ids == one) & np.isfinite(X).all(axis=1)]
        total += expected(own) / len(own)
    np.testing.assert_allclose(sums.inside, total, atol=1e-5)
    assert sums.inside.sum() + sums.outside == pytest.approx(len(set(ids)) - 1, abs=1e-4)
    assert sums.inside.sum() + sums.outside <= len(set(ids)) - 1


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("thin", [False, True])
def test_groups_are_one_more_axis(people, thin):
    X, codes = rows(300), np.random.default_rng(2).integers(-1, 3, size=300)
    wide = np.column_stack([X, np.where(codes == 2, 0.5, codes)])
    held = sparse.csr_array(wide) if thin else wide
    operator = samples.people(held, np.arange(300)) if people else samples.rows(held)
    grid = ScoreGrid(axes=AXES, origin=ORIGIN, edges=EDGES, groups=2)
    sums = histogram_of(open_units(operator), grid, mu=0.1)
    assert sums.inside.shape == (2, 4, 3)
    for group in range(2):
        np.testing.assert_allclose(sums.inside[group], expected(X[codes == group]))
        assert sums.outside[group] == pytest.approx((codes == group).sum() - sums.inside[group].sum())


def of_people(data):
    return samples.people(data[:, 1:], data[:, 0].astype(int)) if len(data) else samples.rows(np.zeros((0, 3)))


@pytest.fixture(params=["rows", "people", "groups"])
def mechanism(request, monkeypatch):
    """The first column is the person of the row; the last column is the group."""
    groups = 2 if request.param == "groups" else None
    own = AXES[: 3 - (groups is not None)]
    grid = ScoreGrid(axes=own, origin=np.zeros(len(own)), edges=EDGES, groups=groups)
    make = (lambda data: samples.rows(data[:, 1:])) if request.param == "rows" else of_people

    def run(operator, veil):
        histogram_of(Units(operator, veil, veil.ledger.budget), grid, mu=0.1)

    monkeypatch.setitem(MECHANISMS, "grid", (make, run))
    return request.param


IN_ONE, IN_OTHER, AWAY, BAD = [1.0, 1.0, 1.0], [-1.0, 1.5, 0.0], [50.0, 0.0, 1.0], [np.nan, 0.0, 0.0]
REST = [[9, *IN_ONE], [8, *IN_OTHER]]


@pytest.mark.parametrize(
    ("relation", "before", "after", "moved"),
    [
        ("add-remove", [[1, *IN_ONE]], [], 1),
        ("add-remove", [[1, *AWAY]], [], 1),
        ("add-remove", [[1, *BAD]], [], 0),
        ("replace", [[1, *IN_ONE]], [[1, *IN_OTHER]], 1),
        ("replace", [[1, *IN_ONE]], [[1, *AWAY]], 1),
        ("replace", [[1, *IN_ONE]], [[1, *BAD]], 0.5),
        ("empty-slot", [[1, *IN_ONE]], [[1, *BAD]], 1),
    ],
)
def test_sensitivity_holds_and_is_attained(mechanism, relation, before, after, moved):
    before, after = np.array(REST + before), np.array(REST + after)
    assert mechanism in ("rows", "people", "groups")
    assert stated_sensitivity_holds("grid", relation, before, after) == pytest.approx(moved)


ROW = st.lists(st.floats(width=32) | st.sampled_from([0.0, 1.0, -2.0, 2.0]), min_size=3, max_size=3)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", ["people", "groups"], indirect=True)
@given(old=st.lists(ROW, max_size=7), new=st.lists(ROW, max_size=7))
def test_no_person_exceeds_the_sensitivity(mechanism, relation, old, new):
    del mechanism
    new = new if relation == "replace" else []
    before, after = ([*REST, *([1, *one] for one in taken)] for taken in (old, new))
    stated_sensitivity_holds("grid", relation, np.array(before), np.array(after))


@pytest.mark.parametrize("relation", RELATIONS)
def test_draws_and_noise_match_the_ledger(mechanism, relation):
    del mechanism
    data = np.column_stack([np.arange(40) % 13, rows(40)[:, :2], np.arange(40) % 3])
    draws_match_ledger("grid", relation, data)
    noise_matches_ledger("grid", relation, data)


@pytest.mark.parametrize(("relation", "scale"), [("add-remove", 2.0), ("replace", 2 * 2**0.5)])
def test_noise_has_the_stated_standard_deviation(relation, scale):
    edges = (np.linspace(-2, 2, 51), np.linspace(-2, 2, 51))
    grid = ScoreGrid(axes=np.eye(2), origin=np.zeros(2), edges=edges)
    sums = histogram_of(open_units(samples.rows(np.zeros((0, 2))), source=None, relation=relation), grid, mu=0.5)
    assert sums.noise == pytest.approx(scale)
    assert np.std(sums.inside) == pytest.approx(scale, rel=0.08)
    assert abs(np.mean(sums.inside)) < 6 * scale / 50


def test_the_cell_of_a_row_depends_on_that_row_alone():
    """Rows lie on edges up to rounding; if other rows are removed or moved, no row changes its cell."""
    X = np.repeat(rows(64, seed=3), 30, axis=0)
    scores = (X - ORIGIN) @ AXES
    edges = tuple(np.unique(np.concatenate([[-99.0], column, [99.0]])) for column in scores[::30].T)
    grid = ScoreGrid(axes=AXES, origin=ORIGIN, edges=edges)
    whole = histogram_of(open_units(samples.rows(X)), grid, mu=0.1)
    for keep in (np.arange(len(X)) % 30 != 7, np.random.default_rng(0).permutation(len(X))):
        part = histogram_of(open_units(samples.rows(X[keep])), grid, mu=0.1)
        np.testing.assert_array_equal(part.inside, whole.inside * (len(X[keep]) / len(X)))


@pytest.mark.ledger_beyond_recomputation
def test_where_noise_dominates_units_add_nothing():
    """If 1 is not a multiple of the grid, a unit adds 0 and not a whole step."""
    sums = histogram_of(open_units(samples.rows(rows())), PICTURE, mu=2.0**-60)
    assert not sums.inside.any()


def test_invalid_arguments_are_refused():
    with pytest.raises(InvalidInputError, match="ascending"):
        ScoreGrid(axes=AXES, origin=ORIGIN, edges=(EDGES[0], EDGES[1][::-1]))
    with pytest.raises(InvalidInputError, match="ascending"):
        ScoreGrid(axes=AXES, origin=ORIGIN, edges=(EDGES[0], np.array([0.0, np.inf])))
    with pytest.raises(InvalidInputError, match="shape"):
        ScoreGrid(axes=AXES, origin=ORIGIN[:2], edges=EDGES)
    with pytest.raises(InvalidInputError, match="finite"):
        ScoreGrid(axes=AXES * np.nan, origin=ORIGIN, edges=EDGES)
    with pytest.raises(InvalidInputError, match="group"):
        ScoreGrid(axes=AXES, origin=ORIGIN, edges=EDGES, groups=0)
    with pytest.raises(InvalidInputError, match="cells"):
        ScoreGrid(axes=AXES, origin=ORIGIN, edges=(np.arange(5000.0), np.arange(5000.0)))
    units = open_units(samples.matrices(np.ones((2, 3, 3))))
    with pytest.raises(InvalidInputError, match="matrices"):
        histogram_of(units, PICTURE, mu=0.1)
    with pytest.raises(InvalidInputError, match="columns"):
        histogram_of(open_units(samples.rows(np.ones((2, 4)))), PICTURE, mu=0.1)
    units = open_units(samples.rows(rows()))
    with pytest.raises(BudgetExceededError):
        histogram_of(units, PICTURE, mu=1.5)
    assert not units.veil.ledger.entries
