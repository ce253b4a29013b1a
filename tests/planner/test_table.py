"""Simulated tables: columns with means and units, which answer like real ones."""

import numpy as np
import pytest

from eigenveil.algorithms.frame import EDGES
from eigenveil.mechanisms import Veil
from eigenveil.operators import samples
from eigenveil.planner.guess import make_guess
from eigenveil.planner.simulated import SimulatedUnits, draw
from eigenveil.planner.table import DISTANCE, SimulatedTable, even_rotation
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

N, D = 40_000, 6
VALUES = np.array([6.0, 4.0, 3.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("d", [1, 2, 3, 17, 200])
@pytest.mark.parametrize("flat", [True, False])
def test_even_rotations_are_orthogonal_and_even(d, flat):
    values = np.ones(d) if flat else 0.8 ** np.arange(d)
    Q = even_rotation(values, np.random.default_rng(d))
    np.testing.assert_allclose(Q @ Q.T, np.eye(d), atol=1e-12)
    assert np.diag((Q * values) @ Q.T) == pytest.approx(np.full(d, values.mean()), rel=1e-9)


def test_rotations_do_not_line_up_with_columns():
    Q = even_rotation(0.8 ** np.arange(50.0), np.random.default_rng(0))
    assert np.abs(Q).max() < 0.6


@pytest.fixture(scope="module", params=["rows", 3], ids=["rows", "people"])
def both(request):
    """Real and simulated units of the same table."""
    rng = np.random.default_rng(0)
    table = SimulatedTable.of(make_guess(D, 2, spectrum=VALUES, spread=request.param), center=True, scale=True)
    r = 1 if request.param == "rows" else request.param
    X = (rng.standard_normal((N * r, D)) * np.sqrt(VALUES)) @ table.place.basis.T + table.place.offset
    data = samples.rows(X) if r == 1 else samples.people(X, np.repeat(np.arange(N), r))
    budget = Budget.from_mu(1.0)
    simulated = SimulatedUnits(table.guess, N, draw(table.guess, N, rng), place=table.place)
    return Units(data, Veil(Ledger(budget)), budget), simulated, table


def test_tables_are_as_stated(both):
    _, simulated, table = both
    spread = table.units * np.sqrt(VALUES.mean())
    assert np.abs(table.place.offset) == pytest.approx(DISTANCE * spread)
    rows = simulated.at.rows.reshape(-1, D)
    assert rows.mean(axis=0) == pytest.approx(table.place.offset, rel=1e-9)
    assert rows.std(axis=0) == pytest.approx(spread, rel=0.1)
    assert 2 < table.units.max() / table.units.min() <= 1000
    true = table.rotation[:, :2].T
    assert np.abs(table.in_components(true, table.units)) == pytest.approx(np.eye(2, D), abs=1e-9)
    wrong = np.abs(table.in_components(true, table.units * np.linspace(1, 2, D)))
    assert np.linalg.norm(wrong[:, 2:]) > 0.1


def test_columns(both):
    real, simulated, _ = both
    columns = np.array([4, 0, 3])
    for squared in (False, True):
        one, other = (units.columns(columns, squared=squared) for units in (real, simulated))
        edges = EDGES**2 if squared else EDGES
        counts = one.counts_between(edges, signed=not squared)
        assert counts.sum() == 3 * N
        assert other.counts_between(edges, signed=not squared) == pytest.approx(counts, abs=0.05 * N)
        radii = np.array([1.0, 20.0, 300.0])
        sums = one.clipped_sums(radii, -20) * 2.0**-20
        assert other.clipped_sums(radii, 0) == pytest.approx(sums, abs=0.03 * N)


def test_edges_belong_to_the_interval_below():
    guess = make_guess(1, 1, spectrum=[1.0], spread="rows")
    rows = np.array([1.0, 2.0, 2.5, -2.0, -9.0, 0.0])[:, None, None]
    table = SimulatedTable.of(guess, center=True, scale=False)
    place = type(table.place)(None, np.zeros(1), rows)
    units = SimulatedUnits(guess, 6, draw(guess, 6, np.random.default_rng(0)), place=place)
    found = units.columns(np.array([0])).counts_between(np.array([1.0, 2.0, 4.0]), signed=True)
    assert found.tolist() == [[2, 1, 1, 0, 1, 0]]


def test_standardised_units_answer_like_real_ones(both):
    """Around a rough centre and in rough scales: mean rows, Sigma, products, squares and variances.

    Clipping turns the columns a little if their scales are wrong, which is neglected in Sigma.
    """
    real, simulated, table = both
    centre, scale = table.place.offset + 0.2 * table.units, table.units * np.linspace(0.8, 1.5, D)
    real, simulated = (units.shifted(centre).rescaled(scale) for units in (real, simulated))
    W = np.linalg.qr(np.random.default_rng(1).standard_normal((D, 2)))[0]
    every = np.arange(D)
    populations = [
        lambda units: units.vectors(),
        lambda units: units.matrices(),
        lambda units: units.block(W),
        lambda units: units.squares(every, np.ones(D), 1e6),
        lambda units: units.variances(W),
    ]
    for one in populations:
        exact, expected = one(real), one(simulated)
        zero = np.zeros(exact.shape)
        assert expected.shape == exact.shape
        edges = np.exp2(np.arange(-8, 12, 0.05))
        radius = edges[np.searchsorted(exact.counts_within(zero, edges), 0.6 * N)]
        assert expected.counts_within(zero, np.array([radius]))[0] == pytest.approx(0.6 * N, rel=0.08)
        for clip in (radius, 1e4 * radius):
            exponent = int(np.floor(np.log2(clip))) - 25
            sums = exact.clipped_sum(zero, clip, exponent) * 2.0**exponent / N
            found = expected.clipped_sum(zero, clip, 0) / N
            assert found == pytest.approx(sums, abs=0.08 * np.linalg.norm(sums))


def test_samples_have_fewer_units(both):
    _, simulated, _ = both
    assert next(simulated.sampled(0.25)).matrices().count() == N / 4
    assert next(simulated.sampled(1e-9)).matrices().count() == 1
