"""Scales of columns of many distributions, bought with real noise, and which of them are marked as unknown."""

import warnings

import numpy as np
import pytest

from eigenveil import DPPCA, samples
from eigenveil.algorithms import column_scales
from eigenveil.algorithms.release_warnings import Code
from eigenveil.estimators.standardise import Standard, standardise
from eigenveil.mechanisms import SeededBytes, Veil
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

RNG = np.random.default_rng(0)
N = 10_000
SHAPES = {
    "normal": lambda n: RNG.normal(size=n),
    "small and far": lambda n: 1e-4 * RNG.normal(size=n) + 5e-3,
    "far": lambda n: 3 * RNG.normal(size=n) + 140,
    "uniform": lambda n: 1e4 * RNG.random(n),
    "half": lambda n: RNG.random(n) < 0.5,
    "fifth": lambda n: RNG.random(n) < 0.2,
    "most": lambda n: RNG.random(n) < 0.8,
    "counts": lambda n: RNG.poisson(4, n),
    "few counts": lambda n: RNG.poisson(0.3, n),
    "exponential": lambda n: 1e3 * RNG.exponential(size=n),
}
"""Distributions whose scale is accurate to a few percent, far within the bounds of 30 %."""


def table(shapes, n=N):
    return np.column_stack([shapes[name](n) for name in shapes]).astype(float)


def bought(X, *, relation="add-remove", ids=None, epsilon=1.0, seed=None, **standard):
    budget = Budget.from_epsilon_delta(epsilon, 1e-6)
    operator = samples.rows(X) if ids is None else samples.people(X, ids)
    source = None if seed is None else SeededBytes(seed)
    units = Units(operator, Veil(Ledger(budget, relation=relation), source=source), budget)
    return standardise(units, Standard(**{"buy_mean": True, "private": np.arange(X.shape[1]), **standard}))


def codes(found):
    return {warning.code: set(warning.numbers) for warning in found.warnings}


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_scales_are_standard_deviations_for_any_distribution(relation):
    X = table(SHAPES, N if relation == "add-remove" else 3 * N)
    found = bought(X, relation=relation)
    np.testing.assert_allclose(found.scale / X.std(axis=0), 1, atol=0.3)
    assert Code.UNKNOWN_SCALES not in codes(found)
    assert np.all(np.abs(found.mean - X.mean(axis=0)) < 0.5 * X.std(axis=0))
    assert np.all((found.scale_errors > 0) & (found.scale_errors < 0.2))


def test_forty_columns_at_the_documented_number_of_units():
    X = np.column_stack([table(SHAPES) for _ in range(4)])
    ratio = bought(X).scale / X.std(axis=0)
    assert np.all((ratio > 0.5) & (ratio < 2)), "never off by more than a factor of 2"
    assert np.median(np.abs(ratio - 1)) < 0.15


def test_nearly_constant_columns_are_never_scaled_up():
    """Scales of rare flags and constants are accurate if they were counted, else too large and reported."""
    rare = {f"flag {p}": lambda n, p=p: RNG.random(n) < p for p in (0.01, 0.03, 0.06, 0.94, 0.97, 0.99)}
    point = {
        "0": np.zeros,
        "5": lambda n: np.full(n, 5.0),
        "two": lambda n: np.where(RNG.random(n) < 0.95, 37.3, 81.1),
    }
    others = {f"normal {j}": SHAPES["normal"] for j in range(30)}
    X = table({**rare, **point, **others})
    found = bought(X)
    assert np.all(found.scale > 0.5 * X.std(axis=0))
    named = codes(found)[Code.UNKNOWN_SCALES]
    assert {"column 6", "column 7"} <= named
    assert named <= {f"column {j}" for j in range(9)}
    assert np.all(found.scale[6:8] >= 1)
    assert np.all(found.scale_errors[6:8] == 0)


def test_heavy_tails_are_reported_and_do_not_halve_the_scale():
    n = 50_000
    X = np.column_stack([RNG.normal(size=(n, 9)), RNG.lognormal(sigma=1.2, size=n)])
    found = bought(X, names=[*(f"x{j}" for j in range(9)), "income"])
    assert 0.6 < found.scale[9] / X[:, 9].std() < 1.5
    scaled = codes(found).get(Code.HEAVY_TAILS, set())
    assert scaled <= {"column 'income'"}


def test_few_or_no_units_give_unknown_and_safe_scales():
    for X in (np.zeros((0, 3)), RNG.normal(size=(50, 3)), np.full((200, 3), np.nan)):
        found = bought(X)
        assert np.all(found.scale >= 1)
        assert codes(found)[Code.UNKNOWN_SCALES] == {"column 0", "column 1", "column 2"}


def test_people_count_once_and_rows_within_them_by_their_squares():
    """The diagonal of Sigma over people: half of the people have one row, half have nine of another spread."""
    rows = np.r_[np.ones(10_000, dtype=int), np.full(10_000, 9)]
    ids = np.repeat(np.arange(20_000), rows)
    X = RNG.normal(size=(ids.size, 4)) * np.where(ids < 10_000, 1.0, 3.0)[:, None]
    found = bought(X, ids=ids)
    np.testing.assert_allclose(found.scale, np.sqrt((1 + 9) / 2), rtol=0.15)


