"""The registry defines names, options and lists of algorithms, and every algorithm runs on open units."""

import dataclasses
import inspect
import re
import warnings

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.algorithms.open_units import RunArguments, open_units
from eigenveil.algorithms.registry import ALGORITHMS
from eigenveil.cli.options import AlgorithmName as Choice
from eigenveil.errors import InvalidInputError
from eigenveil.report import methods

FACES = {
    "tracked": ev.tracked_pca,
    "k-dp-pca": ev.k_dp_pca,
    "k-dp-ojas": ev.k_dp_ojas,
    "dp-gauss-1": ev.dp_gauss_1,
    "dp-gauss-2": ev.dp_gauss_2,
    "dp-power": ev.dp_power_method,
}
X = np.random.default_rng(0).normal(size=(1500, 5)) * [5, 3, 1, 1, 1]
COST = {"epsilon": 2.0, "delta": 1e-5}


def test_lists_come_from_the_registry():
    assert [choice.value for choice in Choice] == list(ALGORITHMS) == list(FACES)
    assert all(name == algorithm.name for name, algorithm in ALGORITHMS.items())
    stated = re.search(r"algorithm : \{(.*?)\}", DPPCA.__doc__).group(1)
    assert [name.strip('" ') for name in stated.split(",")] == list(ALGORITHMS)
    assert set(ALGORITHMS) <= set(methods._DESCRIPTIONS)
    with pytest.raises(InvalidInputError, match="'tracked', 'dp-gauss-1', 'dp-power'"):
        DPPCA(2, algorithm="k-dp-ojas", whiten=True).fit(X)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_function_has_the_options_of_its_algorithm(name):
    """Names and defaults of the function are those of its options."""
    own = inspect.signature(FACES[name]).parameters
    for field in dataclasses.fields(ALGORITHMS[name].options):
        assert own[field.name].default == field.default, field.name
    beside = {"samples", "k", "epsilon", "delta", *RunArguments.__annotations__}
    assert set(own) - beside == {field.name for field in dataclasses.fields(ALGORITHMS[name].options)}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_function_gives_the_same_as_a_run_on_open_units(name):
    algorithm = ALGORITHMS[name]
    options = algorithm.options()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        face = FACES[name](X, 2, **COST, random_state=3)
        units = open_units(X, **COST, random_state=3, aside=options.aside(**COST))
        release = algorithm.run(units, 2, options)
    assert np.array_equal(face.components, release.components)
    assert face.diagnostics == release.diagnostics
    assert face.ledger.mu == release.ledger.mu


@pytest.mark.parametrize("name", ALGORITHMS)
def test_errors_name_wrong_arguments(name):
    stated = rf"{FACES[name].__name__}\(\) got an unexpected keyword argument 'quantiles'; it takes .*random_state"
    with pytest.raises(TypeError, match=stated):
        FACES[name](X, 2, **COST, quantiles=0.5)
    with pytest.raises(TypeError, match="epsilon"):
        FACES[name](X, 2, delta=1e-5)
    with pytest.raises(InvalidInputError, match="takes no option 'quantiles'"):
        DPPCA(2, algorithm=name, options={"quantiles": 0.5}).fit(X)
    assert set(RunArguments.__annotations__) == {"relation", "ledger", "random_state", "engine"}


def test_errors_of_the_meta_algorithm_have_its_name():
    with pytest.raises(TypeError, match=r"black_box_pca\(\) got an unexpected keyword argument 'bogus'"):
        ev.black_box_pca(X, 2, lambda units: np.eye(units.d)[0], bogus=1)
    assert "random_state" in inspect.signature(ev.black_box_pca).parameters


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tracked", {"oversampling": -1}),
        ("dp-gauss-1", {"noise": "loud"}),
        ("dp-gauss-2", {"not_private": True}),
        ("dp-power", {"rounds": 0}),
        ("k-dp-pca", {"halves": "thirds"}),
        ("k-dp-ojas", {"C_printed": 2.0}),
    ],
)
def test_options_are_checked_before_data_are_opened(name, options):
    with pytest.raises(InvalidInputError):
        ALGORITHMS[name].options(**options)
    with pytest.raises(InvalidInputError) as caught:
        DPPCA(2, algorithm=name, options=options).fit("no such file.parquet")
    assert "no such file" not in str(caught.value)
