"""How often an algorithm says that it reads the data is never less than it does."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from eigenveil import DPPCA, samples
from eigenveil.algorithms.registry import ALGORITHMS
from eigenveil.algorithms.standard import Standard, standardise
from eigenveil.algorithms.tracked.algorithm import TrackedOptions, _read_first
from eigenveil.algorithms.tracked.tuning import DEFAULT
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.request import FitRequest
from eigenveil.sources.wrapped import SameRows
from eigenveil.units import Units
from support.open import open_quiet


def rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d)) * np.r_[5, 3, np.ones(d - 2)] + 2


def counting(X, read):
    """The rows, with a note of every reading."""

    class Counted(SameRows):
        def partitions(self):
            read.append(1)
            return super().partitions()

        def over(self, partition, number):  # noqa: ARG002
            return partition

    operator = samples.rows(X)
    return replace(operator, source=Counted(operator.source))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("given", [{}, {"relation": "replace"}, {"center": False}, {"scale": "private"}])
def test_fits_read_no_more_often_than_stated(name, given):
    for n, d in ((1500, 4), (1500, 12)):
        read = []
        model = DPPCA(2, algorithm=name, **given)
        request = FitRequest.of(model, counting(rows(n, d), read))
        most = request.plan().most_passes
        assert not read, "a plan reads nothing"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(request.operator)
        assert (most is None) == (name == "tracked"), "the method's rounds depend on what it finds"
        assert read
        assert most is None or len(read) <= most
        if name in ("dp-gauss-1", "dp-gauss-2", "dp-power") and given == {"center": False}:
            assert len(read) == most


@pytest.mark.parametrize("given", [{}, {"center": False}, {"scale": "private"}])
def test_what_is_left_out_of_people_takes_no_pass_of_its_own(given, monkeypatch):
    made = []
    for buys in (True, False):
        if not buys:
            monkeypatch.setattr(Units, "left_out", lambda _: None)
        people = samples.people(rows(1500, 4), np.arange(1500) // 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            pca = DPPCA(4, random_state=0, **given).fit(people)  # k = d: Sigma is asked for once, and nothing else
        assert ("left_out" in pca.release_.diagnostics) == buys
        turns = sum(entry.what.startswith("frame") for entry in pca.ledger_.entries)  # their number is chance
        made.append(pca.release_.diagnostics["passes"] - turns)
    assert made[0] == made[1]


def test_nor_where_columns_are_too_many_for_sigma():
    units = open_quiet(samples.people(rows(60, 6), np.arange(60) // 3), relation="add-remove")
    options = TrackedOptions(tuning=replace(DEFAULT, widest_sigma=4))
    left_out = units.left_out()
    first = _read_first(units, options, left_out)
    assert (first.tally(), left_out.sums().tolist(), units.passes.made) == ((20, 20), [0, 0], 1)
    assert _read_first(units, options, None) is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dp-power", {"rounds": 9}),
        ("k-dp-ojas", {"steps": 5}),
        ("k-dp-pca", {"batch_size": 50}),
        ("dp-gauss-1", {"beta": 3.0}),
    ],
)
def test_options_count_too(name, options):
    read = []
    model = DPPCA(2, algorithm=name, options=options)
    request = FitRequest.of(model, counting(rows(1500, 6), read))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(request.operator)
    most = request.plan().most_passes
    assert most is None or len(read) <= most


@pytest.mark.parametrize("center", [True, False])
def test_scales_of_many_columns_take_as_many_passes_as_those_of_few(center):
    made = []
    for d in (2, 5, 60):
        units = open_quiet(rows(30_000, d), relation="add-remove")
        standard = Standard(buy_mean=center, private=np.arange(d))
        standardise(units, standard, n_hat=3e4, mu=0.2)
        made.append(units.passes.made)
        assert units.passes.made <= standard.most_passes
    assert max(made) <= (9 if center else 3)


def test_units_without_rows_are_refused_before_anything_is_charged():
    units = open_quiet(samples.matrices(np.ones((5, 2, 2))), epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidInputError, match="no rows"):
        standardise(units, Standard(private=np.arange(2)), n_hat=5.0, mu=0.2)
    assert not units.veil.ledger.entries
