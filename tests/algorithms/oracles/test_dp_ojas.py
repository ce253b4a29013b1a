import math

import numpy as np
import pytest

from eigenveil.algorithms.oracles import dp_ojas
from eigenveil.algorithms.oracles.dp_ojas import DPOjas, Printed
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes
from eigenveil.privacy.poisson import poisson_noise_multiplier
from support.open import open_quiet
from support.veils import WatchedVeil, one_sigma

X = np.random.default_rng(0).normal(size=(60, 5)) * [3, 1, 1, 1, 1]


def printed_rate(t):
    return 1 / (1 + t)


def clipped(g, beta):
    return g * min(1, beta / np.linalg.norm(g))


def transcription(X, w, batches, *, beta, rate, size):
    for t, batch in enumerate(batches, start=1):
        g = sum(clipped(x * (x @ w), beta) for x in X[batch]) / size
        w = w + rate(t) * g
        w = w / np.linalg.norm(w)
    return w


def test_disjoint_steps_without_noise_equal_the_pseudo_code():
    units = open_quiet(X)
    answer = DPOjas(clip=4.0, steps=6)(units)
    batches = [slice(10 * t, 10 * t + 10) for t in range(6)]
    expected = transcription(X, units.random_start(1)[:, 0], batches, beta=4.0, rate=printed_rate, size=10)
    np.testing.assert_allclose(answer.direction, expected, atol=1e-6)
    assert answer.diagnostics["steps"] == 6


def test_one_unit_per_step_is_the_printed_loop():
    """As many steps as units, by position: the paper's loop with clipping; the printed form does the same."""
    units = open_quiet(X)
    w = units.random_start(1)[:, 0]
    singles = [slice(t, t + 1) for t in range(60)]
    expected = transcription(X, w, singles, beta=4.0, rate=printed_rate, size=1)
    np.testing.assert_allclose(DPOjas(clip=4.0, steps=60)(units).direction, expected, atol=1e-5)
    printed = DPOjas(clip=4.0, printed=Printed(epsilon=1.0, delta=1e-2))(open_quiet(X))
    np.testing.assert_allclose(printed.direction, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("relation", "delta", "figure"),
    [
        ("add-remove", 1e-6, 4.225),
        ("add-remove", 1e-2, 1.878),
        ("replace", 1e-6, 8.449),
        ("replace", 1e-2, 3.756),
    ],
)
@pytest.mark.parametrize("steps", [1, 20])
def test_valid_noise_relative_to_the_clip(relation, delta, figure, steps):
    """Compare the noise on every coordinate of every step with the figures of ALGORITHMS.md 2.1."""
    units = open_quiet(X, relation=relation, delta=delta, source=one_sigma, veil=WatchedVeil)
    answer = DPOjas(clip=0.5, steps=steps)(units)
    seen = units.veil.seen[-1]
    assert len(seen.outputs) == steps
    for total, out in zip(seen.steps, seen.outputs, strict=True):
        added = out - np.ldexp(total.astype(float), seen.exponent)
        np.testing.assert_allclose(added / 0.5, figure, rtol=0.01)
    assert answer.diagnostics["noise_over_clip"] == pytest.approx(figure, rel=0.01)
    assert units.veil.ledger.epsilon(delta) <= 1 + 1e-9


@pytest.mark.parametrize("n", [10_000, 100_000, 1_000_000])
def test_printed_noise_is_smaller_than_the_valid_one(n):
    figures = {10_000: (0.460, 0.276), 100_000: (0.160, 0.102), 1_000_000: (0.056, 0.036)}[n]
    for delta, figure in zip((1e-6, 1e-2), figures, strict=True):
        assert Printed(epsilon=1.0, delta=delta).multiplier(n) == pytest.approx(figure, rel=0.03)


def test_printed_form_is_marked_not_private_everywhere():
    units = open_quiet(X, source=None)
    DPOjas(clip=4.0, printed=Printed(epsilon=1.0, delta=1e-2))(units)
    ledger = units.veil.ledger
    assert not ledger.private
    assert "NOT PRIVATE" in repr(ledger)
    assert "printed noise" in str(ledger)
    assert "printed noise" in ledger.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_poisson_noise_is_calibrated(relation):
    oracle = DPOjas(clip=4.0, sampling="poisson", steps=20)
    answer = oracle(open_quiet(X, relation=relation, aside=oracle.aside(1.0, 1e-2), source=SeededBytes(3)))
    sigma = poisson_noise_multiplier(rate=0.05, rounds=20, epsilon=0.9, delta=0.009, relation=relation)
    assert answer.diagnostics["noise_over_clip"] == pytest.approx(sigma, rel=1e-3)


