import numpy as np
import pytest

from eigenveil.algorithms.tracked import leading as leading_module
from eigenveil.algorithms.tracked.state import Answer, Sigma, State


def orthonormal(d, m, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, m)))[0]


def symmetric(d, seed=0):
    Q = orthonormal(d, d, seed)
    return (Q * 10 / np.arange(1.0, d + 1)) @ Q.T


def test_the_state_of_a_matrix_without_noise_is_its_spectrum():
    S = symmetric(9)
    state = State.of_sigma(Sigma(S, 0.0), 4)
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(state.eigenvalues, values[::-1][:4])
    np.testing.assert_allclose(np.abs(state.V.T @ vectors[:, ::-1][:, :4]), np.eye(4), atol=1e-9)
    assert state.rest == pytest.approx(values[:5].mean())


def test_noise_spreads_eigenvalues_and_the_state_corrects_it():
    rng = np.random.default_rng(1)
    S = np.diag([10.0, 8.0] + [1.0] * 198)
    E = rng.normal(size=(200, 200)) * 0.1
    noisy = S + (E + E.T) / np.sqrt(2)
    sigma = Sigma(noisy, 0.01)
    raw = np.linalg.eigvalsh(noisy)[::-1]
    state = State.of_sigma(sigma, 12)
    assert abs(state.eigenvalues[1] - 8) < abs(raw[1] - 8) + 0.2
    assert state.eigenvalues[2] == pytest.approx(1.0, abs=0.5) != pytest.approx(raw[2], abs=0.5)
    outside = sigma.outside(np.eye(200)[:, :2])
    np.testing.assert_allclose(outside[:2], 0, atol=1e-9)
    assert np.linalg.norm(outside - np.diag([0.0, 0.0] + [1.0] * 198), 2) < 0.5 * sigma.edge


@pytest.mark.parametrize("m", [2, 5])
def test_an_exact_answer_corrects_wrong_directions_for_any_spectrum(m):
    """Eigenvectors of the combined matrix remove an error of W at once; a power step would leave most of it."""
    S = symmetric(30)
    truth = np.linalg.eigh(S)[1][:, ::-1][:, :2]
    off = symmetric(30) + 0.1 * symmetric(30, seed=5)
    state = State.of_sigma(Sigma(off, 1e-4), 5)
    W = state.V[:, :m]
    sigma = Sigma(S, 0.0)  # the part outside is known
    state = State(state.V, state.eigenvalues, state.rest, state.outside, state.inside, sigma)
    after = state.learned(Answer(S @ W, np.full(m, 1e-20), 1.0))

    def lost(V):
        return 2 - np.linalg.norm(V[:, :2].T @ truth) ** 2

    assert lost(after.V) < 1e-9 < lost(state.V)
    np.testing.assert_allclose(after.eigenvalues, np.linalg.eigvalsh(S)[::-1][:5], rtol=1e-6)


def test_answers_are_averaged_with_earlier_estimates_by_precision():
    """A very noisy answer changes nothing. One as precise as the estimate goes halfway, at half the variance."""
    S = symmetric(12)
    state = State.of_sigma(Sigma(S, 1e-6), 4)
    W = state.V[:, :2]
    wrong = S @ W + 0.5 * orthonormal(12, 2, seed=3)
    same = state.learned(Answer(wrong, np.full(2, 1e12), 1.0))
    np.testing.assert_allclose(np.abs(same.V[:, :2].T @ W), np.eye(2), atol=1e-3)
    even = state.learned(Answer(S @ W, np.full(2, 1e-6), 1.0))
    np.testing.assert_allclose(even.outside[:2], 0.5e-6, rtol=0.02)


def test_without_sigma_rounds_converge_from_a_random_start():
    S = symmetric(40)
    truth = np.linalg.eigh(S)[1][:, ::-1][:, :2]
    state = State.unknown(orthonormal(40, 6))
    for _ in range(12):
        state = state.forgotten().learned(Answer(S @ state.V, np.full(6, 1e-12), 1.0))
    assert 2 - np.linalg.norm(state.V[:, :2].T @ truth) ** 2 < 1e-6
    assert np.all(np.isfinite(state.outside))
    narrow = state.learned(Answer(S @ state.V[:, :2], np.full(2, 1e-12), 0.3))
    assert narrow.V.shape == (40, 6)
    np.testing.assert_allclose(narrow.V.T @ narrow.V, np.eye(6), atol=1e-10)


