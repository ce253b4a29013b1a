import numpy as np
import pytest

from eigenveil.algorithms.tracked.loss import (
    centre_distance,
    clip_of_block,
    clip_of_sigma,
    cost_of_errors,
    cost_of_excess,
    unconverged,
)
from eigenveil.algorithms.tracked.question import Purse, Question
from eigenveil.algorithms.tracked.state import Sigma, State
from eigenveil.algorithms.tracked.tuning import Tuning
from eigenveil.mechanisms.norm_curve import NormCurve

TUNING = Tuning()


def state_of(values, d, *, outside=1e-4, rest=1.0, variance=1e-4):
    M = len(values)
    sigma = Sigma(np.eye(d), variance)
    return State(np.eye(d, M), np.array(values), rest, np.full(M, outside), np.full(M, 2 * outside), sigma)


def test_the_loss_of_an_error_is_its_square_over_the_gap():
    """Compare with the energy that the first component of a perturbed matrix loses."""
    d = 30
    values = np.array([10.0, 6.0] + [1.0] * (d - 2))
    rng = np.random.default_rng(0)
    noise, lost = 0.02, []
    for _ in range(200):
        E = rng.normal(size=(d, d)) * noise
        E = np.triu(E) + np.triu(E, 1).T
        v = np.linalg.eigh(np.diag(values) + E)[1][:, -1]
        lost.append(values[0] - v @ (values * v))
    state = state_of(values[:4], d)
    expected = noise**2 * cost_of_errors(state, 1, 1, TUNING)[0]
    assert np.mean(lost) == pytest.approx(expected, rel=0.1)


def curve_of(norms, noise=0.0):
    edges = 2.0 ** (np.arange(-8, 25) / 4) * np.median(norms)
    beyond = np.array([np.mean(norms > edge) for edge in edges])
    excess = np.array([np.mean(np.maximum(norms - edge, 0)) for edge in edges])
    return NormCurve(edges, beyond, excess, 0.0, np.full(edges.size, noise))


def clip_of(norms, noise, *, excess_weight=0.01, distance=0.0):
    return clip_of_block(
        curve_of(norms),
        noise=noise,
        weight=1.0,
        excess_weight=excess_weight,
        distance=distance,
        entries=100,
        tuning=TUNING,
    )


def test_less_noise_clips_less_and_never_nearly_all_units():
    norms = np.random.default_rng(0).lognormal(size=20_000)
    kept = [clip_of(norms, noise).kept for noise in (1.0, 1e-2, 1e-3, 1e-5)]
    assert kept == sorted(kept)
    assert TUNING.least_kept <= kept[0] < 0.4
    assert kept[-1] > 0.99
    losses = [clip_of(norms, noise).loss for noise in (1.0, 1e-2, 1e-3, 1e-5)]
    assert losses == sorted(losses, reverse=True)


def test_with_a_wrong_centre_the_excess_has_one_direction():
    """All units are at one distance: a radius that is slightly too small would leave a part of it uncorrected."""
    norms = np.linspace(2.0, 4.0, 1000)
    near, far = (clip_of(norms, 0.01, excess_weight=0.0, distance=distance) for distance in (0.0, 9.0))
    assert near.kept < 0.5 < far.kept
    assert near.radius < 3 < far.radius


def test_the_loss_of_an_excess_is_the_energy_that_it_turns():
    """Compare with the lost energy if the clipped part lies along one direction, distributed as the units are."""
    values = np.array([10.0, 6.0, 4.0, 1.0])
    root = np.sqrt(values / values.sum())
    excess = 0.05
    turned = np.diag(values) - excess * np.outer(root, root)
    v = np.linalg.eigh(turned)[1][:, -1]
    lost = values[0] - v @ (values * v)
    state = state_of(values, 4, rest=0.0)
    cost = cost_of_excess(state, 1, np.ones(4), 1.0, TUNING)
    assert cost * excess**2 == pytest.approx(lost, rel=0.05)


