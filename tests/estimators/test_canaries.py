"""Rule 9: a canary number and text in the data are found nowhere: attributes, repr, HTML, pickle, errors."""

import logging
import pickle
import struct
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

from eigenveil import DPPCA
from eigenveil.algorithms.registry import ALGORITHMS
from support.fixed_noise import noise_of_a_test

__all__ = ["noise_of_a_test"]  # real noise could look like the canary

NUMBER, TEXT = 7234.123456789, "canary-tweet-tweet"
TRACES = ("7234.1", "canary-tweet")
BYTES = (struct.pack("<d", NUMBER), struct.pack("<f", NUMBER), TEXT.encode(), b"7234.12")


def frame(huge):
    X = np.random.default_rng(0).normal(size=(3000, 4)) * [4, 2, 1, 1]
    X[17] = NUMBER
    X[18, 2] = NUMBER * 1e300 if huge else NUMBER
    table = pd.DataFrame(X, columns=list("abcd"))
    table["who"] = [TEXT if i in (17, 18) else f"p{i}" for i in range(3000)]
    return table


def shown(pca):
    """Everything that an adversary may get to see."""
    values = {name: value for name, value in vars(pca).items() if name.endswith("_")}
    arrays = [
        np.asarray(value, dtype=np.float64)
        for value in values.values()
        if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"
    ]
    texts = [repr(pca), pca._repr_html_(), repr(values), str(pca.ledger_), pca.ledger_.to_json()]
    texts += [repr(pca.release_.diagnostics), repr(vars(pca))]
    return arrays, texts, pickle.dumps(pca)


def assert_no_canary(pca, caught=()):
    arrays, texts, pickled = shown(pca)
    for array in arrays:
        assert not np.any(np.isclose(array, NUMBER, rtol=1e-7))
    for text in [*texts, *(str(warning.message) for warning in caught)]:
        assert not any(trace in text for trace in TRACES)
    assert not any(trace in pickled for trace in BYTES)


SLOW = [pytest.param(name, huge, marks=pytest.mark.slow) for name in ALGORITHMS for huge in (False, True)]


@pytest.mark.parametrize(("name", "huge"), [("tracked", False), ("dp-gauss-1", True), *SLOW])
def test_fits_show_no_canary(name, huge, caplog):
    caplog.set_level(logging.DEBUG)
    table = frame(huge)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = DPPCA(2, algorithm=name).fit(table.drop(columns="who"))
        people = DPPCA(2, algorithm=name, scale="private").fit(table, units="who")
    assert_no_canary(rows, caught)
    assert_no_canary(people, caught)
    assert not any(trace in caplog.text for trace in TRACES)


def test_streams_show_no_canary():
    pca = DPPCA(2, center=False, options={"batch_size": 1500}).partial_fit(frame(huge=False), units="who")
    values = {name: value for name, value in vars(pca).items() if name.endswith("_")}
    for text in (repr(pca), pca._repr_html_(), repr(values), repr(pca.stream), str(pca.ledger_)):
        assert not any(trace in text for trace in TRACES)


def _broken():
    X = frame(huge=False).drop(columns="who").to_numpy()
    objects = X.astype(object)
    objects[:, 1] = TEXT
    strange = X.astype(object)
    strange[:, 1] = [{TEXT: NUMBER}] * len(X)
    return {
        "one row": X[17],
        "scalar": np.float64(NUMBER),
        "list": X[17].tolist(),
        "three axes": X[None],
        "complex": X + 0j,
        "text in a column of objects": objects,
        "dicts in a column of objects": strange,
        "text": np.array([[TEXT, "1"]]),
        "list of text": [[TEXT, NUMBER], [1.0, 2.0]],
        "ragged": [[NUMBER, 1.0], [NUMBER]],
        "series": pd.Series(X[17]),
        "text column": frame(huge=False),
        "bytes": TEXT.encode(),
        "mapping": {"a": [NUMBER], "b": [TEXT]},
    }


@pytest.mark.parametrize(
    "odd", [TEXT, {TEXT: NUMBER}, None, 10**400, 1j, [NUMBER]], ids=lambda odd: type(odd).__name__
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform"])
def test_one_odd_object_is_one_bad_row(odd, method):
    """An exception would tell that somebody's entry is no number; so would another answer for everybody else."""
    X = frame(huge=False).drop(columns="who").to_numpy()[:200].copy()
    objects = X.astype(object)
    objects[3, 1] = odd
    X[3, 1] = np.nan

    def outcome(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pca = DPPCA(
                1, center=False, random_state=0, options={"batch_size": 200} if method == "partial_fit" else {}
            )
            if method == "transform":
                return pca.fit(np.ones((2000, 4)) * [3, 1, 1, 1]).transform(data)
            return getattr(pca, method)(data).components_

    np.testing.assert_array_equal(outcome(objects), outcome(X))


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("kind", _broken())
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform"])
def test_errors_quote_nothing(kind, method):
    pca = DPPCA(1, center=False, random_state=0).fit(np.ones((2000, 4)) * [3, 1, 1, 1])
    pca = pca if method == "transform" else DPPCA(1, center=False)
    data = _broken()[kind]
    with pytest.raises((ValueError, TypeError)) as caught:
        getattr(pca, method)(data)
    error = caught.value
    while error is not None:
        text = "".join(traceback.format_exception_only(error))
        assert not any(trace in text for trace in TRACES), text
        error = error.__cause__ or error.__context__
