"""Frames, means and scales of columns of many distributions, bought with real noise."""

import itertools
import warnings

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import DPPCA, samples
from eigenveil.algorithms import frame, standard
from eigenveil.algorithms.frame import ColumnBounds, buy_frame
from eigenveil.algorithms.release_warnings import Code
from eigenveil.algorithms.standard import ColumnScales, Standard, standardise, with_declared
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.mechanisms.columns import ColumnCounts
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

RNG = np.random.default_rng(0)
N = 20_000
SHAPES = {
    "normal": lambda n: RNG.normal(size=n),
    "small and far": lambda n: 1e-4 * RNG.normal(size=n) + 5e-3,
    "far": lambda n: 3 * RNG.normal(size=n) - 140,
    "year": lambda n: RNG.integers(2018, 2025, n),
    "uniform": lambda n: 1e4 * RNG.random(n),
    "half": lambda n: RNG.random(n) < 0.5,
    "fifth": lambda n: RNG.random(n) < 0.2,
    "most": lambda n: RNG.random(n) < 0.8,
    "nearly all": lambda n: RNG.random(n) < 0.96,
    "counts": lambda n: RNG.poisson(4, n),
    "few counts": lambda n: RNG.poisson(0.3, n),
    "exponential": lambda n: 1e3 * RNG.exponential(size=n),
}


def table(n=N):
    return np.column_stack([shape(n) for shape in SHAPES.values()]).astype(float)


def units_of(X, *, relation="add-remove", ids=None, epsilon=1.0, seed=None):
    budget = Budget.from_epsilon_delta(epsilon, 1e-6)
    operator = samples.rows(X) if ids is None else samples.people(X, ids)
    source = None if seed is None else SeededBytes(seed)
    return Units(operator, Veil(Ledger(budget, relation=relation), source=source), budget)


def bought(X, *, relation="add-remove", ids=None, epsilon=1.0, seed=None, n_hat=None, **how):
    units = units_of(X, relation=relation, ids=ids, epsilon=epsilon, seed=seed)
    n_hat = float(len(X) if ids is None else len(set(ids))) if n_hat is None else n_hat
    wanted = Standard(**{"buy_mean": True, "private": np.arange(X.shape[1]), **how})
    units = with_declared(units, wanted)
    return standardise(units, wanted, n_hat=max(n_hat, 1.0), mu=units.budget.mu)


