import itertools
import json
import math

import numpy as np
import pytest

from eigenveil.algorithms.baselines.dp_power_method import PowerOptions, dp_power_method, power_rounds, run
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, no_noise
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from support.baselines import BUDGET, forms, orthonormal, same_span, under, units_of
from support.veils import WatchedVeil, worst_ratio

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3000, 5)) * [4, 2, 1, 0.5, 0.25]
RELATIONS = ["add-remove", "replace"]
START = np.array([[1, 1, 1, 1, 1], [1, -1, 1, -1, 1]]).T  # a random start fails by chance sometimes


def transcript(matrices, X, rounds, R, alpha_beta):
    """The pseudo-code in plain numpy, without noise."""
    radii = []
    for _ in range(rounds):
        before = X
        radii.append(R if alpha_beta is None else alpha_beta * np.linalg.norm(X, axis=1).max())
        products = matrices @ X
        norms = np.linalg.norm(products, axis=(1, 2))
        Y = (products * np.minimum(1, radii[-1] / norms)[:, None, None]).sum(axis=0)
        X = np.linalg.qr(Y)[0]
    B = before.T @ Y
    return np.linalg.svd(Y, full_matrices=False)[0].T, np.linalg.eigvalsh((B + B.T) / 2)[::-1], radii


@pytest.mark.parametrize("alpha_beta", [None, 2.0])
def test_without_noise_it_equals_the_pseudo_code(alpha_beta):
    start = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 2)))[0]
    for relation in RELATIONS:
        for given, matrices in forms(np.random.default_rng(1)).values():
            R = float(np.median(np.linalg.norm(matrices, axis=(1, 2))))
            units = units_of(given, relation=relation)
            printed = {"scale": "printed", "alpha": alpha_beta / math.sqrt(R)} if alpha_beta else {}
            options = PowerOptions(beta=math.sqrt(R), n=60, rounds=3, start=start, **printed)
            release = run(units, 2, options)
            components, values, radii = transcript(matrices, start, 3, R, alpha_beta)
            same_span(release.components, components)
            np.testing.assert_allclose(release.eigenvalues, values / 60, rtol=1e-3, atol=1e-4)
            assert release.diagnostics["rounds"] == 3
            assert release.diagnostics["radius"] == pytest.approx(tuple(radii), rel=1e-3)


def test_rounds_compose():
    for relation, factor in (("add-remove", 1), ("replace", 2)):
        options = {"rounds": 4, "eigenvalues": False, "relation": relation}
        release = dp_power_method(ROWS, 2, epsilon=1.0, delta=1e-6, beta=3.0, **options)
        entries = [e for e in release.ledger.entries if e.kind != "declared"]
        assert [e.sensitivity for e in entries] == [9.0 * factor] * 4
        assert [e.scale for e in entries] == pytest.approx([9.0 * factor * 2 * 4.2247] * 4, rel=1e-4)
        assert release.ledger.epsilon(1e-6) == pytest.approx(1.0)
        assert release.eigenvalues is None


def test_printed_scale_follows_the_iterate():
    options = {"scale": "printed", "alpha": 6.0, "beta": 3.0, "rounds": 2, "eigenvalues": False}
    start = np.full((5, 1), 5**-0.5)
    release = dp_power_method(ROWS, 1, epsilon=1.0, delta=1e-6, start=start, **options)
    first, second = [e for e in release.ledger.entries if e.kind != "declared"]
    assert first.sensitivity == pytest.approx(18 / math.sqrt(5))
    assert 18 / math.sqrt(5) <= second.sensitivity <= 18
    assert release.private
    assert {"alpha", "start"} <= {e.what for e in release.ledger.entries if e.kind == "declared"}


def test_printed_scale_covers_every_row_within_alpha_and_beta():
    """||a a^T X||_F <= ||a||_2 ||a||_1 max_j ||row j of X||, and never above ||a||_2^2; both bounds are tight."""
    rng = np.random.default_rng(3)
    printed, plain = [], []
    for _ in range(3000):
        d = int(rng.integers(1, 8))
        X = np.linalg.qr(rng.normal(size=(d, int(rng.integers(1, d + 1)))))[0]
        if rng.random() < 0.3:
            X = np.eye(d)[:, : X.shape[1]]
        a = rng.normal(size=d) * (rng.random(d) < 0.6)
        if not a.any():
            continue
        product = np.linalg.norm(np.outer(a, a @ X))
        a1, a2 = np.abs(a).sum(), np.linalg.norm(a)
        printed.append(product / (a1 * a2 * np.linalg.norm(X, axis=1).max()))
        plain.append(product / a2**2)
    assert 0.999 < max(printed) <= 1 + 1e-12
    assert 0.999 < max(plain) <= 1 + 1e-12


def test_largest_entry_instead_of_largest_row_is_not_private():
    """An older form has max |X_ij| in place of the largest row, without sqrt(k)."""
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 3)))[0]
    j = np.linalg.norm(X, axis=1).argmax()
    a = np.eye(4)[j]
    assert np.linalg.norm(np.outer(a, a @ X)) > np.abs(X).max() * 1.05


