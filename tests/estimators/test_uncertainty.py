"""Intervals and angles: what they hold, what they refuse, and that they cost nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError

import eigenveil as ev
from eigenveil import DPPCA, tracked_pca
from eigenveil.algorithms import uncertainty
from eigenveil.algorithms.tails import heaviness, hidden_tail, tail_of
from eigenveil.algorithms.tracked.leading import settled
from eigenveil.algorithms.uncertainty import VarianceErrors, component_angles, variance_errors
from eigenveil.algorithms.variances import NoisyVariances, buy_variances
from eigenveil.engines import LocalEngine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.component_count import cumulative_interval
from eigenveil.mechanisms import Veil
from eigenveil.mechanisms.norm_curve import NormCurve
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import Units

MU = Budget.from_epsilon_delta(1.0, 1e-6).mu * math.sqrt(0.02)
SPECTRUM = np.array([9.0, 5.0, 2.0, 1.0, 1.0, 1.0])
NAMES = (
    "explained_variance_interval",
    "explained_variance_ratio_interval",
    "cumulative_variance_ratio_interval",
    "total_variance_interval",
)


@pytest.fixture(scope="module")
def pca():
    X = np.random.default_rng(0).normal(size=(20_000, 6)) * np.sqrt(SPECTRUM)
    return DPPCA(2, epsilon=1.0, random_state=0).fit(X)


def bought_from(X, k, *, rows=1, low=0.8, n_hat=None, mu=MU):
    n = len(X) // rows
    operator = samples.rows(X) if rows == 1 else samples.people(X, np.repeat(np.arange(n), rows))
    budget = Budget.from_mu(1e3)
    units = Units(operator, Veil(Ledger(budget)), budget, engine=LocalEngine(1))
    guess = low * np.mean(X[:, :k] ** 2, axis=0)
    return buy_variances(units, np.eye(X.shape[1])[:k], guess=guess, n_hat=n_hat or n, mu=mu)


def holds(intervals, truth):
    intervals = np.atleast_2d(intervals)
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


# -- the face ------------------------------------------------------------------------------------


def test_shapes_levels_and_order(pca):
    assert pca.explained_variance_interval().shape == (2, 2)
    assert pca.explained_variance_ratio_interval().shape == (2, 2)
    assert pca.total_variance_interval().shape == (2,)
    assert pca.standard_errors().shape == pca.component_angles().shape == (2,)
    for name in NAMES:
        narrow, wide = getattr(pca, name)(level=0.5), getattr(pca, name)(level=0.99)
        assert np.all(wide[..., 0] < narrow[..., 0])
        assert np.all(narrow[..., 0] < narrow[..., 1])
        assert np.all(narrow[..., 1] < wide[..., 1])
    low, high = pca.explained_variance_interval(level=0.95).T
    np.testing.assert_allclose((high - low) / 2, 1.95996 * pca.standard_errors(), rtol=1e-4)
    assert np.all(pca.component_angles() < pca.component_angles(level=0.95))
    assert np.all(pca.component_angles(level=0.95) < pca.component_angles(level=0.999))


def test_one_fit_is_near_the_truth(pca):
    truth = np.sum(pca.components_**2 * SPECTRUM, axis=1)
    assert np.all(holds(pca.explained_variance_interval(level=0.9999), truth))
    assert np.all(holds(pca.explained_variance_ratio_interval(level=0.9999), truth / 19))
    assert np.all(holds(pca.cumulative_variance_ratio_interval(level=0.9999), np.cumsum(truth) / 19))
    assert np.all(holds(pca.total_variance_interval(level=0.9999), 19))
    turned = np.degrees(np.arccos(np.abs(pca.components_).max(axis=1)))
    assert np.all(turned < pca.component_angles(level=0.9999))
    assert np.all(pca.component_angles() < 5)


def test_asking_charges_nothing_and_answers_the_same(pca):
    before = pca.ledger_.to_json()
    first = [getattr(pca, name)() for name in (*NAMES, "standard_errors", "component_angles")]
    again = [getattr(pca, name)() for name in (*NAMES, "standard_errors", "component_angles")]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert pca.ledger_.to_json() == before


def test_a_loaded_model_answers_the_same(pca, tmp_path):
    ev.save(pca, tmp_path / "model")
    again = ev.load(tmp_path / "model")
    for name in (*NAMES, "standard_errors", "component_angles"):
        assert np.array_equal(getattr(again, name)(), getattr(pca, name)())


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan, "95 %", None])
def test_levels_that_are_none_are_refused(pca, level):
    for name in NAMES:
        with pytest.raises(InvalidInputError, match="level must lie between 0 and 1"):
            getattr(pca, name)(level=level)
    if level is not None:
        with pytest.raises(InvalidInputError, match="level must lie between 0 and 1"):
            pca.component_angles(level=level)


@pytest.mark.parametrize("name", [*NAMES, "standard_errors", "component_angles"])
def test_not_fitted_and_without_variances_say_so(name):
    with pytest.raises(NotFittedError):
        getattr(DPPCA(2), name)()
    X = np.random.default_rng(0).normal(size=(2000, 4))
    for algorithm in ("dp-gauss-1", "k-dp-ojas"):
        model = DPPCA(2, algorithm=algorithm, center=False).fit(X)
        with pytest.raises(
            AttributeError, match=f"DPPCA has no {name}: {algorithm} .*\nHint: algorithm='tracked'"
        ):
            getattr(model, name)()
    stream = DPPCA(2, center=False, options={"batch_size": 1000}).partial_fit(X)
    with pytest.raises(AttributeError, match=f"DPPCA has no {name}: a stream "):
        getattr(stream, name)()


def test_errors_of_shares_together_are_those_of_a_simulation():
    found = VarianceErrors(
        explained=np.array([30.0, 10.0]), errors=np.array([0.7, 0.4]), rest=20.0, rest_error=1.5, freedom=1.0
    )
    rng = np.random.default_rng(0)
    values = found.explained + found.errors * rng.normal(size=(40_000, 2))
    rest = found.rest + found.rest_error * rng.normal(size=40_000)
    drawn = np.cumsum(values, axis=1) / (values.sum(axis=1) + rest)[:, None]
    low, high = cumulative_interval(found, 0.95).T
    np.testing.assert_allclose((high + low) / 2, np.cumsum(found.explained) / 60)
    np.testing.assert_allclose((high - low) / 2 / 1.95996, drawn.std(axis=0), rtol=0.03)
    first = cumulative_interval(found, 0.95)[0]
    np.testing.assert_allclose(first, found.ratio_interval(0.95)[0], err_msg="the first alone")
    nothing = VarianceErrors(explained=np.zeros(2), errors=np.ones(2), rest=0.0, rest_error=1.0, freedom=1.0)
    assert cumulative_interval(nothing, 0.95).tolist() == [[0, 1], [0, 1]]


def test_all_components_have_no_rest():
    X = np.random.default_rng(0).normal(size=(5000, 2)) * [3.0, 1.0]
    model = DPPCA(2, random_state=0).fit(X)
    errors = variance_errors(model.release_.variances)
    assert errors.rest == errors.rest_error == 0
    assert errors.total == pytest.approx(errors.explained.sum())
    assert np.all(np.isfinite(model.component_angles(level=0.95)))


# -- the model -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 10])
def test_degrees_of_freedom_and_bias(rows):
    rng = np.random.default_rng(0)
    found, raw, noise = [], [], []
    for _ in range(6):
        X = rng.normal(size=(4000 * rows, 6)) * np.sqrt(SPECTRUM)
        bought = bought_from(X, 2, rows=rows, mu=5 * MU)
        found.append(variance_errors(bought))
        raw.append(bought.explained)
        noise.append(bought.noise)
    freedom = np.array([one.freedom for one in found])
    as_it_is = freedom == 1 if rows == 1 else (freedom > 4) & (freedom < 25)
    assert as_it_is.sum() >= 5  # noise in a radius search may mislead it once
    put_back = np.median([one.explained - it for one, it in zip(found, raw, strict=True)], axis=0)
    assert np.all(put_back > 0)
    assert np.all(put_back < 1.5 * np.mean(noise))
    chance = SPECTRUM[:2] * math.sqrt(2 / (4000 * rows))
    expected = np.sqrt(np.mean(noise) ** 2 + chance**2)
    np.testing.assert_allclose(np.median([one.errors for one in found], axis=0), expected, rtol=0.35)


def test_people_with_two_rows_are_no_single_rows():
    """Few people: a search that saw too small a radius is no sign of tails without end."""
    rng = np.random.default_rng(3)
    ends = []
    for _ in range(6):
        X = rng.normal(size=(8000, 6)) * np.sqrt(SPECTRUM)
        found = variance_errors(bought_from(X, 2, rows=2))
        assert found.freedom > 0.1
        ends.append(found.interval())
    assert np.median(np.array(ends)[:, 0, 1]) < 1.6 * SPECTRUM[0]


def test_what_clipping_took_is_what_the_model_says():
    """Against an integral of its own: one component, normal rows, centre C and radius R."""
    C, R, value = 8.0, 40.0, 9.0
    x = np.linspace(0, 60, 2_000_001)[1:]
    weight = 2 * stats.norm.pdf(np.sqrt(value * x) / math.sqrt(value)) / (2 * np.sqrt(x))
    taken = np.sum(np.maximum(value * x - C - R, 0) * weight) * (x[1] - x[0])
    clipped = uncertainty._Clipped(np.array([value - taken]), np.array([C]), R, 30.0, 0.96, 0.1)
    back = uncertainty._unclipped(clipped, n_hat=1e4, rows=True)
    assert back.freedom == 1
    assert back.mean[0] == pytest.approx(value, abs=0.1 * taken)


def test_chi_squares_have_their_distribution():
    points = np.linspace(-4, 4, 33)
    for freedom in (0.1, 0.9, 3.0, 1e3, 1e6):
        expected = stats.chi2.isf(stats.norm.sf(points), freedom) / freedom
        np.testing.assert_allclose(uncertainty._chi_squares(points, freedom), expected, rtol=0.01, atol=1e-3)


@pytest.mark.parametrize(
    "rows", [np.zeros((0, 3)), np.zeros((50, 3)), np.ones((1, 3)), np.full((9, 3), np.nan), np.full((9, 3), 1e100)]
)
def test_nothing_in_the_data_makes_them_raise_or_infinite(rows):
    for k in (1, 3):
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            budget = Budget.from_mu(1.0)
            units = Units(samples.rows(rows), Veil(Ledger(budget)), budget)
            for guess in (0.0, 1.0, 1e300):
                bought = buy_variances(units, np.eye(3)[:k], guess=np.full(k, guess), n_hat=5, mu=0.01)
                found = variance_errors(bought)
        for intervals in (found.interval(), found.ratio_interval(), found.total_interval()):
            assert np.all(np.isfinite(intervals))
            assert np.all(intervals >= 0)


def test_few_units_make_wide_angles_that_are_finite():
    for X in (np.zeros((30, 8)), np.random.default_rng(0).normal(size=(30, 8))):
        with pytest.warns(UserWarning, match="units are few"):
            release = tracked_pca(X, 2, epsilon=1.0, delta=1e-6, random_state=0)
        for level in (None, 0.95):
            angles = component_angles(release, level=level)
            assert np.all((angles > 0.3) & (angles <= math.pi / 2))


def test_equal_eigenvalues_make_wide_angles():
    X = np.random.default_rng(0).normal(size=(20_000, 20)) * np.sqrt([9.0, 9.0] + [1.0] * 18)
    release = tracked_pca(X, 2, epsilon=1.0, delta=1e-6, random_state=0)
    assert np.degrees(component_angles(release, level=0.95)).min() > 10


def test_variances_of_unknown_clipping_are_refused():
    plain = NoisyVariances(explained=np.ones(2), total=3.0, noise=0.1, total_noise=0.2, share_above=0.0)
    with pytest.raises(InvalidInputError, match="no record of how they were clipped"):
        variance_errors(plain)


def test_order_carries_the_centre_along():
    both = NoisyVariances(
        explained=np.array([1.0, 2.0]),
        total=3.0,
        noise=0.1,
        total_noise=0.2,
        share_above=0.0,
        centre=np.array([5.0, 6.0]),
    )
    turned = both.in_order(np.array([1, 0]))
    assert turned.explained.tolist() == [2.0, 1.0]
    assert turned.centre.tolist() == [6.0, 5.0]


def test_a_later_component_goes_first_only_if_it_is_clearly_larger():
    def bought(*explained):
        return NoisyVariances(
            explained=np.array(explained),
            total=30.0,
            noise=0.1,
            total_noise=0.2,
            share_above=0.0,
            centre=np.arange(float(len(explained))),
        )

    order, found = settled(bought(1.0, 1.4, 5.0))
    assert order.tolist() == [2, 0, 1]
    assert found.explained.tolist() == pytest.approx([5.0, 1.2, 1.2])
    assert found.centre.tolist() == [2.0, 0.0, 1.0]
    order, found = settled(bought(3.0, 2.0, 1.0))
    assert (order.tolist(), found.explained.tolist()) == ([0, 1, 2], [3.0, 2.0, 1.0])


# -- tails ---------------------------------------------------------------------------------------


def limits_of(X):
    release = tracked_pca(X, 2, epsilon=1.0, delta=1e-6, random_state=0)
    return release, np.degrees(component_angles(release, level=0.95))


def test_heavy_tails_make_limits_wider():
    rng = np.random.default_rng(0)
    sizes = np.sqrt(10 * 0.5 ** np.arange(8))
    normal, near = limits_of(rng.normal(size=(20_000, 8)) * sizes)
    heavy, wide = limits_of(rng.standard_t(3, size=(20_000, 8)) / math.sqrt(3) * sizes)
    assert np.all(wide > 1.5 * near)
    spectrum = np.square(sizes)
    assert hidden_tail(heavy.diagnostics, spectrum) > 2 * hidden_tail(normal.diagnostics, spectrum)


def test_without_curves_nothing_is_known_of_tails():
    release, limits = limits_of(np.random.default_rng(0).normal(size=(5000, 6)) * np.sqrt(SPECTRUM))
    rounds = tuple(replace(one, tail=None) for one in release.diagnostics.rounds)
    old = replace(release, diagnostics=replace(release.diagnostics, rounds=rounds, tail=None))
    assert hidden_tail(old.diagnostics, SPECTRUM) == 0
    assert np.all(np.degrees(component_angles(old, level=0.95)) < limits)


def test_heaviness_of_normal_rows_is_about_one():
    release, _ = limits_of(np.random.default_rng(0).normal(size=(100_000, 6)) * np.sqrt(SPECTRUM))
    norms = np.random.default_rng(1).normal(size=(20_000, 6)) ** 2 @ SPECTRUM
    assert 0.8 < heaviness(release.diagnostics.tail, norms) < 1.25


def test_a_curve_that_noise_hides_leaves_all_units_unseen():
    curve = NormCurve(np.array([1.0, 2.0]), np.zeros(2), np.zeros(2), 1.0, np.ones(2))
    assert dict(tail_of(curve)) == {"middle": 1.0, "far": 1.0, "beyond": 0.0, "unseen": 1.0}


# -- coverage ------------------------------------------------------------------------------------


def coverage(spectrum, k, *, n, rows, repeats):
    """How many intervals hold the truth, of how many, and mean width over that of an oracle."""
    rng = np.random.default_rng(1)
    found, raw = [], []
    for _ in range(repeats):
        X = rng.normal(size=(n * rows, len(spectrum))) * np.sqrt(spectrum)
        bought = bought_from(X, k, rows=rows, low=0.9, n_hat=n + rng.normal() * 40)
        found.append(variance_errors(bought).interval())
        raw.append(bought.explained)
    ends = np.array(found)
    width = (ends[:, :, 1] - ends[:, :, 0]).mean(axis=0) / (3.92 * np.std(raw, axis=0, ddof=1))
    inside = (ends[:, :, 0] <= spectrum[:k]) & (spectrum[:k] <= ends[:, :, 1])
    return int(inside.sum()), inside.size, float(width.mean())


def test_coverage_is_roughly_right_on_few_fits():
    held, of, _ = coverage(SPECTRUM, 3, n=10_000, rows=1, repeats=20)
    assert stats.binom.cdf(held, of, 0.93) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n", "rows"), [(2, 10_000, 1), (5, 10_000, 1), (2, 4000, 10)])
def test_coverage_is_93_to_97_percent_at_oracle_width(k, n, rows):
    spectrum = 10 * 0.7 ** np.arange(12) + 0.1
    held, of, width = coverage(spectrum, k, n=n, rows=rows, repeats=500)
    assert stats.binom.cdf(held, of, 0.93) > 1e-6  # not below 93 % beyond chance
    assert stats.binom.sf(held - 1, of, 0.97) > 1e-6  # nor above 97
    assert width < 1.5


@pytest.mark.slow
def test_angles_are_as_predicted():
    spectrum = np.concatenate([[10.0, 6.0], np.ones(28)])
    rng = np.random.default_rng(2)
    true, predicted, bound = [], [], []
    for _ in range(60):
        X = rng.normal(size=(20_000, 30)) * np.sqrt(spectrum)
        release = tracked_pca(X, 2, epsilon=1.0, delta=1e-6, engine=LocalEngine(1))
        true.append(np.arccos(np.minimum(np.abs(release.components).max(axis=1), 1)))
        predicted.append(component_angles(release))
        bound.append(component_angles(release, level=0.95))
    ratio = np.sqrt(np.mean(np.square(true)) / np.mean(np.square(predicted)))
    assert 0.6 < ratio < 1.4
    assert np.mean(np.array(true) < np.array(bound)) > 0.8