def test_an_excess_outside_the_tracked_span_turns_nothing():
    few, many = (state_of([10.0, 6.0, 4.0], d) for d in (3, 1000))
    small, large = (cost_of_excess(one, 2, np.ones(2), 0.2, TUNING) for one in (many, few))
    assert 0 < small < 0.01 * large


def test_sigma_is_clipped_less_where_noise_is_small():
    """And not at all where noise is cheap: a direction with few distant units would lose its place."""
    norms = np.random.default_rng(0).lognormal(sigma=0.5, size=20_000)
    clips = [clip_of_sigma(curve_of(norms), d=50, k=2, noise=noise, tuning=TUNING) for noise in (0.1, 1e-3, 1e-6)]
    kept = [clip.kept for clip in clips]
    assert kept == sorted(kept)
    assert kept[0] < 0.5 < kept[1]
    assert kept[-1] == 1


def test_sigma_is_not_shrunk_because_noise_hides_that_all_units_are_clipped():
    """All units have norm 1, but noise says that a tenth of them are within any smaller radius."""
    seen = curve_of(np.r_[np.ones(899), np.full(101, 1e-3)])
    unsure = curve_of(np.r_[np.ones(899), np.full(101, 1e-3)], noise=0.1)
    sure, careful = (clip_of_sigma(curve, d=50, k=2, noise=1.0, tuning=TUNING) for curve in (seen, unsure))
    assert sure.radius < 0.5
    assert careful.radius >= 1.0


def test_loss_by_incomplete_convergence():
    """It grows with the variances. If no eigenvalue exceeds the rest, only the factor of the noise remains."""
    flat = state_of([10.0, 8.0, 1.0, 1.0], 50)
    slow = state_of([10.0, 8.0, 6.0, 5.0], 50)
    less = state_of([10.0, 8.0, 6.0, 5.0], 50, outside=1e-3)
    assert unconverged(flat, 2, 0.0, TUNING) == 0
    assert 0 < unconverged(slow, 2, 0.0, TUNING) < unconverged(less, 2, 0.0, TUNING)
    all_followed = state_of([10.0, 8.0], 2, rest=0.0)
    assert unconverged(all_followed, 2, 1.0, TUNING) == 0


def test_noise_counts_more_along_wrong_directions():
    """By tan^2 of the angle: the error of the entries over the gap, summed over directions outside."""
    flat = state_of([10.0, 8.0, 1.0, 1.0], 50, outside=1e-2)
    tangents = [46 * 1e-2 / (value - flat.rest) ** 2 for value in (10.0, 8.0)]
    assert unconverged(flat, 2, 0.3, TUNING) == pytest.approx(0.3 * np.mean(tangents))


def test_the_distance_of_the_centre_counts_every_entry():
    state = state_of([10.0, 8.0, 1.0], 20, outside=1e-2)
    assert centre_distance(state, np.ones(2), 1.0) == pytest.approx(2 * 18 * 1e-2 + 4 * 1e-2)
    assert centre_distance(state, np.ones(2), 0.5) == pytest.approx(2 * 18 * 1e-2 + 1e-2)


def test_weights_minimise_noise_times_radius():
    state = state_of([10.0, 3.0, 1.0], 40)
    question = Question.about(state, 2, 2, 0.3, TUNING)
    a = cost_of_errors(state, 2, 2, TUNING)

    def loss(columns):
        return np.sum(a / columns**2) * np.sum(columns**2 * state.eigenvalues[:2])

    best = loss(question.columns)
    for factor in (0.8, 0.95, 1.05, 1.25):
        assert loss(question.columns * [1.0, factor]) > best


def test_a_purse_spends_shares_of_what_is_left():
    purse = Purse(2.0)
    assert purse.spend(0.25) == 1.0
    assert purse.left == 0.75
    assert purse.spend(1.0) == pytest.approx(2 * 0.75**0.5)
    assert purse.left == 0