BOUGHT, DECLARED = {}, {"beta": 2.0}
PRINTED = {"beta": 2.0, "scale": "printed", "alpha": 1.5}


@pytest.mark.parametrize("bound", [BOUGHT, DECLARED, PRINTED])
def test_no_neighbour_exceeds_the_stated_sensitivity(bound):
    rng = np.random.default_rng(5)
    for relation, source in itertools.product(RELATIONS, (no_noise, SeededBytes(3))):
        rows = rng.normal(size=(12, 3)) * 3
        other = rows[:-1] if relation == "add-remove" else np.concatenate([rows[:-1], rows[-1:, ::-1] * 50])
        start = np.linalg.qr(rng.normal(size=(3, 2)))[0]
        seen = []
        for data in (rows, other):
            transcript_ = seen[0] if seen else None
            veil = WatchedVeil(Ledger(BUDGET, relation=relation), source=source, transcript=transcript_)
            units = under(samples.rows(data), veil)
            run(units, 1, PowerOptions(n=12, rounds=3, start=start, oversampling=1, **bound))
            seen.append(veil.seen)
        assert worst_ratio(*seen) <= 1


def test_non_private_limit():
    values, vectors = np.linalg.eigh(ROWS.T @ ROWS)
    release = dp_power_method(ROWS, 2, epsilon=1000.0, delta=1e-6, beta=20.0, rounds=8, start=START)
    np.testing.assert_allclose(np.abs(release.components @ vectors[:, ::-1][:, :2]), np.eye(2), atol=0.05)
    np.testing.assert_allclose(release.eigenvalues, values[::-1][:2] / len(ROWS), rtol=0.05)


def test_everything_bought_adds_up_and_learns():
    release = dp_power_method(np.tile(ROWS, (10, 1)), 1, epsilon=1.0, delta=1e-6, oversampling=1, start=START)
    assert [e.what for e in release.ledger.entries][:4] == [
        "start",
        "number of units",
        "bound: radius, histogram",
        "bound: radius",
    ]
    assert release.ledger.epsilon(1e-6) == pytest.approx(1.0)
    assert release.diagnostics["rounds"] == 2
    assert release.components.shape == (1, 5)
    assert abs(release.components[0, 0]) > 0.9
    assert release.eigenvalues.shape == (1,)


def test_number_of_rounds():
    assert power_rounds(200, 2) == math.ceil(math.log(200))
    assert power_rounds(200, 2, spectrum=(5.0, 0.0)) == power_rounds(200, 2)
    assert power_rounds(200, 2, spectrum=(5.0, 4.0)) == math.ceil(5 * math.log(200))
    assert power_rounds(2, 1) == 2
    assert power_rounds(7, 7) == power_rounds(1, 1) == 1
    for bad in ((1.0, 1.0), (1.0, 2.0), (1.0, -1.0), (math.inf, 1.0), (math.nan, 0.0)):
        with pytest.raises(InvalidInputError, match="spectrum"):
            power_rounds(5, 2, spectrum=bad)


def test_few_or_invalid_units_and_k_equal_to_d_still_release():
    for rows in (np.zeros((0, 3)), np.full((4, 3), np.nan), np.ones((1, 3)), np.zeros((9, 3))):
        orthonormal(dp_power_method(rows, 2, epsilon=1.0, delta=1e-6).components, 2, 3)
    for d in (1, 4):
        orthonormal(dp_power_method(RNG.normal(size=(50, d)), d, epsilon=1.0, delta=1e-6).components, d, d)


def test_a_seeded_run_is_marked_not_private_everywhere():
    options = {"epsilon": 1.0, "delta": 1e-6, "random_state": 7}
    release, again = dp_power_method(ROWS, 2, **options), dp_power_method(ROWS, 2, **options)
    np.testing.assert_array_equal(release.components, again.components)
    assert "NOT PRIVATE" in repr(release)
    assert not json.loads(release.ledger.to_json())["private"]


@pytest.mark.parametrize(
    "bad",
    [
        {"k": 0},
        {"k": 6},
        {"rounds": 0},
        {"rounds": 2.0},
        {"oversampling": -1},
        {"scale": "loud"},
        {"scale": "printed"},
        {"scale": "printed", "alpha": 1.0},
        {"scale": "printed", "beta": 1.0},
        {"scale": "printed", "alpha": -1.0, "beta": 1.0},
        {"alpha": 1.0},
        {"start": np.zeros((5, 3))},
        {"start": np.full((5, 2), np.nan)},
        {"beta": math.inf},
        {"spectrum": (1.0, 2.0)},
    ],
)
def test_refuses_before_anything_is_charged(bad):
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
    options = {"k": 2, "epsilon": 1.0, "delta": 1e-6, "ledger": ledger, **bad}
    with pytest.raises(InvalidInputError):
        dp_power_method(ROWS, options.pop("k"), **options)
    assert ledger.entries == ()
