import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from eigenveil.algorithms.baselines.dp_gauss_2 import (
    DP_GAUSS_2,
    Gauss2Options,
    Reach,
    _buy_projector,
    _grid,
    _psd_error,
    _reach,
    dp_gauss_2,
)
from eigenveil.algorithms.bounds import Bounds, Declared, buy_bounds
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, no_noise
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.privacy.gaussian import gaussian_mu
from support.baselines import BUDGET, TEST, clipped, forms, orthonormal, same_span, under, units_of
from support.veils import WatchedVeil, worst_ratio

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3000, 4)) * [4, 3, 0.5, 0.25]
FACTORS = [("add-remove", 1), ("replace", 2)]
RELATIONS = [relation for relation, _ in FACTORS]


def projector(X, k):
    V = np.linalg.eigh(X)[1][:, ::-1][:, :k]
    return V @ V.T


def gap(X, k):
    values = np.linalg.eigvalsh(X)[::-1]
    return values[k - 1] - values[k]


# -- the claim ------------------------------------------------------------------------------------


def random_unit(rng, d, *, psd, radius=1.0):
    """A matrix of Frobenius norm `radius`, of any rank, and sometimes along two axes only."""
    F = rng.normal(size=(d, rng.integers(1, d + 1)))
    if rng.random() < 0.5:
        F[2:] = 0
    A = F @ F.T if psd else F @ np.diag(rng.choice([-1.0, 1.0], F.shape[1])) @ F.T
    return radius * A / np.linalg.norm(A)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("psd", [True, False])
def test_gap_and_projector_stay_within_the_stated_sensitivity(relation, psd):
    """Random neighbours, many with a gap just above the minimum; the bounds are tight up to a factor."""
    rng = np.random.default_rng(3)
    reach = {
        (True, "add-remove"): Reach(gap=1, m=1, c=1),
        (True, "replace"): Reach(gap=2, m=2, c=1),
        (False, "add-remove"): Reach(gap=2, m=1, c=1),
        (False, "replace"): Reach(gap=4, m=2, c=2),
    }[psd, relation]
    gaps, moves = [], []
    for _ in range(4000):
        d = int(rng.integers(2, 6))
        k = int(rng.integers(1, d))
        below = np.sort(rng.uniform(0, 5, d))[::-1]
        below[:k] += reach.c + rng.exponential(2)
        X0 = np.diag(below)
        A, B = random_unit(rng, d, psd=psd), random_unit(rng, d, psd=psd)
        X, X1 = (X0, X0 + A) if relation == "add-remove" else (X0 + A, X0 + B)
        gaps.append(abs(gap(X, k) - gap(X1, k)) / reach.gap)
        allowed = reach.at(max(gap(X, k), gap(X1, k)), 0.0)
        if allowed is not None:
            moves.append(np.linalg.norm(projector(X, k) - projector(X1, k)) / allowed)
    assert max(gaps) <= 1 + 1e-12
    assert max(gaps) > 0.6
    assert len(moves) > 2000
    assert max(moves) <= 1 + 1e-9
    assert max(moves) > 0.15  # the bound is tight up to a small factor


def test_half_of_the_gap_sensitivity_is_too_small():
    """The check above can fail: a unit along the k-th axis moves the gap by all of R."""
    X, A = np.diag([5.0, 3.0, 1.0]), np.diag([0.0, 1.0, 0.0])
    assert gap(X + A, 2) - gap(X, 2) == pytest.approx(1.0)
    assert gap(X + A, 2) - gap(X + np.diag([0.0, 0.0, 1.0]), 2) == pytest.approx(2.0)
    assert gap(X + A, 2) - gap(X - np.diag([0.0, 1.0, 0.0]), 2) == pytest.approx(2.0)


@pytest.mark.parametrize("rho", [0.0, 0.125])
@pytest.mark.parametrize(("m", "c"), [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (0.5, 3.0)])
def test_sensitivity_is_computed_at_the_gap_minus_the_change_by_one_unit(m, c, rho):
    """mutant: sensitivity at y instead of y - c, which differ only for small gaps."""
    reach = Reach(gap=1.0, m=m, c=c)
    closes = c + 2 * rho
    for y in (-1.0, 0.0, closes / 2, math.nextafter(closes, 0), closes):
        assert reach.at(y, rho) is None
    for room in (2.0**-20, 0.01, 0.5, 1.0, 100.0):
        expected = math.sqrt(2) * (m + 2 * rho) / room
        assert reach.at(closes + room, rho) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("relation", "factor"), FACTORS)
