import math
from dataclasses import replace

import numpy as np
import pytest

from eigenveil.algorithms.oracles.literal_dp_pca import LiteralDPPCA
from eigenveil.algorithms.oracles.modified_dp_pca import modified_dp_pca
from eigenveil.algorithms.oracles.steps import Past, predict_gradient
from eigenveil.algorithms.oracles.tracked_dp_pca import TrackedDPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes
from eigenveil.mechanisms.radius import EDGES
from eigenveil.operators import samples
from support.open import open_quiet

LITERAL = LiteralDPPCA(batch_size=2000, C1=8.0)
HYBRID = LiteralDPPCA(mean_estimator="tracked")

HUGE = pytest.mark.ledger_beyond_recomputation
"""Such ledgers are not recomputed: dp-accounting overflows at an epsilon this large, which is not private."""


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) * [3, 1, 1]


def open_for(oracle, data, *, epsilon=8.0, delta=4e-2, **options):
    return open_quiet(data, epsilon=epsilon, delta=delta, aside=oracle.aside(epsilon, delta), **options)


def gradients(X, w):
    return X * (X @ w)[:, None]


def noiseless_range(g, *, epsilon, delta, tau, C1):
    h = g[1::2] - g[0::2]
    k = math.ceil(C1 * math.log(1 / (delta * tau)) / epsilon)
    b = len(h) // k
    tops = [np.linalg.eigvalsh(G.T @ G / b)[-1] for G in (h[j * b : (j + 1) * b] for j in range(k))]
    bins, counts = np.unique(np.floor(4 * np.log2(tops)), return_counts=True)
    return 2 ** (bins[counts.argmax()] / 4) if counts.max() > 1 + 2 / epsilon * math.log(1 / (2 * delta)) else None


def noiseless_mean(g, top, *, epsilon, delta, tau):
    B, D = g.shape
    u, r = 2**0.25 * math.sqrt(top) * math.log(25) ** 2, 3 * math.sqrt(top) * math.log(B * D / tau)
    threshold = 1 + 8 * math.sqrt(2 * D * math.log(4 / delta)) / epsilon * math.log(4 * D / (2 * delta))
    out = np.zeros(D)
    for j in range(D):
        bins, counts = np.unique(np.ceil(g[:, j] / u) - 1, return_counts=True)
        if counts.max() <= threshold:
            return None
        left = bins[counts.argmax()] * u
        out[j] = np.clip(g[:, j], left - r, left + r).mean()
    return out