def fitted(X, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DPPCA(2, scale="private", **how).fit(X)


def as_stated(ratio):
    """Accurate to a third, but for a column of which few units make up the variance, and which is clipped."""
    few = list(SHAPES).index("nearly all")
    np.testing.assert_allclose(np.delete(ratio, few), 1, atol=0.4)
    assert 0.3 < ratio[few] < 1.5


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_frame_finds_columns_of_any_distribution(relation):
    X = table(N if relation == "add-remove" else 3 * N)
    units = units_of(X, relation=relation)
    found = buy_frame(units, np.arange(X.shape[1]), n_hat=float(len(X)), mu=units.budget.mu)
    assert not found.unknown.any()
    assert np.all(np.abs(found.centre - X.mean(axis=0)) < 0.75 * X.std(axis=0))
    ratio = found.spread / X.std(axis=0)
    assert np.all((ratio > 0.5) & (ratio < 2))
    assert units.veil.ledger.mu == pytest.approx(found.cost)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_mean_squares_give_scales_of_any_distribution(relation):
    X = table(N if relation == "add-remove" else 3 * N)
    found = bought(X, relation=relation)
    as_stated(found.scale / X.std(axis=0))
    assert np.all(np.abs(found.mean - X.mean(axis=0)) < 0.5 * X.std(axis=0))
    assert not found.scales.unknown.any()
    assert np.all((found.scales.errors > 0) & (found.scales.errors < 0.2))
    assert 0 < found.mean_noise < 0.2


def test_the_diagonal_of_sigma_gives_scales_of_any_distribution():
    X = table()
    pca = fitted(X)
    as_stated(pca.scale_ / X.std(axis=0))
    assert np.all((pca.release_.scale_errors > 0) & (pca.release_.scale_errors < 0.4))
    assert not [entry for entry in pca.ledger_.entries if entry.what.startswith("column scales")]


def test_beyond_the_widest_sigma_mean_squares_are_bought():
    options = {"tuning": ev.algorithms.tracked.Tuning(widest_sigma=5)}
    X = RNG.normal(size=(N, 12)) * np.geomspace(1, 1e4, 12)
    pca = fitted(X, options=options)
    np.testing.assert_allclose(pca.scale_ / X.std(axis=0), 1, atol=0.3)
    assert [entry for entry in pca.ledger_.entries if entry.what.startswith("column scales")]


@pytest.mark.parametrize("algorithm", ["dp-gauss-1", "dp-gauss-2", "dp-power", "k-dp-pca", "k-dp-ojas"])
def test_every_algorithm_is_centred_in_the_frame(algorithm):
    X = RNG.normal(size=(N, 4)) * [1.0, 2.0, 0.5, 3.0] + [2021.0, 37.0, 0.0, -5.0]
    pca = fitted(X, algorithm=algorithm)
    np.testing.assert_allclose((pca.mean_ - X.mean(axis=0)) / X.std(axis=0), 0, atol=0.3)
    np.testing.assert_allclose(pca.scale_ / X.std(axis=0), 1, atol=0.3)
    assert pca.ledger_.epsilon(1e-6) <= 1.0


def test_an_offset_is_no_component():
    """Regression: a year beside vital signs made the error of its mean the first component."""
    vitals = RNG.normal(size=(2000, 4)) * [12.0, 9.0, 0.5, 2.0] + [130.0, 80.0, 37.0, 16.0]
    X = np.column_stack([RNG.integers(2019, 2024, 2000), vitals])
    for _ in range(5):
        pca = DPPCA(1).fit(X)
        assert abs(pca.mean_[0] - X[:, 0].mean()) < 1.5
        assert abs(pca.components_[0, 1]) > 0.8


def test_nearly_constant_columns_have_little_weight_and_are_named():
    normal = RNG.normal(size=(N, 6)) + RNG.normal(size=(N, 1))
    X = np.column_stack([normal / np.sqrt(2), np.zeros(N), np.full(N, 5.0), np.full(N, 1e38)])
    pca = fitted(X)
    (warning,) = [one for one in pca.warnings_ if one.code is Code.UNKNOWN_SCALES]
    assert {"column 6", "column 7"} <= set(warning.numbers)
    np.testing.assert_allclose(pca.scale_[:6], 1, atol=0.4)
    assert np.all(np.isfinite(pca.mean_))
    assert np.all(np.abs(pca.components_[0, 6:]) < 0.3)


def test_few_or_no_units_give_finite_numbers():
    for X in (np.zeros((0, 3)), RNG.normal(size=(50, 3)), np.full((200, 3), np.nan)):
        for algorithm in ("tracked", "dp-gauss-1"):
            pca = fitted(X, algorithm=algorithm)
            assert np.all(np.isfinite(pca.scale_) & (pca.scale_ > 0) & np.isfinite(pca.mean_))


def test_people_count_once_and_rows_within_them_by_their_squares():
    """The diagonal of Sigma over people: half of the people have one row, half have nine of another spread."""
    rows = np.r_[np.ones(10_000, dtype=int), np.full(10_000, 9)]
    ids = np.repeat(np.arange(20_000), rows)
    X = RNG.normal(size=(ids.size, 4)) * np.where(ids < 10_000, 1.0, 3.0)[:, None] + 70
    np.testing.assert_allclose(bought(X, ids=ids).scale, np.sqrt((1 + 9) / 2), rtol=0.15)
    np.testing.assert_allclose(fitted(X).scale_, X.std(axis=0), rtol=0.3)


def test_rows_with_missing_values_are_excluded_as_from_sigma():
    """A row that is invalid in one column adds nothing to the scale of another."""
    X = RNG.normal(size=(N, 5)) * [1.0, 2.0, 3.0, 4.0, 5.0]
    gap = RNG.random(N) < 0.4
    X[gap, 0] = np.nan
    X[gap, 1] *= 100
    for found in (bought(X, n_hat=0.6 * N).scale, fitted(X).scale_):
        np.testing.assert_allclose(found / np.arange(1.0, 6.0), 1, atol=0.35)


def test_bounds_narrow_the_search():
    """With few units, the spread of a column far from 1 is known only where its bounds say where to look."""
    off = []
    for low, high in ((-np.inf, np.inf), (-3e9, 3e9)):
        found = []
        for seed in range(20):
            X = np.column_stack([1e9 * np.random.default_rng(seed).normal(size=300), np.zeros((300, 9))])
            bounds = ColumnBounds.none(10)
            bounds.low[0], bounds.high[0] = low, high
            units = units_of(X)
            frame_ = buy_frame(units, np.arange(10), n_hat=300.0, mu=units.budget.mu, bounds=bounds)
            found.append(abs(np.log2(frame_.spread[0] / 1e9)))
        off.append(np.median(found))
    assert off[1] < 2 < off[0]


def test_centres_stay_within_bounds_and_spreads_start_from_them():
    X = np.column_stack([RNG.normal(size=N) * 10 + 45, np.full(N, 3.0), RNG.normal(size=N)])
    bounds = ColumnBounds(low=np.array([0.0, -4.0, -np.inf]), high=np.array([110.0, 10.0, np.inf]))
    units = units_of(X)
    found = buy_frame(units, np.arange(3), n_hat=float(N), mu=units.budget.mu, bounds=bounds)
    assert np.all((found.centre >= bounds.low) & (found.centre <= bounds.high))
    assert 0.5 < found.spread[0] / 10 < 2
    empty = units_of(np.zeros((0, 3)))
    none = buy_frame(empty, np.arange(3), n_hat=1.0, mu=empty.budget.mu, bounds=bounds)
    assert none.spread[:2].tolist() == [55.0, 7.0]


def test_bounds_that_do_not_hold_cost_no_more():
    X = RNG.normal(size=(N, 3)) * 1e6
    found = bought(X, bounds=ColumnBounds(low=np.full(3, -0.5), high=np.full(3, 0.5)))
    assert found.units.veil.ledger.epsilon(1e-6) <= 1.0
    assert np.all(np.isfinite(found.scale))


def test_only_columns_that_are_bought_are_scaled_and_counted_around_0():
    X = table()
    found = bought(X, private=np.array([4, 0]), buy_mean=False)
    others = np.setdiff1d(np.arange(X.shape[1]), [0, 4])
    assert np.all(found.scale[others] == 1.0)
    assert np.all(found.scales.errors[others] == 0)
    np.testing.assert_allclose(found.scale[[0, 4]], np.sqrt(np.mean(X[:, [0, 4]] ** 2, axis=0)), rtol=0.3)
    (counts,) = [entry for entry in found.units.veil.ledger.entries if entry.what == "frame 1: counts"]
    assert counts.draws == 2 * frame.EDGES.size
    assert counts.note == "columns 4, 0"


def test_what_is_left_of_the_budget_is_exactly_the_rest():
    for how in ({}, {"private": np.zeros(0, dtype=int)}, {"buy_mean": False}, {"private": np.array([1])}):
        ready = bought(table(3000), **how)
        ledger = ready.units.veil.ledger
        assert np.hypot(ledger.mu, ready.mu) == pytest.approx(ledger.budget.mu)


def test_a_declared_standard_costs_nothing():
    X = table(100)
    ready = bought(X, mean=X.mean(axis=0), scale=X.std(axis=0), buy_mean=False, private=np.zeros(0, dtype=int))
    assert ready.units.veil.ledger.mu == 0
    assert [entry.what for entry in ready.units.veil.ledger.entries] == ["column scales", "mean"]


def test_matrices_have_no_frame():
    with pytest.raises(InvalidInputError, match="no rows"):
        ev.tracked_pca(samples.matrices(np.ones((5, 2, 2))), 1, epsilon=1.0, delta=1e-6, center=True)


def test_bins_stand_out_from_noise_where_they_should():
    """Without units hardly any bin does; a full bin does anywhere; a weak one only beside a full one."""
    noise, d = 10.0, 20
    nothing = [
        frame.stand_out(
            ColumnCounts(noise * RNG.normal(size=(d, 512)), noise), np.full(d, np.inf), np.zeros(d, bool)
        )
        for _ in range(100)
    ]
    assert sum(one.any() for one in nothing) <= 4  # each with probability .002
    value = np.zeros((3, 512))
    value[:, 140], value[0, 141], value[1, 160], value[2, 256 + 140] = 200.0, 32.0, 32.0, 32.0
    seen = frame.stand_out(ColumnCounts(value, noise), np.full(3, np.inf), np.zeros(3, bool))
    assert seen[:, 0, 140].tolist() == [200.0] * 3
    assert (seen[0, 0, 141], seen[1, 0, 160], seen[2, 1, 140]) == (32.0, 0.0, 32.0)
    bounded = frame.stand_out(ColumnCounts(value, noise), np.full(3, 2.0), np.ones(3, bool))
    assert not bounded.any(), "bins beyond the bounds are empty"


def test_scales_follow_from_noisy_variances():
    found = ColumnScales.of(4, np.array([2, 0]), np.array([4.0, -3.0]), noise=0.5, n_hat=1e9)
    assert found.scale.tolist() == [1.0, 1.0, 2.0, 1.0]
    assert found.unknown.tolist() == [True, False, False, False]
    np.testing.assert_allclose(found.errors, [0.25, 0, 0.0625, 0], atol=1e-4)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("n_hat", [3000.0, 3e5])
def test_given_the_releases_the_data_decide_nothing(centred, n_hat, monkeypatch):
    """The same releases are returned for other data, and for none: everything that follows must be the same."""
    names = ("column_counts", "column_sums")
    kept = {name: [] for name in names}

    def keeping(name, buy):
        def bought_once(*args, **how):
            kept[name].append(buy(*args, **how))
            return kept[name][-1]

        return bought_once

    def frame_of(X):
        units = units_of(X, seed=0)
        bounds = ColumnBounds(low=np.array([-np.inf, -3.0]), high=np.array([np.inf, 9.0]))
        return buy_frame(units, np.arange(2), n_hat=n_hat, mu=0.1, bounds=bounds, centred=centred)

    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(frame, name, keeping(name, getattr(frame, name)))
        found = frame_of(np.random.default_rng(0).normal(size=(3000, 2)) + 5)
    for X in (np.zeros((0, 2)), np.ones((1, 2)), np.full((9, 2), np.nan), np.full((5000, 2), 1e6)):
        for name in names:
            replies = iter(kept[name])
            monkeypatch.setattr(frame, name, lambda *_, replies=replies, **__: next(replies))
        again = frame_of(X)
        for name, value in vars(found).items():
            np.testing.assert_array_equal(vars(again)[name], value)


def test_a_stream_averages_its_means_and_keeps_the_scales_of_its_first_batch():
    def block():
        return RNG.normal(size=(3000, 4)) * [1.0, 2.0, 0.5, 3.0] + [2021.0, 37.0, 0.0, -5.0]

    pca, means = DPPCA(1, scale="private", options={"batch_size": 3000}), []
    for _ in range(12):
        pca.partial_fit(block())
        means.append((pca.mean_, pca.scale_))
    assert all(np.array_equal(one[1], other[1]) for one, other in itertools.pairwise(means))
    np.testing.assert_allclose(pca.scale_, [1.0, 2.0, 0.5, 3.0], rtol=0.4)
    np.testing.assert_allclose((pca.mean_ - [2021.0, 37.0, 0.0, -5.0]) / [1, 2, 0.5, 3], 0, atol=0.15)
    bought_by_batch = [entry.what for entry in pca.ledger_.entries]
    assert any("frame" in what for what in bought_by_batch) or pca.ledger_.epsilon(1e-6) <= 1.0


def test_squares_far_out_count_as_five_spreads():
    assert standard._FAR == 25.0
    X = np.column_stack([RNG.normal(size=(N, 3)), RNG.standard_cauchy(size=N)])
    found = bought(X)
    np.testing.assert_allclose(found.scale[:3], 1, atol=0.3)
    assert np.isfinite(found.scale[3])
