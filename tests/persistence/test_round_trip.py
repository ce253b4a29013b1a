"""A saved model is restored bitwise: attributes, parameters, ledger, repr, scores."""

import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.algorithms.diagnostics import PerComponent
from eigenveil.algorithms.registry import ALGORITHMS
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.missing_attributes import FITTED
from eigenveil.persistence.checks import KEPT, SHAPES
from eigenveil.privacy import Budget, Ledger
from support.fixed_noise import fix_noise

NAMES = list("abcd")


def rows(n=3000):
    return np.random.default_rng(0).normal(size=(n, 4)) * [5, 3, 1, 1] + 2


def same(a, b):
    """Return whether two values are bitwise equal and of the same types, recursively."""
    if isinstance(a, Ledger):
        return a.to_json() == b.to_json()
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and same(vars(a), vars(b))
    if isinstance(a, np.ndarray):
        bits = (lambda one: one.tolist()) if a.dtype == object else (lambda one: one.tobytes())
        return a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))  # noqa: PLR0124


def assert_same(model, again):
    left_out = {"engine", "callback", "_family", "_counted", "_stream", "_declared"}
    mine = {name: value for name, value in vars(model).items() if name not in left_out}
    its = {name: value for name, value in vars(again).items() if name not in left_out}
    assert set(mine) == set(its)
    for name, value in mine.items():
        assert same(value, its[name]), name
    assert repr(again) == repr(model)
    assert repr(again.release_) == repr(model.release_)
    assert again.release_.ledger is again.ledger_


def round_trip(model, folder):
    ev.save(model, folder / "model")
    return ev.load(folder / "model")


CASES = {
    "seeded": {"random_state": 7},
    "declared": {"center": np.full(4, 2.0), "scale": np.array([1.0, 2.0, 3.0, 0.1])},
    "replace": {"relation": "replace"},
    "options": {"options": {"n": 3000, "beta": np.float64(40.0)}},
    "numpy parameters": {"epsilon": np.float64(1.0), "delta": np.float64(1e-6), "n_components": np.int64(1)},
    "whitened": {"whiten": True},
    "all components": {"n_components": 4},
    "tracked": {"algorithm": "tracked"},
    "k-dp-pca": {"algorithm": "k-dp-pca"},
}
SLOW = {
    **{name: {"algorithm": name} for name in ALGORITHMS if name not in CASES},
    "scaled": {"scale": "private"},
    "float32": {"delta": np.float32(1e-5)},
}
EVERY = [*CASES, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.filterwarnings("ignore:the eigengap is too small")
@pytest.mark.filterwarnings("ignore:delta = ")
@pytest.mark.parametrize("case", EVERY)
def test_a_round_trip_is_bitwise(case, tmp_path):
    model = DPPCA(**{"n_components": 2, "algorithm": "dp-gauss-1", **{**CASES, **SLOW}[case]}).fit(rows())
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert np.array_equal(again.transform(rows()), model.transform(rows()))
    Z = model.transform(rows()[:5])
    assert np.array_equal(again.inverse_transform(Z), model.inverse_transform(Z))
    assert again.ledger_.private == model.ledger_.private
    assert again.ledger_.is_copy
    assert_same(again, round_trip(again, tmp_path))


def test_names_units_and_output_come_back(tmp_path):
    table = pd.DataFrame(rows(), columns=["é", 'quo"te', "a\n", "../x"]).assign(who=np.arange(3000))
    model = DPPCA(2, algorithm="dp-gauss-1").set_output(transform="pandas").fit(table, units="who")
    again = round_trip(model, tmp_path)
    assert_same(model, again)
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    pd.testing.assert_frame_equal(again.transform(table), model.transform(table))


def test_seeded_stays_not_private(tmp_path):
    again = round_trip(DPPCA(2, algorithm="dp-gauss-1", random_state=1).fit(rows()), tmp_path)
    assert "NOT PRIVATE: seeded" in repr(again)
    text = (tmp_path / "model" / "model.json").read_text()
    assert json.loads(text)["content"]["private"] is False
    assert "seeded" in json.loads(text)["content"]["not_private_because"][0]
    assert not again.private_scores(rows(), epsilon=1.0, bounds=((-9, 9), (-9, 9))).private


def test_bought_variances_come_back(tmp_path):
    model = DPPCA(2, algorithm="dp-gauss-1").fit(rows())
    known = {field.name: 0.5 for field in dataclasses.fields(NoisyVariances)} | {"rows": False}
    variances = NoisyVariances(**{**known, "explained": np.array([25.0, 9.0]), "total": 36.0})
    model.release_ = dataclasses.replace(model.release_, variances=variances)
    model.explained_variance_ratio_, model.noise_variance_ = variances.ratios, 1.0
    assert_same(model, round_trip(model, tmp_path))


def test_diagnostics_of_any_plain_kind_come_back(tmp_path):
    """Oracles may report any value that can be saved."""
    model = DPPCA(2, algorithm="k-dp-ojas").fit(rows())
    diagnostics = {
        "a": {"b": (1, 2.5, [None, True, "x"]), "c": -0.0},
        "a.b": np.arange(3.0),
        "n": {"b": np.eye(2)},
        "n.b": np.ones(1),
        "odd": (float("inf"), float("-inf"), float("nan"), 5e-324, 1.7976931348623157e308, 10**70),
        "numpy": (np.float64(0.1), np.int64(-3), np.bool_(True), np.float32(0.1)),
        "whole": np.arange(4, dtype=np.int64),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 3)),
        "turned": np.arange(6.0).reshape(2, 3).T,
    }
    model.release_ = dataclasses.replace(model.release_, diagnostics=PerComponent(diagnostics))
    assert_same(model, round_trip(model, tmp_path))


