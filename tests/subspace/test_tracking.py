import numpy as np
import pytest

from eigenveil.mechanisms import Veil, no_noise
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from eigenveil.subspace.tracking import (
    Answer,
    State,
    Weights,
    ask,
    best_weights,
    learn,
    nothing_known,
    plain_weights,
)
from eigenveil.units import Units
from support.blocks import blocks_of


def quiet_units(operator, *, relation="add-remove"):
    """Units whose noise is exactly 0."""
    budget = Budget.from_mu(1.0)
    return Units(operator, Veil(Ledger(budget, relation=relation), source=no_noise), budget)


def basis(d, m, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, m)))[0]


def told(W, eigenvalues, centre, variance):
    spread = np.full(len(eigenvalues), variance)
    return State(W, eigenvalues, centre, spread, spread)


def known(d, eigenvalues, *, variance=1e-6):
    W = basis(d, len(eigenvalues))
    eigenvalues = np.array(eigenvalues)
    return told(W, eigenvalues, W * eigenvalues, variance)


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return rng.normal(size=(400, 12)) * np.linspace(3, 0.5, 12)


FORMS = {
    "rows": samples.rows,
    "people": lambda X: samples.people(X, np.arange(len(X)) // 4),
    "matrices": lambda X: samples.matrices(X[:, :, None] * X[:, None, :]),
    "spiked": lambda X: samples.spiked(basis(12, 2, 5), [4.0, 2.0], X),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inside", [1.0, 0.3])
def test_an_answer_without_noise_or_clipping_is_sigma_w(rows, form, inside):
    """Damping, weights and centre are all undone: G = mean of A_i W, whatever they were."""
    operator = FORMS[form](rows)
    state = told(basis(12, 4), np.ones(4), np.random.default_rng(1).normal(size=(12, 4)), np.inf)
    weights = Weights(np.array([1.0, 0.7, 0.5, 0.2]), inside)
    products = np.concatenate([operator.products(block, state.W) for block in blocks_of(operator)])
    units = quiet_units(operator)
    answer = ask(units, state, weights, n_hat=float(len(products)), mu=0.5, quantile=1.0, what="round")
    np.testing.assert_allclose(answer.G, products.mean(axis=0), rtol=1e-4, atol=2e-4)


def test_the_median_clips_and_the_share_is_spent(rows):
    units = quiet_units(samples.rows(rows))
    state = nothing_known(basis(12, 3))
    half = ask(units, state, plain_weights(3), n_hat=400.0, mu=0.5, quantile=0.5, what="round")
    assert units.veil.ledger.mu == pytest.approx(0.5)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(rows @ state.W, axis=1)
    assert np.median(norms) <= half.radius <= np.median(norms) * 2**0.25
    assert half.noise == pytest.approx(half.radius / (0.5 * np.sqrt(0.94)) / 400)


def test_of_two_offers_the_quieter_is_taken(rows):
    """Rows lie mostly inside the span, so damping it shrinks the radius; in the spiked model it does not."""
    S = rows.T @ rows / len(rows)
    values, vectors = np.linalg.eigh(S)
    W = vectors[:, ::-1][:, :4]
    state = told(W, values[::-1][:4], W * values[::-1][:4], 1e-6)
    offer = Weights(np.ones(4), 0.3, cost_inside=0.1, cost_outside=8.0)
    damped = ask(quiet_units(samples.rows(rows)), state, offer, n_hat=400.0, mu=0.5, quantile=0.5, what="r")
    assert damped.weights.inside == 0.3
    centred = FORMS["spiked"](0.01 * np.random.default_rng(0).normal(size=(400, 12)))
    V = basis(12, 2, 5)
    W = np.linalg.qr(np.concatenate([V, basis(12, 2, 8)], axis=1))[0]
    exact = (V * [4.0, 2.0]) @ (V.T @ W) + 1e-4 * W
    state = told(W, np.array([4.0, 2.0, 1e-4, 1e-4]), exact, 1e-9)
    costly = Weights(np.ones(4), 0.3, cost_inside=5.0, cost_outside=8.0)
    plain = ask(quiet_units(centred), state, costly, n_hat=400.0, mu=0.5, quantile=0.5, what="r")
    assert plain.weights.inside == 1.0


@pytest.mark.ledger_beyond_recomputation
def test_rounds_without_noise_converge_to_eigenvectors(rows):
    operator = samples.rows(rows)
    S = rows.T @ rows / len(rows)
    vectors = np.linalg.eigh(S)[1][:, ::-1]
    budget = Budget.from_mu(1e9)
    units = Units(operator, Veil(Ledger(budget), source=no_noise), budget)
    state = nothing_known(basis(12, 5))
    for _ in range(60):
        answer = ask(units, state, plain_weights(5), n_hat=400.0, mu=1e6, quantile=1.0, what="round")
        state = learn(state, answer, k=2, trust=False)
    overlap = np.linalg.svd(vectors[:, :2].T @ state.W[:, :2])[1]
    assert overlap.min() > 1 - 1e-6
    np.testing.assert_allclose(state.eigenvalues[:2], np.linalg.eigvalsh(S)[::-1][:2], rtol=1e-3)
    np.testing.assert_allclose(state.centre[:, :2], S @ state.W[:, :2], atol=1e-2)


def test_what_was_known_counts_by_its_precision():
    """An answer full of noise leaves what was known; a precise one replaces it."""
    state = known(10, [5.0, 3.0, 1.0], variance=1e-4)
    other = basis(10, 3, 9)

    def after(noise):
        answer = Answer(other, plain_weights(3), noise, radius=1.0, offset=0.0)
        return learn(state, answer, k=1, trust=True)

    stays = after(1e3)
    np.testing.assert_allclose(np.abs(np.diag(stays.W.T @ state.W)), 1, atol=1e-4)
    np.testing.assert_allclose(stays.eigenvalues, state.eigenvalues, rtol=1e-4)
    moves = after(1e-6)
    assert np.linalg.norm(moves.W @ moves.W.T - state.W @ state.W.T) > 0.1


def test_weights_of_good_and_poor_knowledge():
    good = best_weights(known(200, [10.0, 8.0, 1.0, 1.0]), 2)
    assert good.columns[:2].max() == 1.0
    assert good.columns[2:].max() < good.columns[:2].min()
    assert good.inside < 1
    poor = best_weights(known(200, [10.0, 8.0, 1.0, 1.0], variance=10.0), 2)
    assert poor.inside == 1.0
    np.testing.assert_array_equal(poor.columns, 1.0)
    unknown = best_weights(known(200, [10.0, 8.0, 1.0], variance=np.inf), 2)
    np.testing.assert_array_equal(unknown.columns, 1.0)
    whole = best_weights(known(3, [10.0, 8.0, 1.0]), 2)  # m = d: nothing lies outside
    assert whole.inside == 1.0
    wide = best_weights(known(6000, [10.0, 8.0, 1.0]), 2)  # damping would make sparse rows dense
    assert wide.inside == 1.0