@pytest.fixture
def multiplier(monkeypatch):
    """A multiplier larger than necessary, since finding the smallest takes half a minute."""
    monkeypatch.setattr(dp_ojas, "poisson_noise_multiplier", lambda **_: 3.0)
    return 3.0


def test_poisson_steps(multiplier):
    oracle = DPOjas(clip=4.0, sampling="poisson", steps=20)
    units = open_quiet(X, relation="add-remove", aside=oracle.aside(1.0, 1e-2), source=one_sigma)
    answer = oracle(units)
    sigma = multiplier
    assert answer.diagnostics["noise_over_clip"] == pytest.approx(sigma, rel=1e-3)
    entry = units.veil.ledger.entries[-1]
    assert (entry.releases, entry.draws) == (20, 100)
    assert entry.epsilon <= 0.9
    assert units.veil.ledger.epsilon(1e-2) <= 1 + 1e-9


@pytest.mark.usefixtures("multiplier")
def test_poisson_steps_without_noise_equal_the_pseudo_code():
    oracle = DPOjas(clip=4.0, sampling="poisson", steps=5, learning_rates=[1.0] * 5)
    units = open_quiet(X, aside=(0.9, 0.009))
    answer = oracle(units)
    rounds = units.sampled(1 / 5)
    batches = [np.flatnonzero(~next(rounds).plan.skip(0, 0, 60)) for _ in range(5)]
    assert len({batch.size for batch in batches}) > 1
    expected = transcription(X, units.random_start(1)[:, 0], batches, beta=4.0, rate=lambda _: 1.0, size=12)
    np.testing.assert_allclose(answer.direction, expected, atol=1e-5)


def test_poisson_steps_need_a_part_set_aside():
    with pytest.raises(InvalidInputError, match="set aside"):
        DPOjas(clip=4.0, sampling="poisson", steps=5)(open_quiet(X))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_bought_clip_and_count_learn(relation):
    rows = np.random.default_rng(1).normal(size=(20_000, 5)) * [4, 1, 1, 1, 1]
    units = open_quiet(rows, relation=relation, source=SeededBytes(2))
    answer = DPOjas()(units)
    assert abs(answer.direction[0]) > 0.99
    assert units.veil.ledger.mu == pytest.approx(units.budget.mu)
    assert 1 <= answer.diagnostics["steps"] <= 30
    scaled = DPOjas()(open_quiet(rows * 1e-6, relation=relation, source=SeededBytes(2)))
    assert abs(scaled.direction[0]) > 0.99  # the default rates are in units of the clip


def test_huge_epsilon_is_non_private_oja():
    rows = np.random.default_rng(1).normal(size=(3000, 4)) * [3, 1, 1, 1]
    units = open_quiet(rows, epsilon=1e4, source=SeededBytes(5))
    answer = DPOjas(clip=1e3, steps=30)(units)
    start = open_quiet(rows, epsilon=1e4, source=SeededBytes(5)).random_start(1)[:, 0]
    batches = [slice(100 * t, 100 * t + 100) for t in range(30)]
    for sign in (1, -1):
        expected = transcription(rows, sign * start, batches, beta=math.inf, rate=printed_rate, size=100)
        if abs(expected @ answer.direction) > 0.999:
            break
    else:
        pytest.fail("not the non-private iterate")


@pytest.mark.parametrize(
    "options",
    [
        {"clip": 0.0},
        {"clip": math.inf},
        {"steps": 0},
        {"sampling": "shuffle"},
        {"printed": Printed(epsilon=1.0, delta=0.1)},
    ],
)
def test_invalid_arguments(options):
    with pytest.raises(InvalidInputError):
        DPOjas(**options)


def test_invalid_units_and_no_units():
    rows = np.random.default_rng(1).normal(size=(50, 3))
    rows[:10, 0] = np.nan
    rows[10] = 1e200
    for data in (rows, np.zeros((0, 3))):
        for relation in ("add-remove", "replace"):
            direction = DPOjas(steps=3)(open_quiet(data, relation=relation, source=SeededBytes(1))).direction
            assert np.linalg.norm(direction) == pytest.approx(1)