def test_a_shared_ledger_is_restored(tmp_path):
    ledger = Ledger(Budget.from_epsilon_delta(1.2, 1e-6))
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=1.0, ledger=ledger).fit(rows())
    again = round_trip(model, tmp_path)
    assert again.ledger is again.ledger_
    with pytest.raises(InvalidInputError, match="adopt"):
        again.private_scores(rows(), epsilon=0.1, ledger=again.ledger_)
    assert again.private_scores(rows(), epsilon=0.1, ledger=again.ledger_.adopt()).private
    with pytest.raises(ev.errors.BudgetExceededError):
        again.fit(rows())
    other = Ledger(Budget.from_epsilon_delta(2.0, 1e-6))
    model.set_params(ledger=other)
    later = round_trip(model, tmp_path)
    assert later.ledger is not later.ledger_
    assert later.ledger.to_json() == other.to_json()


def test_parameters_that_state_the_cost_are_those_of_the_fit(tmp_path):
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=0.5).fit(rows())
    fitted = model.get_params()
    changed = {"epsilon": 9.0, "delta": 0.5, "algorithm": "tracked", "relation": "replace", "random_state": 1}
    model.set_params(**changed, n_components=4, whiten=True)
    again = round_trip(model, tmp_path)
    assert again.get_params() == {**fitted, "whiten": True}  # which belongs to `transform`, not to the fit
    assert "the fit cost epsilon = 0.5, delta = 1e-06, add-remove, one unit: one row;" in repr(again)
    kept = json.loads((tmp_path / "model" / "model.json").read_text())["content"]["parameters"]
    assert (kept["epsilon"], kept["delta"], kept["random_state"]) == (0.5, 1e-6, None)


def test_it_is_a_working_estimator(tmp_path):
    again = round_trip(DPPCA(2).fit(rows()), tmp_path)
    assert not hasattr(clone(again), "components_")
    assert again.get_feature_names_out().tolist() == ["pc1", "pc2"]
    assert pickle.loads(pickle.dumps(again)).ledger_.mu == again.ledger_.mu  # noqa: S301
    again.components_[0, 0] = 5.0  # arrays are writable


def test_streams(tmp_path):
    pca = DPPCA(2, center=False, options={"batch_size": 1500})
    pca.partial_fit(rows())
    assert_same(pca, round_trip(pca, tmp_path))
    pca.partial_fit(rows(10))
    before = (tmp_path / "model" / "model.json").read_bytes()
    with pytest.raises(InvalidInputError, match="checkpoint"):
        ev.save(pca, tmp_path / "model")
    assert (tmp_path / "model" / "model.json").read_bytes() == before


def test_engine_and_callback_are_not_kept(tmp_path):
    pca = DPPCA(2, engine=ev.engines.LocalEngine(1), callback=lambda _: None).fit(rows())
    again = round_trip(pca, tmp_path)
    assert (again.engine, again.callback) == ("auto", None)


def test_what_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        ev.save(DPPCA(), tmp_path / "model")
    with pytest.raises(InvalidInputError, match="expected a DPPCA"):
        ev.save({"a": 1}, tmp_path / "model")
    pca = DPPCA(2, algorithm="dp-gauss-1").fit(rows()).set_params(options={"n": print})
    with pytest.raises(InvalidInputError, match=r"parameters\.options\.n contains a builtin_function"):
        ev.save(pca, tmp_path / "model")
    pca.set_params(options=None)
    pca.mean_ = pca.mean_ * np.nan
    with pytest.raises(InvalidInputError, match="finite"):
        ev.save(pca, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_every_fitted_attribute_has_its_check():
    """A new attribute must be listed here, or get a check of type and shape in `checks`."""
    others = {"noise_variance_", "n_samples_", "n_samples_seen_", "feature_names_in_", "n_components_"}
    unknown = FITTED - set(SHAPES) - others - {"release_", "ledger_", "warnings_"}
    for name in unknown:
        assert name in KEPT  # saved without a check: any JSON value or finite array


def test_no_canary_in_the_files(tmp_path, monkeypatch):
    """Rule 9."""
    fix_noise(monkeypatch, "canary")  # real noise could look like one
    table = pd.DataFrame(rows(), columns=NAMES)
    table.iloc[17] = 7234.123456789
    table["who"] = [f"p{i}" for i in range(3000)]
    table.loc[18, "who"] = "canary-tweet-tweet"
    for k, options in enumerate([{}, {"algorithm": "dp-gauss-1"}]):
        ev.save(DPPCA(2, **options).fit(table, units="who"), tmp_path / f"{k}")
        for file in (tmp_path / f"{k}").iterdir():
            data = file.read_bytes()
            traces = [np.float64(7234.123456789).tobytes(), np.float32(7234.123456789).tobytes(), b"7234.12"]
            assert not any(trace in data for trace in [*traces, b"canary-tweet"])
            assert b"p17" not in data
