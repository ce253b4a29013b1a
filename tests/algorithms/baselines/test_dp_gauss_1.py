import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from eigenveil.algorithms.baselines.dp_gauss_1 import Gauss1Options, _printed_mu, dp_gauss_1, run
from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import SeededBytes, no_noise
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from support.baselines import BUDGET, clipped, forms, orthonormal, same_span, under, units_of
from support.veils import WatchedVeil, one_sigma, worst_ratio

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3000, 5)) * [4, 2, 1, 0.5, 0.25]


@pytest.mark.parametrize("noise", ["exact", "printed"])
def test_without_noise_it_equals_the_pseudo_code(noise):
    for relation in ("add-remove", "replace"):
        for given, matrices in forms(np.random.default_rng(1)).values():
            beta = math.sqrt(np.median(np.linalg.norm(matrices, axis=(1, 2))))
            units = replace(units_of(given, relation=relation), stated=(0.5, 1e-3))
            release = run(units, 2, Gauss1Options(beta=beta, n=60, noise=noise))
            values, vectors = np.linalg.eigh(clipped(matrices, beta**2).sum(axis=0))
            same_span(release.components, vectors[:, ::-1][:, :2].T)
            np.testing.assert_allclose(release.eigenvalues, values[::-1][:2] / 60, rtol=1e-4)
            orthonormal(release.components, 2, 4)
            assert release.diagnostics["radius"] == pytest.approx(beta**2)


@pytest.mark.parametrize(("delta", "sigma"), [(1e-6, 4.2247), (1e-2, 1.8779)])
def test_noise_is_calibrated_by_the_exact_curve(delta, sigma):
    for relation, factor in (("add-remove", 1), ("replace", 2)):
        release = dp_gauss_1(ROWS, 2, epsilon=1, delta=delta, beta=3.0, eigenvalues=False, relation=relation)
        (entry,) = [e for e in release.ledger.entries if e.kind != "declared"]
        assert entry.sensitivity == 9.0 * factor
        assert entry.scale == pytest.approx(9.0 * factor * sigma, rel=1e-4)
        assert release.eigenvalues is None
        assert release.ledger.epsilon(delta) == pytest.approx(1.0)


def test_noise_is_mirrored_and_smaller_off_the_diagonal():
    seen = {}
    for noise, off in (("exact", math.sqrt(0.5)), ("printed", 1.0)):
        veil = WatchedVeil(Ledger(BUDGET), source=one_sigma)
        units = replace(under(samples.rows(np.zeros((3, 4))), veil), stated=(0.5, 1e-3))
        run(units, 4, Gauss1Options(beta=2.0, n=3, noise=noise))
        seen[noise] = veil.seen[0]
        assert seen[noise].weights[-1] == pytest.approx(off)
    assert sum(s.size for s in seen["printed"].steps) == 10


def test_printed_noise():
    release = dp_gauss_1(ROWS, 2, epsilon=0.8, delta=1e-3, beta=2.0, noise="printed", eigenvalues=False)
    (entry,) = [e for e in release.ledger.entries if e.kind != "declared"]
    assert entry.scale == pytest.approx(4.0 * math.sqrt(2 * math.log(1.25 / 1e-3)) / 0.8, rel=1e-6)
    assert release.ledger.epsilon(1e-3) <= 0.8
    assert release.private
    assert release.diagnostics["printed_noise"]
    with pytest.raises(InvalidInputError, match="epsilon up to 1"):
        dp_gauss_1(ROWS, 2, epsilon=1.1, delta=1e-3, beta=2.0, noise="printed")
    with pytest.raises(InvalidInputError, match="noise"):
        dp_gauss_1(ROWS, 2, epsilon=1.0, delta=1e-3, noise="loud")


def test_printed_mu_always_fits():
    for epsilon in (0.01, 0.3, 1.0):
        for delta in (1e-9, 1e-3, 0.2):
            units = replace(units_of(ROWS), stated=(epsilon, delta))
            assert _printed_mu(units) <= Budget.from_epsilon_delta(epsilon, delta).mu


