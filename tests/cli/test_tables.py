"""Columns, categories, dates and missing values on the command line, as in Python."""

import json

import numpy as np
import pandas as pd
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import eigenveil as ev
from eigenveil import DPPCA
from support.clinic import clinic

FIT = ("-k", 2, "--algorithm", "dp-gauss-1", "--seed", 0, "--units", "person_id")
CHOSEN = ("--columns", "visit,site", "--columns", "bmi,lab_*")
ENCODED = ("--encode", "visit=days since 2020-01-01", "--encode", "site=north, south")
FILLED = ("--fill", "bmi=25", "--fill", "lab_*=0")
PYTHON = {
    "columns": ["visit", "site", "bmi", "lab_*"],
    "encode": {"visit": "days since 2020-01-01", "site": ["north", "south"]},
    "fill": {"bmi": 25, "lab_*": 0},
}
NAMES = ["visit", "site=north", "site=south", "bmi", "lab_a", "lab_b"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    table = clinic()
    pq.write_table(table, folder / "clinic.parquet")
    pc.write_csv(table, folder / "clinic.csv")
    np.save(
        folder / "rows.npy", np.where(np.eye(3)[np.arange(999) % 3] > 0, np.nan, np.arange(2997).reshape(999, 3))
    )
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_command_line_and_python_fit_the_same(eigenveil, tables, ending, tmp_path):
    path = tables / f"clinic.{ending}"
    answer = eigenveil("fit", path, *FIT, *CHOSEN, *ENCODED, *FILLED, "--out", tmp_path / "model", "--json")
    assert answer.code == 0, answer.err
    pca = DPPCA(2, algorithm="dp-gauss-1", random_state=0, **PYTHON).fit(path, units="person_id")
    loaded = ev.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.components_, pca.components_)
    assert loaded.layout_ == pca.layout_
    assert list(loaded.feature_names_in_) == NAMES
    plain = json.loads(answer.out)
    assert plain["columns"] == ["visit", "site", "bmi", "lab_a", "lab_b"]
    assert plain["encode"] == PYTHON["encode"]
    assert plain["fill"] == {"bmi": 25.0, "lab_a": 0.0, "lab_b": 0.0}
    assert plain["feature_names"] == NAMES


def test_the_model_works_in_python_and_on_the_command_line_alike(eigenveil, tables, tmp_path):
    model = tmp_path / "model"
    assert eigenveil("fit", tables / "clinic.csv", *FIT, *CHOSEN, *ENCODED, *FILLED, "--out", model).code == 0
    answer = eigenveil("transform", tables / "clinic.parquet", "--model", model, "--out", tmp_path / "s.parquet")
    assert answer.code == 0, answer.err
    scores = pd.read_parquet(tmp_path / "s.parquet").to_numpy()
    loaded = ev.load(model)
    for data in (tables / "clinic.parquet", tables / "clinic.csv", clinic(), clinic().to_pandas()):
        np.testing.assert_allclose(loaded.transform(data), scores, rtol=1e-9, atol=1e-9)
    assert np.isfinite(scores).all(), "missing values are filled; values not in the list are not missing"


def test_a_fit_without_columns_option_can_be_used_in_python(eigenveil, tables, tmp_path):
    """Regression test: only the command line found the columns of its own model."""
    pq.write_table(clinic().drop_columns(["visit", "site", "comment"]), tmp_path / "numbers.parquet")
    answer = eigenveil("fit", tmp_path / "numbers.parquet", *FIT, "--fill", 0, "--out", tmp_path / "model")
    assert answer.code == 0, answer.err
    for data in (tables / "clinic.parquet", clinic(), clinic().to_pandas()):
        assert ev.load(tmp_path / "model").transform(data).shape == (4000, 2)


def test_plans_and_inspection_show_encodings_and_fills(eigenveil, tables, tmp_path):
    arguments = ("fit", tables / "clinic.parquet", *FIT, *CHOSEN, *ENCODED, "--fill", "*=0")
    plan = eigenveil(*arguments, "--plan-only")
    assert plan.code == 0, plan.err
    plain = json.loads(eigenveil(*arguments, "--plan-only", "--json").out)
    assert (plain["columns"], plain["encode"]) == (NAMES, PYTHON["encode"])
    assert eigenveil(*arguments, "--out", tmp_path / "model").code == 0
    shown = eigenveil("inspect", tmp_path / "model", "--ledger")
    for text in (plan.out, shown.out):
        assert "visit: days since 2020-01-01; site: north, south" in text
        assert "visit: 0; bmi: 0; lab_a: 0; lab_b: 0" in text
    assert "declared by the caller: visit: days since" in shown.out


def test_positions_of_arrays(eigenveil, tables, tmp_path):
    path = tables / "rows.npy"
    arguments = ("--columns", "2,0", "--fill", "2=7", "--fill", "0=1")
    answer = eigenveil("fit", path, *FIT[:-2], *arguments, "--out", tmp_path / "model")
    assert answer.code == 0, answer.err
    loaded = ev.load(tmp_path / "model")
    assert (loaded.layout_.columns, loaded.layout_.fill) == ((2, 0), {0: 1.0, 2: 7.0})
    scores = eigenveil("transform", path, "--model", tmp_path / "model")
    assert scores.code == 0, scores.err
    assert len(scores.out.splitlines()) == 1000
    assert "nan" not in scores.out
    assert ev.load(tmp_path / "model").transform(path).shape == (999, 2)


def test_a_map_of_groups_of_an_encoded_table(eigenveil, tables, tmp_path):
    answer = eigenveil(
        "fit", tables / "clinic.csv", "-k", 2, "--epsilon", 20, "--seed", 0, "--units", "person_id",
        "--columns", "site,bmi,lab_*", "--encode", "site=north, south", "--fill", "*=0", "--score-map", 1,
        "--score-groups", "site=north,west", "--out", tmp_path / "model", "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["score_map"]["labels"] == ["north", "west"]


def test_hints_show_options(eigenveil, tables):
    answer = eigenveil("fit", tables / "clinic.parquet", *FIT)
    assert answer.code == 2
    assert "--encode 'visit=days since 2000-01-01' --encode site=a,b" in answer.err
    assert "--columns" in answer.err
    assert "={" not in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--encode", "site"), "got --encode 'site'"),
        (("--encode", "site="), "--encode site=north,south"),
        (("--encode", "site=a", "--encode", "site=b"), "each column once"),
        (("--encode", "site=a,a"), "each once"),
        (("--encode", "visit=days since soon"), "such as 'days since 2000-01-01'"),
        (("--fill", "much"), "got --fill much"),
        (("--fill", "bmi=nan"), "finite number"),
        (("--fill", "0", "--fill", "bmi=25"), "A name takes precedence over a glob"),
        (("--fill", "bmi=1", "--fill", "bmi=2"), "a number per column"),
        (("--columns", "bmi,lab_a", "--encode", "site=a"), "encode names column 'site', which is not among"),
        (("--columns", "bmi,lab_a", "--fill", "lab_b=0"), "fill names column 'lab_b', which is not among"),
        (("--columns", "bmi,lab_q"), "there is no column 'lab_q'"),
        (
            ("--columns", "bmi,visit", "--encode", "visit=a,b"),
            "For dates give an origin: --encode 'visit=days since",
        ),
    ],
)
def test_invalid_options_raise(eigenveil, tables, arguments, said):
    answer = eigenveil("fit", tables / "clinic.parquet", *FIT, *arguments)
    assert said in " ".join(answer.err.replace("│", " ").split()), answer.err
    assert answer.code == 2
