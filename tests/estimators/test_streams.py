"""partial_fit: the tracked stream behind scikit-learn's interface."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from eigenveil import DPPCA, TrackedStream
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget, Ledger
from support.forks import forking, in_a_fork

SPREAD = [4, 3, 1, 1, 1]
SMALL = {"batch_size": 1500}


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 5)) * SPREAD


def stream(**parameters):
    return DPPCA(**{"center": False, "options": SMALL, "random_state": 0, **parameters})


def test_it_is_the_stream_of_the_house():
    expected = TrackedStream(2, epsilon=1.0, delta=1e-6, batch_size=1500, random_state=0)
    pca = stream()
    for seed in range(8):
        pca.partial_fit(rows(1000, seed))
        expected.add(rows(1000, seed))
    assert np.array_equal(pca.components_, expected.release().components)
    assert np.array_equal(pca.explained_variance_, expected.release().eigenvalues)
    assert pca.n_samples_seen_ == 8000
    assert pca.ledger_.relation.value == "empty-slot"
    assert pca.transform(rows(3)).shape == (3, 2)
    assert not hasattr(pca, "n_samples_")


def test_before_the_first_batch_nothing_is_fitted():
    pca = stream().partial_fit(rows(100))
    with pytest.raises(NotFittedError, match="no batch"):
        _ = pca.components_
    with pytest.raises(NotFittedError):
        pca.transform(rows(3))
    pca.partial_fit(rows(1500))
    assert pca.components_.shape == (2, 5)


def test_people_come_by_name():
    frame = pd.DataFrame(rows(4000), columns=list("abcde")).assign(who=[f"p{i}" for i in range(4000)])
    pca = stream().partial_fit(frame[:2000], units="who").partial_fit(frame[2000:], units="who")
    assert list(pca.feature_names_in_) == list("abcde")
    scaled = stream(scale=np.ones(5), center=np.zeros(5))
    scaled.partial_fit(frame[:2000], units="who").partial_fit(frame[2000:], units="who")
    assert np.allclose(pca.components_, scaled.components_)


def test_public_mean_and_scale():
    scale, mean = np.array([1, 10, 1, 1, 1.0]), np.arange(5.0)
    plain, changed = stream(), stream(scale=scale, center=mean)
    for seed in range(3):
        plain.partial_fit(rows(1000, seed))
        changed.partial_fit(rows(1000, seed) * scale + mean)
    assert np.allclose(plain.components_, changed.components_, atol=1e-4)
    assert np.allclose(plain.transform(rows(9)), changed.transform(rows(9) * scale + mean), atol=1e-3)
    assert {"mean", "column scales"} <= {entry.what for entry in changed.ledger_.entries}


def test_what_a_stream_cannot_do_is_refused():
    for parameters, words in (
        ({"relation": "replace"}, "empty-slot relation"),
        ({"ledger": Ledger(Budget.from_epsilon_delta(1.0, 1e-6))}, "its own ledger"),
        ({"scale": "private"}, "public scales"),
        ({"options": {"beta": 1.0}}, "'batch_size'"),
        ({"n_components": 6}, "from 1 to 5"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            stream(**parameters).partial_fit(rows(10))
    with pytest.warns(UserWarning, match="subtracts no mean"):
        stream(center=True).partial_fit(rows(10))
    pca = stream().partial_fit(rows(10))
    with pytest.raises(ValueError, match="4 features"):
        pca.partial_fit(rows(10)[:, :4])


def test_it_is_not_copied_but_goes_on_from_a_checkpoint(tmp_path):
    pca = stream().partial_fit(rows(2000))
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InvalidInputError, match="resume"):
            copied(pca)
    pca.stream.save(tmp_path / "stream.json")
    again = stream().resume(tmp_path / "stream.json")
    assert np.array_equal(again.components_, pca.components_)
    again.partial_fit(rows(2000, 1))
    whole = stream().partial_fit(rows(2000)).partial_fit(rows(2000, 1))
    assert np.array_equal(again.components_, whole.components_)
    with pytest.raises(InvalidInputError, match="another stream has loaded"):
        pca.partial_fit(rows(2000, 1))
    with pytest.raises(InvalidInputError, match="a different n_components"):
        stream(n_components=3).resume(tmp_path / "stream.json")


def test_fit_ends_a_stream_and_a_stream_starts_from_nothing():
    pca = DPPCA(2, center=False, random_state=0).partial_fit(rows(100))
    pca.fit(rows(6000))
    assert not hasattr(pca, "stream")
    with pytest.warns(UserWarning, match="from scratch"):
        pca.partial_fit(rows(10))
    assert not hasattr(pca, "components_")


@forking
def test_a_fork_does_not_go_on():
    pca = stream(random_state=None).partial_fit(rows(1499))
    assert in_a_fork(lambda: pca.partial_fit(rows(1))).startswith("InvalidInputError: this ledger is a copy")
    assert pca.partial_fit(rows(1)).ledger_.mu == pytest.approx(pca.stream.budget.mu)


@pytest.mark.parametrize(
    "changed",
    [{"epsilon": 9.0}, {"delta": 1e-3}, {"n_components": 1}, {"random_state": 7}, {"relation": "empty-slot"}],
)
def test_what_a_stream_costs_is_fixed_from_its_beginning(changed):
    pca = stream().partial_fit(rows(2000))
    shown = repr(pca).split("#")[1]
    pca.set_params(**changed)
    with pytest.raises(InvalidInputError, match=f"began with a different {next(iter(changed))}"):
        pca.partial_fit(rows(2000))
    assert repr(pca).split("#")[1].replace(f" ({next(iter(changed))} changed since)", "") == shown
    assert pca.n_samples_seen_ == 2000


def test_a_stream_forgets_the_schema_of_an_earlier_fit(tmp_path):
    frame = pd.DataFrame(rows(4000), columns=list("abcde")).assign(who=[f"p{i}" for i in range(4000)])
    pca = stream(options=None).fit(frame, units="who")
    pca.set_params(options=SMALL)
    with pytest.warns(UserWarning, match="from scratch"):
        pca.partial_fit(rows(2000))
    assert pca.transform(rows(3)).shape == (3, 2)
    assert not hasattr(pca, "feature_names_in_")
    pca.stream.save(tmp_path / "rows")
    named = stream(options=None).fit(frame, units="who").set_params(options=SMALL).resume(tmp_path / "rows")
    assert not hasattr(named, "feature_names_in_")
    assert named.transform(rows(3)).shape == (3, 2)
    # and one that was told of a column of ids by name leaves it out
    people = stream().partial_fit(frame, units="who")
    assert people.transform(frame).shape == (4000, 2)


def test_a_checkpoint_before_the_first_row(tmp_path):
    TrackedStream(2, epsilon=1.0, delta=1e-6, batch_size=1500, random_state=0).save(tmp_path / "s")
    pca = stream(options=None).fit(rows(2000)[:, :3]).set_params(options=SMALL).resume(tmp_path / "s")
    assert pca.partial_fit(rows(2000)).components_.shape == (2, 5)