def literal_transcription(X, w, *, B, epsilon, delta, tau, C1, rates, halves):
    T, still = len(X) // B, 0
    for t in range(1, T + 1):
        batch = X[B * (t - 1) : B * t]
        first = gradients(batch[: B // 2], w)
        second = first if halves == "shared" else gradients(batch[B // 2 :], w)
        cost = {"epsilon": epsilon / 2, "delta": delta / 2, "tau": tau / (2 * T)}
        top = noiseless_range(first, **cost, C1=C1)
        if halves == "disjoint":
            cost |= {"epsilon": epsilon, "delta": delta}
        g = None if top is None else noiseless_mean(second, top, **cost)
        if g is None:
            still += 1
            continue
        w = w + rates(t) * g
        w = w / np.linalg.norm(w)
    return w, still


@pytest.mark.parametrize("halves", ["shared", "disjoint"])
def test_literal_form_without_noise_equals_the_pseudo_code(halves):
    X = rows(8100)
    oracle = replace(LITERAL, halves=halves)
    units = open_for(oracle, X)
    answer = oracle(units)
    options = {"B": 2000, "epsilon": 8.0, "delta": 4e-2, "tau": 0.01, "C1": 8.0, "halves": halves}
    start = units.random_start(1)[:, 0]
    expected, still = literal_transcription(X, start, **options, rates=lambda t: 1 / (1 + t))
    np.testing.assert_allclose(answer.direction, expected, atol=1e-5)
    assert answer.diagnostics["rounds"] == 4
    assert answer.diagnostics["stood_still"] == still < 4
    assert units.veil.ledger.epsilon(4e-2) <= 8.0 * (1 + 1e-9)


def test_bottom_leaves_the_iterate_unchanged():
    oracle = LiteralDPPCA()
    units = open_for(oracle, rows(900), epsilon=1.0, source=None)
    seeded = open_for(oracle, rows(900), epsilon=1.0, source=SeededBytes(1))
    answer = oracle(seeded)
    assert answer.diagnostics["rounds"] == answer.diagnostics["stood_still"] == 30  # B = sqrt(m)
    assert answer.diagnostics["ranges"] == (None,) * 30
    start = open_for(oracle, rows(900), epsilon=1.0, source=SeededBytes(1)).random_start(1)[:, 0]
    np.testing.assert_array_equal(answer.direction, start)
    assert oracle(units).diagnostics["stood_still"] == 30
    assert units.veil.ledger.private


@HUGE
def test_literal_form_at_huge_epsilon_is_oja_on_batch_means():
    X = rows(4000)
    oracle = replace(LITERAL, batch_size=1000, C1=4e5, learning_rates=[0.5, 0.4, 0.3, 0.2])
    units = open_for(oracle, X, epsilon=4e5, source=SeededBytes(0))
    answer = oracle(units)
    assert answer.diagnostics["stood_still"] == 0
    w = open_for(oracle, X, epsilon=4e5, source=SeededBytes(0)).random_start(1)[:, 0]
    for t, eta in enumerate((0.5, 0.4, 0.3, 0.2)):
        w = w + eta * gradients(X[1000 * t : 1000 * t + 500], w).mean(axis=0)
        w = w / np.linalg.norm(w)
    np.testing.assert_allclose(answer.direction, w, atol=1e-2)


def test_literal_form_learns_when_there_are_enough_units():
    oracle = replace(LITERAL, batch_size=10_000)
    answer = oracle(open_for(oracle, rows(40_000), source=SeededBytes(4)))
    assert answer.diagnostics["stood_still"] < 4
    assert abs(answer.direction[0]) > 0.99


def test_with_a_fixed_threshold_privmean_gets_the_whole_budget():
    X = rows(4000)
    oracle = LiteralDPPCA(range_finder=20.0, batch_size=2000, learning_rates=lambda _: 1.0)
    units = open_for(oracle, X)
    answer = oracle(units)
    w = units.random_start(1)[:, 0]
    for batch in (X[:2000], X[2000:]):
        w = w + noiseless_mean(gradients(batch, w), 20.0, epsilon=8.0, delta=4e-2, tau=0.01 / 4)
        w = w / np.linalg.norm(w)
    np.testing.assert_allclose(answer.direction, w, atol=1e-5)
    assert "given as public" in str(units.veil.ledger)


def test_tracked_mean_with_the_paper_s_range_finder():
    oracle = replace(HYBRID, batch_size=2000, C1=8.0)
    answer = oracle(open_for(oracle, rows(16_000), source=SeededBytes(4)))
    assert answer.diagnostics["stood_still"] < 8
    assert abs(answer.direction[0]) > 0.99


def tracked_transcription(X, w, batches, rates=None, radius=None):
    centre, past, radii = np.zeros(3), [], []
    for t, batch in enumerate(batches, start=1):
        residuals = gradients(X[batch], w) - centre
        norms = np.linalg.norm(residuals, axis=1)
        R = radius or next(edge for edge in EDGES if np.sum(norms <= edge) >= 0.5 * len(norms))
        g = centre + (residuals * np.minimum(1, R / norms)[:, None]).mean(axis=0)
        moved = g if rates is None else w + rates(t) * g
        moved = moved / np.linalg.norm(moved)
        radii.append(R)
        past.append(Past(w, g, R))
        centre, w = predict_gradient(past, moved), moved
    return w, radii


@pytest.mark.parametrize("rates", [None, lambda t: 1 / t])
@pytest.mark.parametrize("radius", [None, 2.0])
def test_tracked_form_without_noise_equals_the_pseudo_code(rates, radius):
    X = rows(4000)
    finder = "tracked" if radius is None else radius
    oracle = TrackedDPPCA(batch_size=1000, learning_rates=rates, range_finder=finder)
    units = open_for(oracle, X, epsilon=1.0)
    answer = oracle(units)
    batches = [slice(1000 * t, 1000 * t + 1000) for t in range(4)]
    expected, radii = tracked_transcription(X, units.random_start(1)[:, 0], batches, rates, radius)
    np.testing.assert_allclose(answer.direction, expected, atol=1e-4)
    assert answer.diagnostics["ranges"] == tuple(radii)


def test_tracked_form_chooses_rounds_from_releases_and_keeps_half_for_the_last():
    X = rows(4000)
    oracle = TrackedDPPCA()
    units = open_for(oracle, X, epsilon=1.0)
    answer = oracle(units)
    T = answer.diagnostics["rounds"]
    assert T > 3
    early = 2000 // (T - 1)
    batches = [*(slice(early * t, early * t + early) for t in range(T - 1)), slice(2000, 4000)]
    expected, _ = tracked_transcription(X, units.random_start(1)[:, 0], batches)
    np.testing.assert_allclose(answer.direction, expected, atol=1e-4)


@HUGE
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_tracked_form_at_huge_epsilon_is_eigh(relation):
    A = np.random.default_rng(3).normal(size=(6, 6))
    A = A @ A.T
    data = samples.matrices(np.repeat(A[None], 300, axis=0))
    answer = TrackedDPPCA(batch_size=5)(open_quiet(data, relation=relation, epsilon=1e6, source=SeededBytes(1)))
    assert abs(answer.direction @ np.linalg.eigh(A)[1][:, -1]) > 1 - 1e-6


def test_tracked_form_spends_exactly_its_budget():
    for relation in ("add-remove", "replace"):
        units = open_quiet(rows(3000), relation=relation, source=SeededBytes(1))
        TrackedDPPCA()(units)
        assert units.veil.ledger.mu == pytest.approx(units.budget.mu, rel=1e-9)


def test_the_prediction_is_exact_if_directions_span_the_next_one():
    rng = np.random.default_rng(0)
    A, W = rng.normal(size=(5, 5)), rng.normal(size=(5, 3))
    past = [Past(w, A @ w, 1e-12) for w in W.T]
    np.testing.assert_allclose(predict_gradient(past, W @ [1, -2, 0.5]), A @ W @ [1, -2, 0.5], atol=1e-8)
    noisy = [replace(past[0], error=1e12), past[1]]
    np.testing.assert_allclose(predict_gradient(noisy, past[1].w), past[1].g, atol=1e-8)
    assert np.all(predict_gradient([Past(np.eye(2)[0], np.zeros(2), 1.0)], np.eye(2)[1]) == 0)


def test_non_symmetric_units():
    A = np.random.default_rng(0).normal(size=(3000, 4, 4)) * 0.1 + np.diag([5.0, 1, 1, 1])
    A[:, 0, 1] += 2  # the top right eigenvector of the mean is still e1
    for oracle in (TrackedDPPCA(), replace(LITERAL, batch_size=1000, learning_rates=lambda _: 1.0)):
        answer = oracle(open_for(oracle, samples.matrices(A), source=SeededBytes(1)))
        assert abs(answer.direction[0]) > 0.99


def test_literal_forms_refuse_add_remove_and_parts_by_coin():
    for oracle in (LITERAL, HYBRID):
        with pytest.raises(InvalidInputError, match="relation='replace'"):
            oracle(open_for(oracle, rows(100), relation="add-remove"))
    by_coin = replace(
        open_for(LITERAL, rows(100)), plan=open_quiet(rows(100), relation="add-remove").split(2)[0].plan
    )
    with pytest.raises(InvalidInputError, match="need undivided units"):
        LITERAL(by_coin)


def test_literal_forms_refuse_people_identified_by_ids():
    """mutant: batches by position for people, whose positions follow the order of ids."""
    people = samples.people(rows(100), np.arange(100))
    for oracle in (LITERAL, HYBRID):
        with pytest.raises(InvalidInputError, match="order of the ids"):
            oracle(open_for(oracle, people))
    given = samples.factors([row[None] for row in rows(100)])
    assert LITERAL(open_for(LITERAL, given)).direction.size == rows(100).shape[1]


@pytest.mark.parametrize(
    "options",
    [
        {"mean_estimator": "privmean", "range_finder": "tracked"},
        {"mean_estimator": "median"},
        {"range_finder": "guess"},
        {"range_finder": 0.0},
        {"range_finder": True},
        {"batch_size": 0},
        {"tau": 0.0},
        {"halves": "thirds"},
    ],
)
def test_invalid_arguments(options):
    with pytest.raises(InvalidInputError):
        modified_dp_pca(**options)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        (LiteralDPPCA, {"range_finder": "tracked"}),
        (LiteralDPPCA, {"range_finder": 20.0, "mean_estimator": "tracked"}),
        (LiteralDPPCA, {"mean_estimator": "median"}),
        (LiteralDPPCA, {"halves": "thirds"}),
        (LiteralDPPCA, {"tau": 1.0}),
        (LiteralDPPCA, {"batch_size": 0}),
        (TrackedDPPCA, {"range_finder": "privrange"}),
        (TrackedDPPCA, {"range_finder": -1.0}),
        (TrackedDPPCA, {"batch_size": 1.5}),
    ],
)
def test_each_form_refuses_options_of_the_other(form, options):
    with pytest.raises(InvalidInputError):
        form(**options)


@pytest.mark.parametrize(
    ("options", "oracle"),
    [
        ({}, TrackedDPPCA()),
        ({"range_finder": 2.0, "batch_size": 7}, TrackedDPPCA(range_finder=2.0, batch_size=7)),
        ({"mean_estimator": "privmean", "tau": 0.1}, LiteralDPPCA(tau=0.1)),
        ({"mean_estimator": "privmean", "range_finder": 2.0}, LiteralDPPCA(range_finder=2.0)),
        ({"range_finder": "privrange", "C1": 3.0}, LiteralDPPCA(mean_estimator="tracked", C1=3.0)),
        ({"mean_estimator": "privmean", "halves": "disjoint"}, LiteralDPPCA(halves="disjoint")),
    ],
)
def test_options_choose_the_form(options, oracle):
    assert modified_dp_pca(**options) == oracle


def test_no_units_and_invalid_units():
    bad = np.full((500, 3), np.nan)
    for data in (np.zeros((0, 3)), bad):
        for oracle in (TrackedDPPCA(), LITERAL):
            answer = oracle(open_for(oracle, data, source=SeededBytes(1)))
            assert np.linalg.norm(answer.direction) == pytest.approx(1)
