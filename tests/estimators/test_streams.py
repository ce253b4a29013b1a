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
        ({"relation": "replace"}, "empty slots"),
        ({"ledger": Ledger(Budget.from_epsilon_delta(1.0, 1e-6))}, "ledger of its own"),
        ({"scale": "private"}, "public scales"),
        ({"options": {"beta": 1.0}}, "'batch_size'"),
        ({"n_components": 6}, "from 1 to 5"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            stream(**parameters).partial_fit(rows(10))
    with pytest.warns(UserWarning, match="no mean off"):
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
    pca.partial_fit(rows(2000, 1))
    assert np.array_equal(again.components_, pca.components_)
    with pytest.raises(InvalidInputError, match="another n_components"):
        stream(n_components=3).resume(tmp_path / "stream.json")


def test_fit_ends_a_stream_and_a_stream_starts_from_nothing():
    pca = DPPCA(2, center=False, random_state=0).partial_fit(rows(100))
    pca.fit(rows(6000))
    assert not hasattr(pca, "stream")
    with pytest.warns(UserWarning, match="from nothing"):
        pca.partial_fit(rows(10))
    assert not hasattr(pca, "components_")