def test_noise_for_a_gap_just_above_the_minimum(relation, factor):
    """mutant: sensitivity at y instead of y - c. End to end, without noise in the test, for y from c/2 to 4 c."""
    n, R = 6000, 4.0
    small = R / 64  # contribution of a row to the sum
    lowered = factor * R / TEST[0] * math.log(1 / (2 * TEST[1]))
    found = []
    for y in (0.5 * R, 0.9 * R, 1.2 * R, 1.5 * R, 4 * R):
        first = (n + round((lowered + y) / small)) // 2
        rows = np.zeros((n, 3))
        rows[:first, 0] = rows[first:, 1] = math.sqrt(small)
        units = units_of(rows, relation=relation)
        bounds = Bounds(radius=R, n_hat=float(n), n_noise=1.0, mu=BUDGET.mu)
        noisy = _buy_projector(units, 1, bounds, psd=False)
        test, *rest = [entry for entry in units.veil.ledger.entries if entry.kind != "declared"]
        reach = _reach(units, R, psd=False)
        left = (2 * first - n) * small - test.scale * math.log(1 / (2 * TEST[1])) - reach.c
        assert (noisy is None) == (y < R)
        if noisy is not None:
            (out,) = rest
            assert out.sensitivity == pytest.approx(math.sqrt(2) * reach.m / left, rel=0.05)
            assert out.scale == pytest.approx(out.sensitivity / BUDGET.mu, rel=1e-6)
            found.append(out.sensitivity)
    assert len(found) == 3
    assert found[0] > 4 * found[-1] > 0


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_exceeds_the_charged_sensitivity(relation):
    """End to end, where the gap test passes: distances of the values before noise, in exact arithmetic."""
    rng = np.random.default_rng(7)
    far = np.array([[300.0, 200.0, 300.0], [-250.0, 10.0, 260.0]])
    kinds = ("rows", "float32 rows", "people", "spiked", "matrices")
    for source, form in itertools.product((no_noise, SeededBytes(2)), kinds):
        X = rng.normal(size=(900, 3)) * [4, 1, 0.3]
        X[-1] = far[0]
        other = X[:-1] if relation == "add-remove" else np.concatenate([X[:-1], far[1:]])
        a = WatchedVeil(Ledger(BUDGET, relation=relation), source=source)
        b = WatchedVeil(Ledger(BUDGET, relation=relation), source=source)
        first = run(form, X, a)
        b.transcript = a.seen
        run(form, other, b)
        assert first is not None, "the test must pass for this to mean anything"
        assert len(a.seen) == (4 if relation == "replace" else 5)
        assert worst_ratio(a.seen, b.seen) <= 1


def run(form, X, veil):
    outer = X[:, :, None] * X[:, None, :]
    given = {
        "rows": lambda: samples.rows(X),
        "float32 rows": lambda: samples.rows(X.astype(np.float32)),
        "people": lambda: samples.factors([np.stack([x, 2 * x[::-1] * [1, 0, 0]]) for x in X]),
        "spiked": lambda: samples.spiked(np.eye(3)[:, :1], [5.0], X),
        "matrices": lambda: samples.matrices(outer),
    }[form]()
    units = under(given, veil)
    return _buy_projector(units, 1, buy_bounds(units, Declared()), psd=False)