@pytest.mark.parametrize("n", [None, 20_000])
def test_rows_with_missing_values_are_excluded_as_from_sigma(n):
    """A row that is invalid in one column adds nothing to the scale of another."""
    X = RNG.normal(size=(20_000, 5)) * [1.0, 2.0, 3.0, 4.0, 5.0]
    gap = RNG.random(20_000) < 0.4
    X[gap, 0] = np.nan
    X[gap, 1] *= 100
    found = bought(X, n=n)
    np.testing.assert_allclose(found.scale / np.arange(1.0, 6.0), 1, atol=0.3)


def test_bounds_are_a_radius_and_a_safe_scale():
    X = np.column_stack(
        [RNG.random(N) < 0.03, RNG.normal(size=N) * 10 + 45, np.zeros(N), RNG.normal(size=(N, 30)).T[0]]
    )
    bounds = {"middle": np.array([0.5, 55.0, 3.0, 0.0]), "half": np.array([0.5, 55.0, 7.0, np.inf])}
    found = bought(X, **bounds)
    assert 0.8 < found.scale[0] / X[:, 0].std() < 2
    assert 0.7 < found.scale[1] / 10 < 1.5
    assert found.scale[2] <= 7
    np.testing.assert_allclose(found.mean[:2], X.mean(axis=0)[:2], atol=3)


def test_bounds_that_do_not_hold_cost_no_more():
    X = RNG.normal(size=(N, 3)) * 1e6
    found = bought(X, middle=np.zeros(3), half=np.full(3, 0.5))
    assert found.units.veil.ledger.epsilon(1e-6) <= 1.0
    assert np.all(np.isfinite(found.scale))


def test_only_columns_that_are_bought_are_charged_for():
    X = table(SHAPES)
    few, all_ = bought(X, private=np.array([3, 0]), seed=1), bought(X, seed=1)  # a column may be unknown by chance
    draws = [sum(e.draws for e in one.units.veil.ledger.entries if e.purpose == "scale") for one in (few, all_)]
    assert draws[0] * 5 == draws[1]
    assert few.scale[[1, 2, 4]].tolist() == [1.0, 1.0, 1.0]
    assert few.scale[0] == pytest.approx(X[:, 0].std(), rel=0.2)
    assert few.scale_errors[1] == 0 < few.scale_errors[0] < all_.scale_errors[0]


def test_a_flag_among_normal_columns_is_no_component():
    """Regression: the scale of a flag was 1e-15, and the flag became the first component."""
    X = RNG.normal(size=(N, 35)) @ (np.eye(35) + 1.0 / 35)
    Y = np.column_stack([X, RNG.random(N) < 0.2])
    for _ in range(3):
        pca = DPPCA(2, scale="private").fit(Y)
        assert 0.25 < pca.scale_[-1] < 0.65
        assert abs(pca.components_[0, -1]) < 0.6


def test_an_income_is_no_component():
    """Regression: a log-normal column got .58 of its standard deviation, and became the first component."""
    n = 50_000
    X = RNG.normal(size=(n, 9))
    X[:, 1] += 0.5 * X[:, 0]
    Y = np.column_stack([X, RNG.lognormal(sigma=1.2, size=n)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about its tail, and about clipped variances
        pca = DPPCA(2, scale="private").fit(Y)
    assert pca.scale_[-1] / Y[:, -1].std() > 0.6
    assert np.all(np.abs(pca.components_[0, :2]) > 0.5)
    assert abs(pca.components_[0, -1]) < 0.4


@pytest.mark.parametrize("centred", [False, True])
def test_given_the_releases_the_data_decide_nothing(centred, monkeypatch):
    """The same releases are returned for other data, and for none: everything that follows must be the same."""
    kept = {"column_counts": [], "column_sums": []}

    def keeping(name, buy):
        def bought_once(*args, **how):
            kept[name].append(buy(*args, **how))
            return kept[name][-1]

        return bought_once

    def moments(X):
        budget = Budget.from_epsilon_delta(1.0, 1e-6)
        units = Units(samples.rows(X), Veil(Ledger(budget), source=SeededBytes(0)), budget)
        how = {"half": np.array([np.inf, 3.0]), "centred": centred, "n_hat": 3000.0, "mu": 0.1}
        return column_scales.buy_rough_moments(units, np.arange(2), **how)

    with monkeypatch.context() as patch:
        for name in kept:
            patch.setattr(column_scales, name, keeping(name, getattr(column_scales, name)))
        found, left = moments(np.random.default_rng(0).normal(size=(3000, 2)))
    for X in (np.zeros((0, 2)), np.ones((1, 2)), np.full((9, 2), np.nan), np.full((5000, 2), 1e6)):
        for name, answers in kept.items():
            replies = iter(answers)
            monkeypatch.setattr(column_scales, name, lambda *_, replies=replies, **__: next(replies))
        again, left_again = moments(X)
        assert left_again == left
        for name, value in vars(found).items():
            np.testing.assert_array_equal(vars(again)[name], value)
