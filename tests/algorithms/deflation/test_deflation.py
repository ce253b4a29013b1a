from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from eigenveil.algorithms.deflation.black_box_pca import black_box_pca
from eigenveil.algorithms.deflation.deflate import deflate
from eigenveil.algorithms.oracles.dp_ojas import DPOjas
from eigenveil.algorithms.oracles.literal_dp_pca import LiteralDPPCA
from eigenveil.algorithms.oracles.oja import Oja
from eigenveil.algorithms.oracles.steps import OracleAnswer
from eigenveil.algorithms.oracles.tracked_dp_pca import TrackedDPPCA
from eigenveil.errors import InvalidInputError, NotDisjointError
from eigenveil.mechanisms import SeededBytes, noisy_count
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from support.open import open_quiet


def psd(d, seed, decay=0.6):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (Q * decay ** np.arange(d)) @ Q.T


def exact(units):
    total = sum(block.sum(axis=0) for block in units.block(np.eye(units.d)).tensors())
    return np.linalg.eigh((total + total.T) / 2)[1][:, -1]


@pytest.mark.parametrize("k", [1, 3, 7])
def test_an_exact_oracle_gives_eigh(k):
    Sigma = psd(7, k)
    release = black_box_pca(samples.matrices(np.repeat(Sigma[None], 4 * k, axis=0)), k, exact, relation="replace")
    vectors = np.linalg.eigh(Sigma)[1][:, ::-1][:, :k].T
    np.testing.assert_allclose(np.abs(np.sum(release.components * vectors, axis=1)), 1, atol=1e-10)
    largest = np.abs(release.components).max(axis=1)
    np.testing.assert_array_equal(release.components.max(axis=1), largest)  # signs as in every release


@pytest.mark.parametrize("seed", range(8))
def test_meta_theorem_with_an_imperfect_oracle(seed):
    """(1 - zeta^2) at every call of P Sigma P gives (1 - zeta^2) of the best k directions of Sigma."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(3, 12)), 3
    Sigma = psd(d, seed, decay=rng.uniform(0.2, 0.95))
    zetas = []

    def imperfect(units):
        removed = np.zeros((d, 0)) if units.removed is None else units.removed
        P = np.eye(d) - removed @ removed.T
        values, vectors = np.linalg.eigh(P @ Sigma @ P)
        u = P @ (vectors[:, -1] + rng.uniform(0, 0.8) * rng.normal(size=d) / np.sqrt(d))
        u /= np.linalg.norm(u)
        zetas.append(1 - u @ Sigma @ u / values[-1])
        return 5 * u

    release = black_box_pca(np.zeros((1, d)), k, imperfect)
    captured = np.trace(release.components @ Sigma @ release.components.T)
    best = np.linalg.eigvalsh(Sigma)[-k:].sum()
    assert captured >= (1 - max(zetas)) * best - 1e-12


def every_oracle():
    literal = LiteralDPPCA(batch_size=20)
    return [
        Oja(),
        DPOjas(),
        DPOjas(clip=1.0, steps=3),
        TrackedDPPCA(),
        TrackedDPPCA(learning_rates=[1e9] * 9),
        literal,
    ]


@pytest.mark.parametrize("oracle", every_oracle(), ids=lambda oracle: type(oracle).__name__)
@pytest.mark.parametrize("form", ["rows", "sparse rows", "people", "factors", "matrices"])
def test_components_are_orthonormal_and_each_lies_in_the_remaining_space(oracle, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [4, 3, 2, 1, 1e-3]
    data = {
        "rows": X,
        "sparse rows": sparse.csr_array(X),
        "people": samples.people(X, np.arange(300) % 90),
        "factors": samples.factors(np.array_split(X, 90)),
        "matrices": samples.matrices(rng.normal(size=(90, 5, 5))),
    }[form]
    if form == "people" and isinstance(oracle, LiteralDPPCA):
        pytest.skip("literal forms need units in fixed places")
    aside = oracle.aside(1.0, 4e-2) if hasattr(oracle, "aside") else (0.0, 0.0)
    units = open_quiet(data, delta=4e-2, aside=aside, source=SeededBytes(1))
    seen = []

    def watched(view):
        answer = oracle(view)
        seen.append((view.removed, answer.direction))
        return answer

    U, _ = deflate(units, 5, watched)
    np.testing.assert_allclose(U @ U.T, np.eye(5), atol=1e-10)
    for removed, u in seen[1:]:
        assert np.abs(removed.T @ u).max() < 1e-10


def test_any_vector_is_projected_to_the_image_and_normalised():
    first = np.array([3.0, 4.0, 0.0, 0.0])
    answers = iter([first, first * 1e-200 + [0, 0, 1e-200, 0], first, 1e200 * np.array([[1.0], [1], [1], [1]])])
    release = black_box_pca(np.zeros((4, 4)), 4, lambda _: next(answers))
    np.testing.assert_allclose(release.components[0], [0.6, 0.8, 0, 0])
    np.testing.assert_allclose(release.components[1], [0, 0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(release.components @ release.components.T, np.eye(4), atol=1e-10)
    assert release.diagnostics["random_direction"] == (False, False, True, False)


@pytest.mark.parametrize("answer", [np.ones(3), np.full(4, np.nan), np.array([np.inf, 0, 0, 0]), 1.0])
def test_a_wrong_result_of_an_oracle_is_refused(answer):
    with pytest.raises(InvalidInputError, match="4 finite numbers"):
        black_box_pca(np.zeros((5, 4)), 1, lambda _: answer)


def test_without_epsilon_it_is_marked_not_private():
    release = black_box_pca(np.eye(3), 1, exact)
    assert not release.private
    for text in (repr(release), repr(release.ledger), release.ledger.to_json()):
        assert "without epsilon and delta" in text
    with pytest.raises(InvalidInputError, match="both"):
        black_box_pca(np.eye(3), 1, exact, epsilon=1.0)


def test_with_epsilon_parts_are_disjoint_and_the_author_guarantees_the_rest():
    counts = []

    def counting(units):
        counts.append(noisy_count(units.block(np.eye(3)), mu=units.budget.mu, veil=units.veil).value)
        return OracleAnswer(np.ones(3), {"n_hat": counts[-1]})

    release = black_box_pca(np.ones((4000, 3)), 3, counting, epsilon=1.0, delta=1e-6)
    assert release.private
    assert abs(sum(counts) - 4000) < 60
    assert release.diagnostics["n_hat"] == tuple(counts)
    assert release.ledger.epsilon(1e-6) == pytest.approx(1.0, rel=1e-6)  # three calls cost as much as one
    assert "guarantees" in release.ledger.to_json()


def test_shared_ledger_and_one_oracle_per_component():
    ledger = Ledger(Budget.from_epsilon_delta(3.0, 1e-6))
    seen = []
    oracles = [lambda u, i=i: seen.append(i) or np.eye(u.d)[i] for i in range(2)]
    release = black_box_pca(np.ones((10, 3)), 2, oracles, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert release.ledger is ledger
    assert seen == [0, 1]
    with pytest.raises(InvalidInputError, match="one oracle, or 3"):
        black_box_pca(np.ones((10, 3)), 3, oracles)


def test_parts_by_position_under_one_charge_are_refused_for_add_remove():
    units = open_quiet(np.ones((10, 3)), relation="add-remove")
    placed = open_quiet(np.ones((10, 3)))
    assert len(placed.batches(5)) == len(units.batches(5)) == 5
    with pytest.raises(NotDisjointError):
        replace(units, plan=placed.plan).batches(5)
