"""Hints before anything is spent: from names and declared bounds, never from values."""

import numpy as np
import pandas as pd
import pytest

import eigenveil as ev
from eigenveil.estimators.before_spending import kind_of
from eigenveil.estimators.request import FitRequest

FRAME = pd.DataFrame(np.zeros((50, 3)), columns=["age", "income", "note"])
UNITS, BOUNDS = "different units", "bounds are declared"


def _hints(data=FRAME, **parameters):
    parameters = {"epsilon": 1.0, "delta": 1e-6} | parameters
    return FitRequest.of(ev.DPPCA(1, **parameters), data).plan().hints


def _about(hints):
    return [text for text in (UNITS, BOUNDS, "no bounds") if any(text in hint for hint in hints)]


def test_names_of_different_kinds():
    first, second = _hints()
    assert "names: 'age' (time), 'income' (money)." in first
    assert 'consider scale="private"' in first
    assert second.startswith("No bounds are declared. With fewer than about ")


@pytest.mark.parametrize(
    "names",
    [
        ["lab_a", "lab_b", "lab_c"],
        ["age", "years", "days"],
        ["average", "postage", "usda"],
        ["x", "y", "height_cm"],
    ],
)
def test_names_that_say_nothing(names):
    assert _about(_hints(FRAME.set_axis(names, axis=1))) == [BOUNDS]


def test_arrays_have_no_names():
    assert _about(_hints(FRAME.to_numpy())) == [BOUNDS]


@pytest.mark.parametrize("scale", ["private", [1.0, 2.0, 3.0], {"age": 10.0}, {"income": "private"}])
def test_scales_are_the_answer(scale):
    assert UNITS not in _about(_hints(scale=scale))


def test_bounds_of_different_widths():
    data = FRAME.set_axis(["a", "b", "c"], axis=1)
    (hint,) = _hints(data, bounds=([0, 0, -5], [1, 5000, 5]))
    assert "bounds: 'b' may vary 5,000 times as much as 'a'" in hint
    assert (
        "column 1 may vary 5,000 times as much as column 0"
        in _hints(data.to_numpy(), bounds=([0] * 3, [1, 5000, 9]))[0]
    )
    assert _hints(data, bounds=([0, 0, 0], [1, 9, 9])) == ()
    some = _hints(data, bounds={"a": (0, 1)})
    assert len(some) == 1
    assert "Some columns have no bounds" in some[0]


def test_bounds_help_more_units_with_a_smaller_budget_and_more_columns():
    def few(**parameters):
        return int(_hints(**parameters)[-1].split("about ")[1].split(" units")[0].replace(",", ""))

    assert few(epsilon=0.1) > 5 * few() > 5 * few(epsilon=10.0)
    assert few(data=np.zeros((5, 100))) > 4 * few(data=np.zeros((5, 4)))


def test_nothing_is_bought_within_bounds_if_mean_and_scales_are_public():
    assert _hints(center=np.zeros(3), scale=np.ones(3)) == ()
    assert _hints(FRAME.to_numpy(), center=False) == ()


def test_values_do_not_matter():
    other = FRAME + np.random.default_rng(0).normal(size=FRAME.shape) * [1.0, 1e6, 0.0]
    assert _hints(other) == _hints()


@pytest.mark.filterwarnings("ignore")
def test_verbose_fits_begin_with_the_hints(capsys):
    data = FRAME + np.random.default_rng(0).normal(size=FRAME.shape)
    for verbose in (1, 0):
        ev.DPPCA(1, epsilon=1.0, delta=1e-6, random_state=0, verbose=verbose).fit(data)
        lines = capsys.readouterr().err.splitlines()
        assert lines[:2] == (list(_hints()) if verbose else [])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Age", "time"),
        ("INCOME_2020", "money"),
        ("weight_kg", "weight"),
        ("tempCelsius", "temperature"),
        ("area_m2", "area"),
        ("age at first pulse", "frequency"),
        ("", None),
        ("\x00", None),
        ("manage", None),
    ],
)
def test_kinds_of_names(name, kind):
    assert kind_of(name) == kind
