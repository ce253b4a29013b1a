"""Inequalities between measures of error, on random subspaces; deflation with deliberately wrong oracles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.metrics import projector_distance, sin_angle, zeta
from eigenveil.theory import (
    allowed_oracle_error,
    black_box_failure,
    black_box_zeta,
    deflated_gap,
    distance_bound_from_zeta,
    eigenvalue_rise,
    eigenvalue_shift,
    zeta_range_from_distance,
    zeta_range_from_sin,
)

ROOM = 1 + 1e-7
D = 7


def random_spectrum(rng):
    """Spectra: steep, flat, with ties or with zeros."""
    values = np.sort(rng.uniform(0, 1, size=D) ** rng.choice([0.2, 1, 5]))[::-1]
    if rng.random() < 0.3:
        values[rng.integers(1, D) :] = 0
    if rng.random() < 0.3:
        values[1:4] = values[1]
    values[0] = max(values[0], 1e-3)
    return values


def basis(k, rng):
    return np.linalg.qr(rng.normal(size=(D, k)))[0].T


def near(U, rng, by):
    return np.linalg.qr((U + by * rng.normal(size=U.shape)).T)[0].T


@given(st.integers(0, 10**9), st.sampled_from([0.0, 0.01, 0.3, 10.0]))
def test_zeta_and_sine(seed, by):
    rng = np.random.default_rng(seed)
    values, Q = random_spectrum(rng), basis(D, rng)
    S = (Q.T * values) @ Q
    u = near(Q[:1], rng, by)
    sine, lost = sin_angle(u[0], Q[0]), zeta(u, S)
    low, high = zeta_range_from_sin(sine, values)
    assert low / ROOM - 1e-7 <= lost <= high * ROOM + 1e-7
    assert lost <= sine * ROOM + 1e-7  # the lemma as stated


@given(st.integers(0, 10**9), st.integers(1, D - 1), st.sampled_from([0.0, 0.01, 0.3, 10.0]))
def test_zeta_and_distance(seed, k, by):
    rng = np.random.default_rng(seed)
    values, Q = random_spectrum(rng), basis(D, rng)
    S = (Q.T * values) @ Q
    U = near(Q[:k], rng, by)
    distance, lost = projector_distance(U, Q[:k]), zeta(U, S)
    low, high = zeta_range_from_distance(distance, values, k)
    assert low / ROOM - 1e-7 <= lost <= high * ROOM + 1e-7
    if values[k - 1] - values[k] > 1e-6:
        assert distance <= distance_bound_from_zeta(lost, values, k) * ROOM + 1e-3 * (by == 0) + 1e-6


def test_the_inequalities_are_tight():
    """Exchanging v_k for v_{k+1} attains the lower bound; exchanging v_1 for v_d attains the upper bound."""
    values = np.array([5.0, 3.0, 2.0, 1.0, 0.5])
    S, angle, k = np.diag(values), 0.3, 2
    turned = math.cos(angle) * np.eye(5)[1] + math.sin(angle) * np.eye(5)[2]
    U = np.stack([np.eye(5)[0], turned])
    distance = projector_distance(U, np.eye(5)[:2])
    assert zeta(U, S) == pytest.approx(zeta_range_from_distance(distance, values, k)[0])
    assert distance_bound_from_zeta(zeta(U, S), values, k) == pytest.approx(distance)
    far = np.stack([math.cos(angle) * np.eye(5)[0] + math.sin(angle) * np.eye(5)[4], np.eye(5)[1]])
    distance = projector_distance(far, np.eye(5)[:2])
    assert zeta(far, S) == pytest.approx(zeta_range_from_distance(distance, values, k)[1])
    one = np.array([math.cos(angle), math.sin(angle), 0, 0, 0])
    assert zeta(one[None], S) == pytest.approx(zeta_range_from_sin(math.sin(angle), values)[0])


def test_a_step_of_the_papers_proof_fails_in_the_plane():
    """Tr(V V^T (V V^T - U U^T)(S - l_2 I)) = gap sine^2, below the bound gap sine in the proof."""
    angle, S = 0.3, np.diag([3.0, 1.0])
    u, v = np.array([math.cos(angle), math.sin(angle)]), np.array([1.0, 0.0])
    V = np.outer(v, v)
    left = np.trace(V @ (V - np.outer(u, u)) @ (S - np.eye(2)))
    assert left == pytest.approx(2 * math.sin(angle) ** 2)
    assert left < 2 * math.sin(angle)


@given(st.integers(0, 10**9), st.integers(1, D), st.sampled_from([0.0, 0.1, 1.0]))
def test_deflation_with_erring_oracles(seed, k, by):
    """meta-theorem: for any vectors of the oracles, the result satisfies the bound from their zetas."""
    rng = np.random.default_rng(seed)
    values, Q = random_spectrum(rng), basis(D, rng)
    S = (Q.T * values) @ Q
    P, found, zetas = np.eye(D), [], []
    for _ in range(k):
        projected = P @ S @ P
        top = np.linalg.eigh(projected)
        # lemma-3-in-jamb: the projected matrix keeps the next eigenvalue at least
        assert top.eigenvalues[-1] >= values[len(found)] - 1e-9
        u = P @ (top.eigenvectors[:, -1] + by * rng.normal(size=D))
        u /= np.linalg.norm(u)
        u -= np.array(found).T @ (np.array(found) @ u) if found else 0
        u /= np.linalg.norm(u)
        energy = float(u @ projected @ u) / top.eigenvalues[-1] if top.eigenvalues[-1] > 1e-12 else 1.0
        zetas.append(math.sqrt(min(1.0, max(0.0, 1 - energy))))
        found.append(u)
        P = np.eye(D) - np.array(found).T @ np.array(found)
    whole = zeta(np.array(found), S)
    sharper = black_box_zeta(zetas, eigenvalues=values[:k])
    assert whole <= sharper * ROOM + 1e-6
    assert sharper <= black_box_zeta(zetas) * ROOM


@given(st.integers(0, 10**9), st.floats(0, 1.5))
def test_eigenvalues_after_projecting_out(seed, angle):
    rng = np.random.default_rng(seed)
    values, Q = random_spectrum(rng), basis(D, rng)
    S = (Q.T * values) @ Q
    aside = basis(1, rng)[0]
    aside -= (aside @ Q[0]) * Q[0]
    u = math.cos(angle) * Q[0] + math.sin(angle) * aside / np.linalg.norm(aside)
    P = np.eye(D) - np.outer(u, u)
    left = np.linalg.eigvalsh(P @ S @ P)[::-1][: D - 1]
    sine = sin_angle(u, Q[0])
    moved = left - values[1:]
    assert np.abs(moved).max() <= eigenvalue_shift(values[0], sine) + 1e-9
    assert moved.min() >= -1e-9  # interlacing
    assert moved.sum() == pytest.approx(values[0] - u @ S @ u, abs=1e-9)
    assert moved.sum() <= eigenvalue_rise(values, sine) + 1e-9
    assert eigenvalue_rise(values, sine) <= eigenvalue_shift(values[0], sine)
    assert left[0] - left[1] >= deflated_gap(values, sine) - 1e-9


def test_the_lemmas_about_projecting_out_as_printed():
    assert eigenvalue_shift(3.0, 0.1) == pytest.approx(8 * 3 * 0.1 * 1.1)
    assert deflated_gap([3.0, 2.0, 0.5], 0.1) == pytest.approx(1.5 - 2 * 8 * 3 * 0.1 * 1.1)
    assert eigenvalue_rise([3.0, 2.0, 0.5], 0.1) == pytest.approx(2.5 * 0.01)


def test_the_rise_is_attained():
    """By rotating v_1 towards v_d."""
    u = np.array([math.cos(0.2), 0.0, math.sin(0.2)])
    P = np.eye(3) - np.outer(u, u)
    left = np.linalg.eigvalsh(P @ np.diag([3.0, 2.0, 0.5]) @ P)
    assert left.sum() - 2.5 == pytest.approx(eigenvalue_rise([3.0, 2.0, 0.5], math.sin(0.2)))


@given(st.integers(0, 10**9), st.integers(1, D - 1))
def test_allowed_errors_keep_half_of_every_gap(seed, k):
    """lemma-upper-bound-xi-i with the sharp bound: k oracles with an error of 2 kappa B each."""
    rng = np.random.default_rng(seed)
    values, Q = np.sort(rng.uniform(0, 1, size=D))[::-1], basis(D, rng)
    S, gap = (Q.T * values) @ Q, -np.diff(values[: k + 1]).max()
    sine = min(1.0, 2 * values[0] / gap * allowed_oracle_error(values[0] / gap, k, sharp=True))
    P = np.eye(D)
    for _ in range(k):
        eigen = np.linalg.eigh(P @ S @ P)
        assert eigen.eigenvalues[-1] - eigen.eigenvalues[-2] >= gap / 2 - 1e-9
        top = eigen.eigenvectors[:, -1]
        aside = P @ rng.normal(size=D)
        aside -= (aside @ top) * top
        if np.linalg.norm(aside) < 1e-6:
            break
        u = math.sqrt(1 - sine**2) * top + sine * aside / np.linalg.norm(aside)
        P = P - np.outer(u, u)


def test_union_bound_and_edges():
    assert black_box_failure(0.01, 5) == pytest.approx(0.05)
    assert black_box_failure(0.3, 5) == 1.0
    assert distance_bound_from_zeta(0.1, [2.0, 1.0, 1.0], 2) == math.sqrt(2)
    assert distance_bound_from_zeta(1.0, [2.0, 1.99, 1.0], 1) == math.sqrt(2)
    assert zeta_range_from_distance(math.sqrt(2), [1.0, 0.0], 1) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zeta_range_from_sin(1.1, [2.0, 1.0]), "sine"),
        (lambda: zeta_range_from_sin(0.1, [2.0]), "at least 2"),
        (lambda: zeta_range_from_distance(-1.0, [2.0, 1.0], 1), "distance"),
        (lambda: zeta_range_from_distance(1.0, [2.0, 1.0], 2), "below the number"),
        (lambda: distance_bound_from_zeta(math.nan, [2.0, 1.0], 1), "zeta"),
        (lambda: black_box_zeta([]), "oracle_zetas"),
        (lambda: black_box_zeta([1.5]), "oracle_zetas"),
        (lambda: black_box_zeta([0.5], eigenvalues=[2.0, 1.0]), "one eigenvalue per"),
        (lambda: black_box_failure(0.0, 3), "failure"),
        (lambda: eigenvalue_shift(0.0, 0.1), "lambda_1"),
        (lambda: deflated_gap([2.0, 1.0], 0.1), "at least 3"),
    ],
)
def test_invalid_arguments_raise(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