def test_everything_bought_adds_up():
    release = dp_gauss_1(ROWS, 2, epsilon=1.0, delta=1e-6)
    assert [e.what for e in release.ledger.entries] == [
        "number of units",
        "bound: radius, histogram",
        "bound: radius",
        "second moment",
    ]
    assert release.ledger.epsilon(1e-6) == pytest.approx(1.0)
    assert release.private


def test_non_private_limit():
    _, vectors = np.linalg.eigh(ROWS.T @ ROWS)
    bound = np.linalg.norm(ROWS, axis=1).max()
    release = dp_gauss_1(ROWS, 3, epsilon=1000, delta=1e-6, beta=bound)
    np.testing.assert_allclose(np.abs(release.components @ vectors[:, ::-1][:, :3]), np.eye(3), atol=0.02)
    np.testing.assert_allclose(
        release.eigenvalues, np.linalg.eigvalsh(ROWS.T @ ROWS)[::-1][:3] / len(ROWS), rtol=0.02
    )


def test_learns_with_everything_bought():
    release = dp_gauss_1(np.tile(ROWS, (10, 1)), 1, epsilon=1.0, delta=1e-6)
    assert abs(release.components[0, 0]) > 0.99
    assert 0.2 * 16 < release.eigenvalues[0] < 16 * 1.1


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_neighbour_exceeds_the_stated_sensitivity(relation):
    rng = np.random.default_rng(5)
    for source, form in itertools.product((no_noise, SeededBytes(3)), ("rows", "matrices", "people", "spiked")):
        B = rng.normal(size=(12, 3, 3)) * 3
        first, second = neighbours(form, B, relation)
        a = WatchedVeil(Ledger(BUDGET, relation=relation), source=source)
        run(under(first, a), 2, Gauss1Options())
        b = WatchedVeil(Ledger(BUDGET, relation=relation), source=source, transcript=a.seen)
        run(under(second, b), 2, Gauss1Options())
        assert worst_ratio(a.seen, b.seen) <= 1


def neighbours(form, B, relation):
    """Return the same units without the last one, or with another unit in its place."""
    other = B[:-1] if relation == "add-remove" else np.concatenate([B[:-1], -B[-1:]])
    make = {
        "rows": lambda M: samples.rows(np.ascontiguousarray(M[:, 0])),
        "matrices": samples.matrices,
        "people": lambda M: samples.factors(list(M)),
        "spiked": lambda M: samples.spiked(np.eye(3)[:, :2], [4.0, 1.0], np.ascontiguousarray(M[:, 0])),
    }[form]
    return make(B), make(other)


def test_few_or_invalid_units_and_k_equal_to_d_still_release():
    for rows in (np.zeros((0, 3)), np.full((4, 3), np.nan), np.ones((1, 3)), np.full((2, 3), 1e300)):
        orthonormal(dp_gauss_1(rows, 2, epsilon=1.0, delta=1e-6).components, 2, 3)
    for d in (1, 4):
        orthonormal(dp_gauss_1(RNG.normal(size=(50, d)), d, epsilon=1.0, delta=1e-6).components, d, d)


def test_a_seeded_run_is_marked_not_private_everywhere():
    options = {"epsilon": 1.0, "delta": 1e-6, "random_state": 7}
    release, again = dp_gauss_1(ROWS, 2, **options), dp_gauss_1(ROWS, 2, **options)
    np.testing.assert_array_equal(release.components, again.components)
    assert not release.private
    assert "NOT PRIVATE" in repr(release)
    assert not json.loads(release.ledger.to_json())["private"]


def test_refuses_before_anything_is_charged():
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
    for bad in (
        {"k": 0},
        {"k": 6},
        {"k": 1.0},
        {"beta": -1.0},
        {"epsilon": 0},
        {"delta": 0},
        {"relation": "swap"},
    ):
        options = {"k": 2, "epsilon": 1.0, "delta": 1e-6, "ledger": ledger, **bad}
        with pytest.raises(InvalidInputError):
            dp_gauss_1(ROWS, options.pop("k"), **options)
    with pytest.raises(BudgetExceededError):
        dp_gauss_1(ROWS, 2, epsilon=2.0, delta=1e-6, ledger=ledger)
    assert ledger.entries == ()
    with pytest.raises(InvalidInputError, match="ledger"):
        dp_gauss_1(ROWS, 2, epsilon=1.0, delta=1e-6, ledger=ledger, relation="replace")
