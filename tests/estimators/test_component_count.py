"""How many components hold a share: what is known of k of them, and what that leaves open for the others."""

import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.algorithms.uncertainty import VarianceErrors
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.component_count import components_for


def errors(explained, rest, error=0.0):
    each = np.full(len(explained), error)
    return VarianceErrors(
        explained=np.array(explained, dtype=float), errors=each, rest=rest, rest_error=error, freedom=1.0
    )


def ask(share, explained=(5, 3, 1), rest=1.0, error=0.0, d=6):
    found = components_for(errors(explained, rest, error), share, d=d, level=0.95)
    return found.n, found.low, found.high


def test_known_variances_give_one_number():
    assert [ask(share) for share in (0.1, 0.5, 0.6, 0.8, 0.9)] == [(n, n, n) for n in (1, 1, 2, 2, 3)]


def test_beyond_what_was_released_only_bounds_are_known():
    """.95 needs .05 more: at most .1 per component, so one; and of three that hold .1 together, two at most."""
    assert ask(0.95) == (None, 4, 5)
    assert ask(1.0) == (None, 4, 6)
    assert ask(0.95, d=100) == (None, 4, 3 + math.ceil(97 / 2))
    assert ask(1.0, rest=0.0, d=3) == (3, 3, 3)
    assert ask(0.5, explained=(0, 0), rest=0.0) == (None, 1, 4), "no variance: four that are alike hold half of it"


@pytest.mark.parametrize("tail", [(1.0, 0, 0), (0.4, 0.3, 0.3), (1 / 3,) * 3])
@pytest.mark.parametrize("share", [0.91, 0.95, 0.99, 1.0])
def test_the_bounds_hold_for_any_rest(tail, share):
    spectrum = np.cumsum([5, 3, 1, *tail]) / 10
    true = int(np.argmax(spectrum >= share - 1e-12)) + 1
    _, low, high = ask(share)
    assert low <= true <= high


def test_errors_widen_the_answer():
    assert ask(0.79, error=0.5) == (2, 2, 3)
    assert ask(0.89, error=0.5) == (3, 2, 5)
    narrow, wide = (components_for(errors((5, 3, 1), 1.0, 0.3), 0.89, d=6, level=level) for level in (0.5, 0.999))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert (wide.low, wide.high) != (narrow.low, narrow.high)


def test_intervals_hold_the_number():
    """Over seeds, the population's number lies within low and high; some of 60 may miss it, at 95 % each."""
    variances = np.array([9.0, 5.0, 3.0, 1.0, 1.0, 1.0])
    true = int(np.argmax(np.cumsum(variances) / variances.sum() >= 0.8)) + 1
    X = np.random.default_rng(0).normal(size=(4000, 6)) * np.sqrt(variances)
    found = [DPPCA(4, epsilon=4.0, random_state=seed).fit(X).components_for(0.8) for seed in range(60)]
    assert true == 3
    assert sum(one.low <= true <= one.high for one in found) >= 50


def test_it_says_so_in_words_and_is_frozen():
    X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
    pca = DPPCA(3, random_state=0).fit(X)
    held = pca.components_for(0.8)
    assert str(held).startswith("2 components hold 80 % of the variance (2")
    assert str(pca.components_for(0.5)).startswith("1 component holds 50 %")
    assert held.reached == pytest.approx([25 / 38, 34 / 38, 35 / 38], abs=0.05)
    more = pca.components_for(0.99, level=0.9)
    assert more.n is None
    assert str(more).startswith("the 3 released components hold about 9")
    assert "(at 90 %)" in str(more)
    with pytest.raises(AttributeError):
        held.n = 3
    assert pca.ledger_.mu == pytest.approx(pca.ledger_.budget.mu), "nothing more was charged"


def test_a_saved_model_answers_the_same(tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
    ids = np.arange(20_000) // 4
    pca = DPPCA(3, random_state=0).fit(X, units=ids)
    ev.save(pca, tmp_path / "model")
    again = ev.load(tmp_path / "model")
    assert again.components_for(0.8) == pca.components_for(0.8)
    assert again.release_.diagnostics == pca.release_.diagnostics
    assert again.release_.diagnostics.left_out.noise == pca.release_.diagnostics.left_out.noise


def test_refusals():
    with pytest.raises(NotFittedError):
        DPPCA().components_for(0.9)
    X = np.random.default_rng(0).normal(size=(5000, 4))
    with pytest.raises(AttributeError, match="no components_for"):
        DPPCA(2, algorithm="dp-gauss-1", random_state=0).fit(X).components_for(0.9)
    for share in (0, 1.1, -0.5, True, "0.9", None, math.nan):
        with pytest.raises(InvalidInputError, match="above 0 and at most 1"):
            components_for(errors((1,), 1.0), share, d=2, level=0.95)
    with pytest.raises(InvalidInputError, match="level"):
        components_for(errors((1,), 1.0), 0.5, d=2, level=95)