@pytest.mark.parametrize("form", ["rows", "people", "spiked"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_clipped_unit_is_psd_up_to_the_stated_error(form, dtype):
    rng = np.random.default_rng(11)
    d, R = 30, 2.0
    for size in (1e-3, 1.0, 1e6):
        x = (rng.normal(size=(1, d)) * size).astype(dtype)
        given = {
            "rows": samples.rows(x),
            "people": samples.factors([rng.normal(size=(50, d)) * size]),
            "spiked": samples.spiked(np.linalg.qr(rng.normal(size=(d, 2)))[0], [100 * size, 3.0], x),
        }[form]
        units = units_of(given)
        total = units.matrices().clipped_sum(np.zeros((d, d)), R, _grid(R))
        A = np.ldexp((np.triu(total) + np.triu(total, 1).T).astype(float), _grid(R))
        assert np.linalg.eigvalsh(A)[0] >= -_psd_error(units, R)


# -- the algorithm --------------------------------------------------------------------------------


def test_without_noise_it_equals_the_pseudo_code():
    """And the noise is that of ALGORITHMS.md, section 2.5."""
    units_given = forms(np.random.default_rng(1), n=4000)
    for (relation, factor), form in itertools.product(FACTORS, ("rows", "people", "spiked")):
        given, matrices = units_given[form]
        R = np.median(np.linalg.norm(matrices, axis=(1, 2)))
        units = units_of(given, relation=relation)
        release = DP_GAUSS_2.run(units, 1, Gauss2Options(beta=math.sqrt(R), n=4000))
        X = clipped(matrices, R).sum(axis=0)
        same_span(release.components, np.linalg.eigh(X)[1][:, ::-1][:, :1].T)
        test, out = [e for e in units.veil.ledger.entries if e.kind != "declared"]
        assert (test.epsilon, test.delta) == TEST
        assert test.scale == pytest.approx(factor * R / TEST[0], rel=0.01)
        y = gap(X, 1) - factor * R / TEST[0] * math.log(1 / (2 * TEST[1]))
        assert out.sensitivity == pytest.approx(factor * math.sqrt(2) * R / (y - R), rel=0.02)
        assert out.scale == pytest.approx(out.sensitivity / BUDGET.mu, rel=1e-6)


def test_whole_cost_and_its_parts():
    release = dp_gauss_2(ROWS, 2, epsilon=1.0, delta=1e-4)
    count, histogram, radius, test, out = release.ledger.entries
    assert (test.epsilon, test.delta) == (0.25, 5e-5)
    mu = math.sqrt(sum(e.mu**2 for e in (count, histogram, radius, out)))
    assert mu == pytest.approx(gaussian_mu(0.75, 5e-5))
    assert release.ledger.epsilon(1e-4) == pytest.approx(1.0)
    assert release.private
    assert release.eigenvalues is None
    assert not release.diagnostics["bottom"]
    orthonormal(release.components, 2, 4)


def test_non_private_limit():
    P = dp_gauss_2(ROWS, 2, epsilon=1000.0, delta=1e-4, beta=20.0).components
    assert np.linalg.norm(P.T @ P - projector(ROWS.T @ ROWS, 2)) < 0.01


def test_bottom_is_reported_and_releases_nothing_about_the_data():
    rows = RNG.normal(size=(40, 3))
    with pytest.warns(UserWarning, match="eigengap is too small"):
        release = dp_gauss_2(rows, 1, epsilon=1.0, delta=1e-4, beta=1.0)
    assert release.diagnostics["bottom"]
    assert [e.what for e in release.ledger.entries if e.mu][-1] == "number of units"
    assert release.ledger.entries[-1].what == "top projector: test"
    orthonormal(release.components, 1, 3)
    with pytest.warns(UserWarning, match="random"):
        again = dp_gauss_2(rows, 1, epsilon=1.0, delta=1e-4, beta=1.0)
    assert not np.allclose(release.components, again.components)


def test_few_or_invalid_units_result_in_bottom():
    for rows in (np.zeros((0, 3)), np.full((4, 3), np.nan), np.ones((1, 3)), np.zeros((9, 3))):
        with pytest.warns(UserWarning, match="eigengap"):
            release = dp_gauss_2(rows, 2, epsilon=1.0, delta=1e-4)
        orthonormal(release.components, 2, 3)


@pytest.mark.parametrize("d", [1, 4])
def test_all_directions_cost_nothing(d):
    release = dp_gauss_2(RNG.normal(size=(50, d)), d, epsilon=1.0, delta=1e-4)
    orthonormal(release.components, d, d)
    assert release.ledger.mu == 0
    assert [e.kind for e in release.ledger.entries] == ["declared"]


def test_more_units_than_declared_result_in_bottom():
    """Rounding errors are bounded only up to a public norm of the sum; beyond it the gap test fails."""
    with pytest.warns(UserWarning, match="eigengap"):
        assert dp_gauss_2(ROWS, 2, epsilon=1.0, delta=1e-4, beta=5.0, n=10).diagnostics["bottom"]
    assert not dp_gauss_2(ROWS, 2, epsilon=1.0, delta=1e-4, beta=5.0, n=3000).diagnostics["bottom"]


def test_matrices_that_need_not_be_psd_pay_for_it():
    A = ROWS[:, :, None] * ROWS[:, None, :]
    plain, promised, rows = (
        _reach(units_of(given), 1.0, psd=psd)
        for given, psd in ((samples.matrices(A), False), (samples.matrices(A), True), (samples.rows(ROWS), False))
    )
    assert plain == Reach(gap=2, m=1, c=1)
    assert promised == rows
    assert rows.gap == pytest.approx(1.0, rel=0.005)
    negative = samples.spiked(np.eye(4)[:, :1], [-1.0], ROWS)
    assert _reach(units_of(negative), 1.0, psd=False) == plain
    projected = samples.matrices(A).projected(np.eye(4)[:, :1])
    assert _reach(units_of(projected), 1.0, psd=True) == plain


def test_a_declaration_is_in_the_ledger():
    A = samples.matrices(ROWS[:, :, None] * ROWS[:, None, :])
    options = {"epsilon": 1.0, "delta": 1e-4, "beta": 5.0}
    assert "positive semidefinite" in str(dp_gauss_2(A, 2, psd=True, **options).ledger)
    assert "positive semidefinite" not in str(dp_gauss_2(A, 2, **options).ledger)


# -- as printed -----------------------------------------------------------------------------------


def test_printed_form_is_marked_not_private_everywhere():
    release = dp_gauss_2(ROWS, 2, epsilon=1.0, delta=1e-2, beta=5.0, not_private=True)
    orthonormal(release.components, 2, 4)
    assert not release.private
    assert "NOT PRIVATE: DP-Gauss-2 as printed" in repr(release)
    assert "NOT PRIVATE" in str(release.ledger)
    assert "NOT PRIVATE" in release.ledger._repr_html_()
    plain = json.loads(release.ledger.to_json())
    assert not plain["private"]
    assert "as printed" in plain["not_private_because"][0]


def test_printed_noise_has_the_printed_scale():
    epsilon, delta, R = 1.0, 1e-2, 25.0
    units = units_of(ROWS, budget=Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=0.5))
    release = DP_GAUSS_2.run(replace(units, stated=(epsilon, delta)), 2, Gauss2Options(beta=5.0, not_private=True))
    X = clipped(ROWS[:, :, None] * ROWS[:, None, :], R).sum(axis=0)
    same_span(release.components, np.linalg.eigh(X)[1][:, ::-1][:, :2].T)
    test, out = units.veil.ledger.entries
    assert test.scale == pytest.approx(2 / epsilon)
    log = math.log(1 / delta)
    wanted = R * (1 + math.sqrt(2 * log) / epsilon) / abs(gap(X, 2) - 2 * (1 + log / epsilon))
    assert out.scale == pytest.approx(wanted, rel=1e-4)
    assert out.draws == 8


def test_printed_draws_again_until_the_gap_is_positive():
    draws = []
    for seed in range(12):
        options = {"beta": 1.0, "not_private": True, "random_state": seed}
        draws.append(dp_gauss_2(np.zeros((5, 3)), 1, epsilon=1.0, delta=1e-2, **options).diagnostics["gap_draws"])
    assert max(draws) > 1
    assert min(draws) == 1


# -- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"k": 0},
        {"k": 5},
        {"beta": 0.0},
        {"test_epsilon": 1.0},
        {"test_epsilon": 0.0},
        {"test_delta": 1e-4},
        {"test_delta": 0.0},
        {"not_private": True},
        {"epsilon": -1.0},
        {"relation": "swap"},
    ],
)
def test_refuses_before_anything_is_charged(bad):
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-4, epsilon_aside=0.25, delta_aside=5e-5))
    options = {"k": 2, "epsilon": 1.0, "delta": 1e-4, "ledger": ledger, **bad}
    with pytest.raises(InvalidInputError):
        dp_gauss_2(ROWS, options.pop("k"), **options)
    assert ledger.entries == ()
