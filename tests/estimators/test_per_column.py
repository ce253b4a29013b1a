"""Scales and bounds for some columns: by name, glob or position, whatever the order, kept with the model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.per_column import read_bounds, read_scales

RNG = np.random.default_rng(0)
N = 20_000
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, N),
        "lab_a": RNG.normal(0, 1e3, N),
        "lab_b": RNG.normal(5e-3, 1e-3, N),
        "flag": RNG.random(N) < 0.3,
        "plain": RNG.normal(0, 2, N),
    }
)
SCALE = {"lab_*": "private", "flag": "private", "age": 10.0}
BOUNDS = {"flag": (0, 1), "age": (0, 110)}


def test_a_mapping_says_which_are_bought_and_which_declared():
    pca = DPPCA(2, scale=SCALE, bounds=BOUNDS).fit(FRAME)
    assert pca.scale_[0] == 10.0
    assert pca.scale_[4] == 1.0
    np.testing.assert_allclose(pca.scale_[1:4] / FRAME.iloc[:, 1:4].std(), 1, atol=0.3)
    np.testing.assert_allclose((pca.mean_ - FRAME.mean()) / FRAME.std(), 0, atol=0.5)
    declared = {entry.what: entry.note for entry in pca.ledger_.entries if entry.kind == "declared"}
    assert declared["column scales"] == "declared by the caller: 'age'"
    assert declared["column bounds"] == "declared by the caller: 'age', 'flag'"
    bought = {entry.note for entry in pca.ledger_.entries if entry.what.startswith("frame 1: counts")}
    assert bought == {""}, "the mean is bought in the frame of all columns"
    assert pca.ledger_.epsilon(1e-6) <= 1.0


def test_the_order_of_columns_does_not_matter():
    other = FRAME[["plain", "flag", "lab_b", "age", "lab_a"]]
    for frame in (FRAME, other):
        pca = DPPCA(2, scale=SCALE).fit(frame)
        by_name = dict(zip(pca.feature_names_in_, pca.scale_, strict=True))
        assert (by_name["age"], by_name["plain"]) == (10.0, 1.0)
        assert by_name["lab_a"] == pytest.approx(1e3, rel=0.3)


def test_arrays_go_by_position():
    pca = DPPCA(2, scale={0: 10.0, 1: "private"}, bounds={1: (-1e4, 1e4)}).fit(FRAME.to_numpy(dtype=float))
    assert pca.scale_[[0, 2, 3, 4]].tolist() == [10.0, 1.0, 1.0, 1.0]
    assert pca.scale_[1] == pytest.approx(1e3, rel=0.3)


def test_streams_take_declared_ones():
    pca = DPPCA(2, center=False, scale={"age": 10.0}, options={"batch_size": 9000}).partial_fit(FRAME)
    assert pca.scale_.tolist() == [10.0, 1.0, 1.0, 1.0, 1.0]
    pca = DPPCA(2, scale=SCALE, options={"batch_size": 9000}).partial_fit(FRAME)
    assert pca.scale_[[0, 4]].tolist() == [10.0, 1.0]
    np.testing.assert_allclose(pca.scale_[1:4] / FRAME.iloc[:, 1:4].std(), 1, atol=0.3)
    np.testing.assert_allclose((pca.mean_ - FRAME.mean()) / FRAME.std(), 0, atol=0.5)


@pytest.mark.parametrize(("scale", "bounds"), [(SCALE, BOUNDS), ({0: 2.0, 3: "private"}, {1: (0, 3)})])
def test_models_keep_them(scale, bounds, tmp_path):
    X = FRAME if "age" in scale else FRAME.to_numpy(dtype=float)
    pca = clone(DPPCA(2, scale=scale, bounds=bounds)).fit(X)
    assert pca.get_params()["scale"] == scale
    ev.save(pca, tmp_path / "model")
    again = ev.load(tmp_path / "model")
    assert again.scale == scale
    assert {key: tuple(pair) for key, pair in again.bounds.items()} == bounds
    assert np.array_equal(again.scale_, pca.scale_)
    assert np.array_equal(again.release_.scale_errors, pca.release_.scale_errors)
    assert np.array_equal(again.component_angles(), pca.component_angles())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scale": {"weight": 1.0}}, "no column 'weight'"),
        ({"scale": {"age": "public"}}, "'private'"),
        ({"scale": {"age": 0.0}}, "above 0"),
        ({"scale": {"age": None}}, ""),
        ({"scale": {"age": [1.0, 2.0]}}, "a number above 0"),
        ({"scale": {"lab_*": 1.0, "*_a": 2.0}}, "two patterns"),
        ({"bounds": {"age": (3, 1)}}, "low below high"),
        ({"bounds": {"age": 5}}, r"a pair \(low, high\)"),
        ({"bounds": {"age": (0, np.inf)}}, "finite"),
    ],
)
def test_wrong_ones_cost_nothing(wrong, said):
    ledger = ev.Ledger(ev.Budget.from_epsilon_delta(1.0, 1e-6))
    if not said:
        assert DPPCA(2, ledger=ledger, **wrong).fit(FRAME).scale_ is None, "None says nothing"
        return
    with pytest.raises(InvalidInputError, match=said):
        DPPCA(2, ledger=ledger, **wrong).fit(FRAME)
    assert not ledger.entries


def test_whole_arrays_and_words_are_read_as_before():
    assert read_scales(None, 2, None).declared is None
    assert read_scales("private", 2, None).private.tolist() == [0, 1]
    assert read_scales([1.0, 2.0], 2, None).declared.tolist() == [1.0, 2.0]
    assert read_scales({}, 2, None).private.size == 0
    assert read_bounds(None, 2, None) == (None, None)
    assert read_bounds((0, [2, 4]), 2, None)[0].high.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet"])
def test_columns_that_hold_0_and_1_by_type_keep_scale_1_unless_they_are_named(form, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=10_000) * 50 for j in range(5)})
    frame["flag"] = rng.random(10_000) < 0.2
    frame["number"] = (rng.random(10_000) < 0.2).astype(float)
    frame["site"] = rng.choice(["a", "b"], 10_000, p=[0.9, 0.1])
    data = {"pandas": frame, "polars": pl.from_pandas(frame), "parquet": tmp_path / "t.parquet"}[form]
    if form == "parquet":
        frame.to_parquet(data)
    encode = {"site": ["a", "b"]}
    pca = DPPCA(2, scale="private", encode=encode).fit(data)
    assert pca.scale_[[5, 7, 8]].tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(pca.scale_[[*range(5), 6]], [*[50] * 5, 0.4], rtol=0.3)
    note = next(entry.note for entry in pca.ledger_.entries if entry.what == "frame 1: counts")
    assert note == "0/1 by type or encoding, so of scale 1: 'flag', 'site=a', 'site=b'"
    named = DPPCA(2, scale={"*": "private"}, encode=encode).fit(data)
    np.testing.assert_allclose(named.scale_[[5, 7, 8]], [0.4, 0.3, 0.3], rtol=0.4)


def test_the_mean_of_flags_is_bought_like_any_other():
    pca = DPPCA(1).fit(FRAME)
    assert pca.mean_[3] == pytest.approx(0.3, abs=0.1)
    assert not [entry for entry in pca.ledger_.entries if entry.what in ("column bounds", "column scales")]
