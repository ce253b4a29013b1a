import numpy as np
import pytest

from eigenveil.algorithms.oracles.oja import Oja
from eigenveil.algorithms.oracles.steps import rate_at
from eigenveil.errors import InvalidInputError
from eigenveil.operators import samples
from support.open import open_quiet


def transcription(A, w, rates):
    for t, A_t in enumerate(A, start=1):
        w = w + rates(t) * A_t @ w
        w = w / np.linalg.norm(w)
    return w


@pytest.mark.parametrize("form", ["rows", "matrices", "people"])
def test_it_equals_the_pseudo_code(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    if form == "matrices":
        A = rng.normal(size=(40, 5, 5))  # not symmetric
        data = samples.matrices(A)
    elif form == "people":
        data = samples.people(X, np.repeat(np.arange(20), 2))
        A = [(x.T @ x) / 2 for x in X.reshape(20, 2, 5)]
    else:
        data, A = X, X[:, :, None] * X[:, None, :]
    units = open_quiet(data)
    answer = Oja(learning_rates=lambda t: 0.3 / t)(units)
    expected = transcription(A, units.random_start(1)[:, 0], lambda t: 0.3 / t)
    np.testing.assert_allclose(answer.direction, expected, atol=1e-12)
    assert answer.diagnostics == {"steps": len(A)}
    assert "no noise" in units.veil.ledger.reasons[-1]


def test_projected_units_stay_in_the_image():
    X = np.random.default_rng(0).normal(size=(100, 6))
    removed = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 2)))[0]
    answer = Oja()(open_quiet(X).projected(removed))
    assert np.abs(removed.T @ answer.direction).max() < 1e-14


def test_it_finds_the_top_component_and_skips_invalid_units():
    X = np.random.default_rng(0).normal(size=(4000, 5)) * [1, 1, 3, 1, 1]
    X[::7, 0] = np.nan
    X[3, 1] = 1e200
    assert abs(Oja()(open_quiet(X)).direction[2]) > 0.99
    nobody = open_quiet(np.zeros((0, 3)))
    np.testing.assert_array_equal(Oja()(nobody).direction, nobody.random_start(1)[:, 0])


def test_learning_rates():
    assert rate_at([1.0, 2], 2) == 2.0
    with pytest.raises(InvalidInputError, match="3 entries"):
        Oja(learning_rates=[1.0, 1.0, 1.0])(open_quiet(np.eye(4)))
    with pytest.raises(InvalidInputError, match="finite"):
        Oja(learning_rates=lambda _: np.nan)(open_quiet(np.eye(4)))
