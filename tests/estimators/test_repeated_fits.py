"""A search cannot spend epsilon behind anyone's back; a shared ledger makes it possible, and caps it."""

import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from eigenveil import DPPCA
from eigenveil.errors import BudgetExceededError, PrivacyWarning
from eigenveil.mechanisms import veil
from eigenveil.privacy import Budget, Ledger


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(4000, 4)) * [4, 2, 1, 1]
    return X, (X[:, 0] > 0).astype(int)


def search(pca, **arguments):
    grid = {"dppca__n_components": [1, 2]}
    return GridSearchCV(make_pipeline(pca, LogisticRegression()), grid, cv=2, **arguments)


def test_a_search_without_a_ledger_is_refused_and_nothing_is_drawn(data, monkeypatch):
    monkeypatch.setattr(veil, "system_bytes", lambda _: pytest.fail("something was drawn"))
    with pytest.raises(ValueError, match="once per candidate and fold"):
        search(DPPCA(), error_score="raise").fit(*data)
    with pytest.raises(ValueError, match="once per candidate and fold"):
        cross_val_score(make_pipeline(DPPCA(), LogisticRegression()), *data, cv=2, error_score="raise")
    nested = make_pipeline(make_column_transformer((DPPCA(), [0, 1, 2])), LogisticRegression())
    with pytest.raises(ValueError, match="once per candidate and fold"):
        cross_val_score(nested, *data, cv=2)


def test_a_shared_ledger_lets_a_search_through_up_to_its_cap(data):
    five = Ledger(Budget.from_mu(np.sqrt(5.001) * Budget.from_epsilon_delta(1.0, 1e-6).mu))
    found = search(DPPCA(ledger=five)).fit(*data)
    assert found.best_estimator_[0].ledger_ is five
    assert five.remaining_mu < 0.02
    with pytest.raises(BudgetExceededError, match="the ledger has mu"):
        search(DPPCA(ledger=five), error_score="raise").fit(*data)


def test_seeded_fits_have_no_guarantee_to_protect(data):
    assert not search(DPPCA(random_state=0)).fit(*data).best_estimator_[0].ledger_.private


def test_threads_are_seen_through(data):
    with joblib.parallel_config(backend="threading"), pytest.raises(ValueError, match="once per candidate"):
        search(DPPCA(), error_score="raise", n_jobs=2).fit(*data)


@pytest.mark.slow
def test_processes_are_seen_through(data):
    with pytest.raises(ValueError, match="once per candidate"):
        search(DPPCA(), error_score="raise", n_jobs=2).fit(*data)
    ledger = Ledger(Budget.from_epsilon_delta(9.0, 1e-6))
    with pytest.raises(ValueError, match="copied to another process"):
        search(DPPCA(ledger=ledger), error_score="raise", n_jobs=2).fit(*data)


def test_clones_fitted_one_after_another_warn_once(data):
    X, y = data
    pca = DPPCA(1)
    clone(pca).fit(X)
    with pytest.warns(PrivacyWarning, match="another clone"):
        clone(pca).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(pca).fit(X)
        alone = DPPCA(1).fit(X)
        alone.fit(X)
        shared = DPPCA(1, ledger=Ledger(Budget.from_epsilon_delta(4.0, 1e-6)))
        clone(shared).fit(X)
        clone(shared).fit(X)
    with pytest.warns(PrivacyWarning, match="another clone"):
        OneVsRestClassifier(make_pipeline(DPPCA(1), LogisticRegression())).fit(X, np.arange(len(X)) % 3)
    # some meta-estimators seed what they fit: then nothing is private, and the ledger says so
    bag = BaggingClassifier(make_pipeline(DPPCA(1), LogisticRegression()), n_estimators=2).fit(X, y)
    assert not bag.estimators_[0][0].ledger_.private