def test_a_multiple_of_the_identity_outside_gives_a_shifted_power_step():
    S = np.diag([10.0, 5.0] + [1.0] * 18)
    V = orthonormal(20, 2)
    state = State.unknown(V)
    after = state.learned(Answer(S @ V, np.full(2, 1e-12), 1.0))
    span = np.linalg.qr(np.concatenate([V, S @ V], axis=1))[0]
    np.testing.assert_allclose(span @ (span.T @ after.V), after.V, atol=1e-9)


def test_a_question_about_the_components_leaves_the_outside_unchanged():
    """Regression: the outside was assumed to be half of the smallest *requested* eigenvalue, a step too large."""
    S = np.diag([10.0, 8.0] + [1.0] * 28)
    V = np.linalg.qr(np.eye(30)[:, :5] + 0.05 * np.random.default_rng(0).normal(size=(30, 5)))[0]
    state = State.unknown(V).learned(Answer(S @ V, np.full(5, 1e-12), 1.0))
    assert state.rest == pytest.approx(0.4, rel=0.05)
    after = state.learned(Answer(S @ state.V[:, :2], np.full(2, 1e-20), 0.3))
    assert after.rest == state.rest
    lost = [2 - np.linalg.norm(one.V[:2, :2]) ** 2 for one in (state, after)]
    assert lost[1] < 0.05 * lost[0]


@pytest.mark.parametrize("d", [5, 6])
def test_without_sigma_all_columns_may_be_tracked(d):
    """Then no direction, or fewer than m, lies outside. (The last tracked direction need not converge.)"""
    S = symmetric(d)
    state = State.unknown(orthonormal(d, 5, seed=3)).learned(
        Answer(S @ orthonormal(d, 5, seed=3), np.full(5, 1e-12), 1.0)
    )
    for _ in range(30):
        state = state.forgotten().learned(Answer(S @ state.V, np.full(5, 1e-12), 1.0))
    np.testing.assert_allclose(state.V.T @ state.V, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(state.eigenvalues[:4], np.linalg.eigvalsh(S)[::-1][:4], rtol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_without_spare_directions_it_converges_and_ties_stay_finite(scale):
    """Regression: the outside had exactly the smallest eigenvalue, and half of the last direction came from it."""
    S = scale * np.diag([9.0, 4.0, 1.0, 1.0, 1.0])
    state = State.unknown(orthonormal(5, 2, seed=1))
    for number in range(40):
        known = state.forgotten() if number < 30 else state
        state = known.learned(Answer(S @ state.V, np.full(2, 1e-9), 1.0))
        assert np.all(np.isfinite([*state.eigenvalues, *state.outside, *state.inside, state.rest]))
        assert min(state.outside.min(), state.inside.min()) > 0
    if scale:
        assert 2 - np.linalg.norm(state.V[:2]) ** 2 < 1e-6


def test_equal_eigenvalues_never_fail(monkeypatch):
    """LAPACK's routine for a part of the spectrum may fail; then the whole spectrum is computed."""
    state = State.of_sigma(Sigma(symmetric(9), 1e-4), 4)
    answer = Answer(symmetric(9) @ state.V[:, :2], np.full(2, 1e-6), 1.0)
    usual = state.learned(answer)

    def fails(*_args, **_options):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr("eigenveil.algorithms.tracked.leading.linalg.eigh", fails)
    np.testing.assert_allclose(np.abs(state.learned(answer).V), np.abs(usual.V), atol=1e-9)


def test_leading_eigenvectors_where_lapack_returns_too_few(monkeypatch):
    """It does so, silently, for a part of a cluster of equal eigenvalues."""
    matrix = np.diag([5.0, 3.0, 1.0, 1.0, 1.0])
    whole = leading_module.leading(matrix, 3)
    monkeypatch.setattr(leading_module.linalg, "eigh", lambda *_, **__: (np.ones(1), np.ones((5, 1))))
    values, vectors = leading_module.leading(matrix, 3)
    np.testing.assert_allclose(values, [5.0, 3.0, 1.0])
    np.testing.assert_allclose(values, whole[0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


def test_eigenvalues_that_clipping_shrank_are_replaced_by_an_unclipped_answer():
    """Otherwise the clip of an earlier answer would close the gap to the unclipped part of Sigma outside."""
    S = np.diag([10.0, 6.0, 5.8, 1.0, 1.0, 1.0])
    state = State.of_sigma(Sigma(S, 1e-8), 3)
    product, small = S @ state.V[:, :3], np.full(3, 1e-10)
    for shrunk, kept in ((0.0, False), (0.2, True)):
        wide = state.learned(Answer(0.8 * product, small, 1.0, shrunk))
        last = wide.learned(Answer(S @ wide.V[:, :2], np.full(2, 1e-8), 0.2))
        assert (abs(last.eigenvalues[1] - 6.0) < 0.05) == kept
