"""The table of rivals: what is kept, what is not run again, and what is said of it."""

import importlib
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from support.benchmarks import BENCHMARKS


@pytest.fixture
def rivals(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    module = importlib.import_module("rivals")
    monkeypatch.setattr(sys.modules["harness"], "CACHE", tmp_path / "cache")
    return module


@pytest.fixture
def setting(rivals):
    return rivals.Setting(5.0, {method: pathlib.Path("absent") for method in rivals.OTHERS})


@pytest.fixture
def cell(rivals):
    return next(cell for cell in rivals.cells() if cell.name == "decay d=6 n=20,000")


def answering(rivals, monkeypatch, answer):
    """Fits that are answered by a function of their case; the cases are returned."""
    cases = []

    def alone(_, case, **options):
        cases.append({**case, "timeout": options["timeout"]})
        np.save(case["out"], np.eye(case["k"], 6))
        return answer(case)

    monkeypatch.setattr(rivals, "alone", alone)
    return cases


def test_a_fit_is_made_once(rivals, monkeypatch, cell, setting):
    cases = answering(rivals, monkeypatch, lambda _: {"seconds": 2.0, "peak": 100.0})
    first = rivals.over_seeds(cell, 1, setting)
    count = len(cases)
    assert count == 2 * (len(rivals.METHODS) - 2)
    assert {case["timeout"] for case in cases} == {5.0}
    assert rivals.over_seeds(cell, 1, setting) == first
    assert len(cases) == count
    rivals.over_seeds(cell, 1, rivals.Setting(6.0, setting.pythons))
    assert len(cases) == 2 * count
    of_k = first[2]
    assert of_k["eigenveil"].seconds == 2.0
    assert of_k["eigenveil"].zeta == pytest.approx(math.sqrt(1 - of_k["eigenveil"].energy))


def test_a_library_that_is_absent_is_named_and_tried_again(rivals, monkeypatch, cell, setting):
    answering(rivals, monkeypatch, lambda _: {"seconds": 2.0, "peak": 100.0})
    assert rivals.over_seeds(cell, 1, setting)[2]["OpenDP 0.16"].why == "not installed"
    there = rivals.Setting(5.0, dict.fromkeys(rivals.OTHERS, pathlib.Path(__file__)))
    assert rivals.over_seeds(cell, 1, there)[2]["OpenDP 0.16"].why == ""


def test_what_did_not_finish_is_not_tried_on_other_data(rivals, monkeypatch, cell, setting):
    def answer(case):
        if case["method"] == "k-DP-Ojas":
            raise subprocess.TimeoutExpired("python", 5.0)
        if case["method"] == "CoinPress":
            raise subprocess.CalledProcessError(1, "python", stderr="Traceback\nsome.errors.ValueError: wrong\n")
        return {"seconds": 2.0, "peak": 100.0}

    cases = answering(rivals, monkeypatch, answer)
    results = rivals.over_seeds(cell, 2, setting)[5]
    assert (results["k-DP-Ojas"].why, results["CoinPress"].why) == ("did not finish", "ValueError")
    tried = [case["method"] for case in cases if case["k"] == 5]
    assert (tried.count("k-DP-Ojas"), tried.count("CoinPress"), tried.count("eigenveil")) == (1, 1, 2)
    rivals.over_seeds(cell, 2, setting)
    tried = [case["method"] for case in cases]
    assert (tried.count("k-DP-Ojas"), tried.count("CoinPress")) == (2, 4), "errors are not kept"


def test_rows_only(rivals, monkeypatch, setting):
    answering(rivals, monkeypatch, lambda _: {"seconds": 2.0, "peak": 100.0})
    rng = np.random.default_rng(0)
    drawn = rivals.Drawn(None, np.eye(6), None, None, {"X": rng.standard_normal((8, 6)), "ids": np.arange(8) // 2})
    people = rivals.Cell("four people", lambda _: drawn, (2,), 1e-6)
    found = rivals.over_seeds(people, 1, setting)[2]
    assert {method for method, one in found.items() if one.why == "rows only"} == rivals.ROWS_ONLY - {
        rivals.PLAIN,
        *rivals.OTHERS,
    }
    assert found[rivals.LITERAL].why == "no people"


def test_the_summary_counts(rivals):
    def line(zeta, other):
        return {method: other if method == "DP-Power" else zeta for method in rivals.METHODS}

    some = rivals.Found(0.99, 0.1, 1.0, 100.0)
    results = {
        "a": line(some, rivals.Found(0.96, 0.2, 1.0, 100.0)),
        "b": line(some, rivals.Found(why="did not finish")),
        "c": line(some, rivals.Found(why="rows only")),
        "d": line(some, rivals.Found(0.84, 0.4, 3.0, 100.0)),
    }
    text = rivals.tables(results)
    assert "| DP-Power | 2.83 | 2 | 0 | 1 | 1 |" in text
    assert "| eigenveil | 1.00 | 0 | 4 | 0 | 0 |" in text
    assert text.count("did not finish |") == 4
    assert "0.840 (0.4)" in text


def test_cells_have_names_of_their_own_and_real_data(rivals):
    names = [cell.name for cell in rivals.cells()]
    assert len(names) == len(set(names))
    assert {f"real {name}" for name in rivals.REAL} <= set(names)
    assert {cell.name for cell in rivals.other_cells()} == set(rivals.OTHER_CELLS)
    assert not set(rivals.OTHER_CELLS) & set(names)
    assert {cell.source in rivals.TUNED for cell in rivals.cells() if cell.source} == {True, False}
