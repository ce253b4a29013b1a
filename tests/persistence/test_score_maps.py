"""Saved maps of scores: they load as the same map, or raise an eigenveil error."""

import json

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.score_maps import NAME, load_map, save_map
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.privacy import Budget, Ledger


def rows(seed=0):
    return np.random.default_rng(seed).normal(size=(2000, 4)) * [5, 3, 1, 1]


def bought(folder, **options):
    ledger = Ledger(Budget.from_epsilon_delta(3.0, 1e-6))
    model = DPPCA(2, algorithm="dp-gauss-1", center=False, ledger=ledger).fit(rows())
    scores = model.private_scores(rows(), epsilon=1.0, bins=(3, 5), ledger=ledger, **options)
    ev.save(model, folder)
    save_map(scores, model, folder)
    return model, scores


@pytest.mark.parametrize(
    "options", [{}, {"components": (2, 1)}, {"groups": ["a", "b"] * 1000, "labels": ["b", "a", "c"]}]
)
def test_round_trip(tmp_path, options):
    _, scores = bought(tmp_path / "model", **options)
    loaded = ev.load(tmp_path / "model")
    again = load_map(loaded, tmp_path / "model")
    assert np.array_equal(again.counts, scores.counts)
    assert np.array_equal(again.outside, scores.outside)
    assert all(np.array_equal(one, other) for one, other in zip(again.edges, scores.edges, strict=True))
    assert (again.components, again.labels, again.noise) == (scores.components, scores.labels, scores.noise)
    assert again.ledger is loaded.ledger_
    assert again.non_negative().counts.min() >= 0


def test_saving_none_removes_an_existing_map(tmp_path):
    model, _ = bought(tmp_path / "model")
    save_map(None, model, tmp_path / "model")
    assert load_map(model, tmp_path / "model") is None
    assert not (tmp_path / "model" / NAME).exists()


def test_the_map_of_another_model_is_refused(tmp_path):
    bought(tmp_path / "model")
    other = DPPCA(2, algorithm="dp-gauss-1", center=False).fit(rows(1))
    with pytest.raises(InvalidInputError, match="map of another model"):
        load_map(other, tmp_path / "model")


def test_only_a_map_charged_to_the_ledger_of_the_model_is_saved(tmp_path):
    model, _ = bought(tmp_path / "model")
    with pytest.raises(ValueError, match="whose ledger has paid"):
        save_map(model.private_scores(rows(), epsilon=1.0), model, tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [[1.0, 2.0]]},
        {"counts": "many"},
        {"counts": [["1", "2"]]},
        {"counts": None},
        {"counts": [[1.0], [2.0, 3.0]]},
        {"outside": [1.0]},
        {"edges": [[0, 1]]},
        {"edges": [[0, 1, 2, 1], [0, 1, 2, 3, 4, 5]]},
        {"edges": 3},
        {"components": [1, 1]},
        {"components": [0, 1]},
        {"components": [1, 3]},
        {"components": [True, 2]},
        {"components": 12},
        {"labels": "ab"},
        {"labels": [1]},
        {"noise": 0},
        {"noise": [1.0]},
        {"format": "something else"},
        {"more": 1},
    ],
)
def test_forged_maps_are_rejected(tmp_path, change):
    model, _ = bought(tmp_path / "model")
    path = tmp_path / "model" / NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DamagedFileError, match=r"score-map\.json"):
        load_map(model, tmp_path / "model")


@pytest.mark.parametrize("text", ["", "[]", "nan", '{"counts": 1e999}', "[" * 200])
def test_files_that_are_not_json_are_rejected(tmp_path, text):
    model, _ = bought(tmp_path / "model")
    (tmp_path / "model" / NAME).write_text(text)
    with pytest.raises(InvalidInputError):
        load_map(model, tmp_path / "model")
