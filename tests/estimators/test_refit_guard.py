"""A search cannot spend epsilon behind anyone's back; a shared ledger makes it possible, and caps it."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline

from eigenveil import DPPCA, tracked_pca
from eigenveil.engines import LocalEngine
from eigenveil.errors import BudgetExceededError, InvalidInputError, PrivacyWarning
from eigenveil.mechanisms.noise import veil
from eigenveil.privacy import Budget, Ledger
from support.forks import forking, in_a_fork

CHOICE = "ignore:the ledger covers the fits of this search:eigenveil.errors.PrivacyWarning"


CLIPPED = "about .* of the units were clipped"
"""What a fit of these rows warns of by chance, where a noisy count is far out: in 2 or 3 of 100."""


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


@pytest.mark.filterwarnings(CHOICE)
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
    with pytest.raises(ValueError, match="this ledger is a copy"):
        search(DPPCA(ledger=ledger), error_score="raise", n_jobs=2).fit(*data)
    assert ledger.mu == 0


@pytest.mark.filterwarnings(f"ignore:{CLIPPED}")
def test_clones_fitted_one_after_another_warn_once(data):
    X, y = data
    pca = DPPCA(1)
    clone(pca).fit(X)
    with pytest.warns(PrivacyWarning, match="another clone"):
        clone(pca).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", CLIPPED)
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


# -- what a search chooses is not covered ------------------------------------------------------------


def test_a_search_warns_that_its_choice_is_not_covered(data):
    """`best_params_` comes from scores without noise, whatever the ledger says."""
    ledger = Ledger(Budget.from_epsilon_delta(9.0, 1e-6))
    with pytest.warns(PrivacyWarning, match=r"not its scores.*best_params_"):
        search(DPPCA(ledger=ledger)).fit(*data)
    with pytest.warns(PrivacyWarning, match="not its scores"):
        cross_val_score(make_pipeline(DPPCA(1, ledger=ledger), LogisticRegression()), *data, cv=2)


def test_a_score_inside_a_search_warns_and_one_outside_does_not(data):
    X, _ = data
    pca = DPPCA(1).fit(X)
    assert np.isfinite(pca.score(X))  # warnings are errors here

    class Given(DPPCA):
        """Fitted already, so that a search only scores it."""

        def fit(self, *_):
            self.__dict__.update(vars(pca))
            return self

    with pytest.warns(PrivacyWarning, match="not its scores") as told:
        cross_val_score(Given(1), X, cv=2)
    assert len({(str(one.message), one.lineno) for one in told}) == 1  # shown once by default
    seeded = DPPCA(1, random_state=0).fit(X)
    pca = seeded
    cross_val_score(Given(1), X, cv=2)  # nothing to protect


# -- copies in other processes -----------------------------------------------------------------------


def one_fit_ledger(fits=1):
    """A cap that `fits` fits of epsilon = 1 take up."""
    return Ledger(Budget.from_mu(np.sqrt(fits * 1.0001) * Budget.from_epsilon_delta(1.0, 1e-6).mu))


def shared(ledger, k=1, **options):
    return DPPCA(k, ledger=ledger, engine=LocalEngine(threads=1), **options)


def by_joblib(ledger, X, _, n_jobs):
    return joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(clone(shared(ledger)).fit)(X) for _ in range(2))


def by_bagging(ledger, X, y, n_jobs):
    steps = make_pipeline(shared(ledger), LogisticRegression())
    return BaggingClassifier(steps, n_estimators=2, n_jobs=n_jobs).fit(X, y)


def by_union(ledger, X, _, n_jobs):
    return FeatureUnion([("a", shared(ledger)), ("b", shared(ledger))], n_jobs=n_jobs).fit(X)


def by_columns(ledger, X, _, n_jobs):
    parts = [("a", shared(ledger), [0, 1]), ("b", shared(ledger), [2, 3])]
    return ColumnTransformer(parts, n_jobs=n_jobs).fit(X)


def by_search(ledger, X, y, n_jobs):
    steps = make_pipeline(shared(ledger, epsilon=0.4), LogisticRegression())
    grid = {"dppca__n_components": [1, 2]}
    return GridSearchCV(steps, grid, cv=2, n_jobs=n_jobs, error_score="raise").fit(X, y)


def by_functions(ledger, X, _, n_jobs):
    work = joblib.delayed(tracked_pca)(X, 1, epsilon=1.0, delta=1e-6, ledger=ledger)
    return joblib.Parallel(n_jobs=n_jobs)([work, work])


WAYS = {way.__name__[3:]: way for way in (by_joblib, by_bagging, by_union, by_columns, by_search, by_functions)}


@pytest.mark.filterwarnings(CHOICE)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_shared_ledger_is_not_charged_in_other_processes(data, way):
    """Two fits of epsilon 1 passed a cap of epsilon 1 in two processes, and the original said 0."""
    ledger = one_fit_ledger()
    with pytest.raises(ValueError, match=r"(?s)this ledger is a copy.*n_jobs=1.*a ledger of its own.*adopt"):
        way(ledger, *data, n_jobs=2)
    assert ledger.mu == 0
    shared(ledger).fit(data[0])  # all of it is left


@pytest.mark.filterwarnings(CHOICE)
@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_one_process_and_threads_share_the_ledger(data, way, threads):
    ledger = one_fit_ledger(2)
    with joblib.parallel_config(backend="threading" if threads else "loky"):
        way(ledger, *data, n_jobs=2 if threads else 1)
        assert ledger.mu > 0.9 * ledger.budget.mu * (0.6 if way is by_search else 1)
        if way is not by_search:
            with pytest.raises(BudgetExceededError):
                way(ledger, *data, n_jobs=2 if threads else 1)
    assert ledger.mu <= ledger.budget.mu * (1 + 1e-9)


def test_without_a_ledger_workers_make_their_own_which_come_back_to_be_read(data):
    X, _ = data
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(DPPCA(2).fit)(X) for _ in range(2))
    for pca in found:
        assert pca.ledger_.epsilon(1e-6) == pytest.approx(1.0)
        assert pca.ledger_.is_copy
        assert "the fit cost epsilon = 1" in repr(pca)
        assert pca.private_scores(X, epsilon=0.1).private  # a ledger of its own
        assert pca.fit(X).ledger_.epsilon(1e-6) == pytest.approx(1.0)


def test_an_unpickled_model_buys_scores_on_its_ledger_once_adopted(data):
    X, _ = data
    ledger = Ledger(Budget.from_epsilon_delta(2.0, 1e-6))
    pca = pickle.loads(pickle.dumps(DPPCA(2, ledger=ledger).fit(X)))  # noqa: S301
    assert pca.ledger is pca.ledger_
    for charge in (lambda: pca.private_scores(X, epsilon=0.1, ledger=pca.ledger_), lambda: clone(pca).fit(X)):
        with pytest.raises(InvalidInputError, match="adopt"):
            charge()
    pca.ledger_.adopt()
    assert pca.private_scores(X, epsilon=0.1, ledger=pca.ledger_).private
    assert "no other copy of this ledger is charged from here on (declared by the caller)" in str(pca.ledger_)


@forking
def test_a_fork_does_not_charge_a_shared_ledger(data):
    X, _ = data
    ledger = one_fit_ledger()
    assert in_a_fork(lambda: shared(ledger).fit(X)).startswith("InvalidInputError: this ledger is a copy")
    assert in_a_fork(lambda: DPPCA(1, engine=LocalEngine(threads=1)).fit(X).ledger_.private) == "True"
    assert shared(ledger).fit(X).ledger_.mu > 0
