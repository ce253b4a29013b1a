"""A request is checked before anything is read, drawn or forgotten, and fits only the estimator it was made of."""

import functools

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.algorithms.release_warnings import Code
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.request import FitRequest

X = np.random.default_rng(0).normal(size=(2000, 5)) * [5, 3, 1, 1, 1]
WRONG = {
    "scale": {"scale": np.ones(3)},
    "bounds": {"bounds": (3.0, 1.0)},
    "mean": {"center": np.zeros(2)},
    "k": {"n_components": 6},
    "option": {"options": {"n": 0}},
    "printed noise": {"algorithm": "dp-gauss-1", "epsilon": 2.0, "options": {"noise": "printed"}},
    "an engine that is none": {"engine": np.add},
    "another one": {"engine": functools},
}


def ledger():
    return ev.Ledger(ev.Budget.from_epsilon_delta(9.0, 1e-4))


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_costs_nothing_and_forgets_nothing(wrong):
    own = ledger()
    pca = DPPCA(2, epsilon=2.0, delta=1e-5, ledger=own).fit(X)
    spent, components = own.mu, pca.components_
    pca.set_params(**WRONG[wrong])
    with pytest.raises(InvalidInputError):
        FitRequest.of(pca, X)
    with pytest.raises(InvalidInputError):
        pca.fit(X)
    assert own.mu == spent
    assert pca.components_ is components


def test_a_request_runs_with_the_parameters_it_was_made_of_or_not_at_all():
    pca = DPPCA(2, epsilon=8.0, delta=1e-5, random_state=0)
    request = FitRequest.of(pca, X)
    with pytest.raises(InvalidInputError, match="parameters of this estimator have changed"):
        DPPCA(2, epsilon=0.1, delta=1e-9).run_request(request)
    with pytest.raises(InvalidInputError, match="parameters of this estimator have changed"):
        pca.set_params(epsilon=0.1).run_request(request)
    assert not hasattr(pca, "components_")
    pca.set_params(epsilon=8.0).run_request(request)
    assert np.array_equal(pca.components_, DPPCA(2, epsilon=8.0, delta=1e-5, random_state=0).fit(X).components_)


def test_a_plan_is_made_of_parameters_and_schema():
    plan = FitRequest.of(DPPCA(2, scale="private"), X).plan()
    assert (plan.d, plan.k, plan.buys_mean, plan.buys_scale, plan.columns) == (5, 2, True, True, None)
    assert plan.budget == ev.Budget.from_epsilon_delta(1.0, 1e-6)
    set_aside = FitRequest.of(DPPCA(2, algorithm="dp-gauss-2"), X).plan().budget
    assert (set_aside.epsilon_aside, set_aside.delta_aside) == (0.25, 5e-7)


def test_a_request_shows_no_values():
    matrices = ev.samples.matrices(np.full((3, 2, 2), 7351.25))
    assert "7351" not in repr(FitRequest.of(DPPCA(1, center=False), matrices))


@pytest.mark.parametrize("units", [None, np.arange(2003)])
def test_the_number_in_the_warning_of_a_large_delta_is_the_released_one(units):
    """The warning is shown and saved, so the exact number of units must not be in it."""
    rows = np.random.default_rng(0).normal(size=(2003, 3)) * [5, 2, 1]
    with pytest.warns(UserWarning, match="exceeds 1 in about"):
        pca = DPPCA(1, epsilon=2.0, delta=0.01).fit(rows, units=units)
    (warned,) = [one for one in pca.warnings_ if one.code is Code.LARGE_DELTA]
    assert warned.numbers["n_hat"] == pca.n_samples_
    assert warned.numbers["n_hat"] != 2003
    assert f"about {pca.n_samples_:.0f} units" in warned.text
