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
from eigenveil.errors import BudgetExceededError, InvalidInputError
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
        if field.name == "standard":
            assert own["center"].default is field.default_factory().buy_mean
            continue
        assert own[field.name].default == field.default, field.name
    beside = {"samples", "k", "epsilon", "delta", *RunArguments.__annotations__}
    names = {field.name.replace("standard", "center") for field in dataclasses.fields(ALGORITHMS[name].options)}
    assert set(own) - beside == names


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


@pytest.mark.parametrize("share", [0.4e-10, 0.6e-10, 0.9e-10, 1.1e-10])
def test_a_run_on_a_ledger_that_is_a_little_too_small_spends_nothing_or_returns(share):
    """Found in a review: in between, it spent everything and was then refused its last charge."""
    asked = ev.Budget.from_epsilon_delta(1.0, 1e-6)
    ledger = ev.Ledger(ev.Budget.from_mu(asked.mu * (1 - share)))
    rows = np.random.default_rng(0).normal(size=(2000, 4))
    try:
        ev.tracked_pca(rows, 1, epsilon=1.0, delta=1e-6, ledger=ledger)
    except BudgetExceededError:
        assert not ledger.entries


def rates_of(bad):
    return {
        "a function": lambda _: lambda _: 0.1,
        "text": lambda _: "much",
        "nan": lambda _: float("nan"),
        "nothing": lambda _: None,
        "an empty list": [],
        "bad at the third step": lambda t: 0.1 if t < 3 else None,
        "of the second component": [lambda _: 0.1, lambda _: None],
    }[bad]


BAD_FOR_ALL = ("a function", "text", "nan", "nothing", "an empty list", "of the second component")


@pytest.mark.parametrize("bad", BAD_FOR_ALL)
@pytest.mark.parametrize(("algorithm", "more"), [("k-dp-ojas", {}), ("k-dp-pca", {"batch_size": 100})])
def test_learning_rates_are_checked_before_anything_is_charged(algorithm, more, bad):
    """Found in a review: a function that returns no number ended in a bare TypeError after the charge."""
    ledger = ev.Ledger(ev.Budget.from_epsilon_delta(4.0, 1e-6))
    pca = DPPCA(
        2,
        epsilon=4.0,
        algorithm=algorithm,
        center=False,
        ledger=ledger,
        options={"learning_rates": rates_of(bad), **more},
    )
    with pytest.raises(InvalidInputError, match=r"learning.rates"):
        pca.fit(np.random.default_rng(0).normal(size=(4000, 3)))
    assert not ledger.mu
    assert not [entry for entry in ledger.entries if entry.kind != "declared"]


def test_a_later_rate_is_checked_before_the_steps_are_paid_for():
    ledger = ev.Ledger(ev.Budget.from_epsilon_delta(4.0, 1e-6))
    rows = np.random.default_rng(0).normal(size=(4000, 3))
    arguments = {"epsilon": 4.0, "delta": 1e-6, "clip": 1.0, "steps": 5, "ledger": ledger}
    with pytest.raises(InvalidInputError, match="NoneType at step 3"):
        ev.k_dp_ojas(rows, 1, learning_rates=rates_of("bad at the third step"), **arguments)
    assert ledger.mu <= 0.1001 * ledger.budget.mu  # a count


@pytest.mark.parametrize(
    ("algorithm", "options", "declared"),
    [
        ("k-dp-ojas", {"learning_rates": [0.5] * 30}, ("learning rates", "given as public: 0.5, 0.5")),
        ("k-dp-ojas", {"learning_rates": lambda t: 1 / t}, ("learning rates", "given as public: 1, 0.5")),
        ("k-dp-ojas", {"steps": 3}, ("DP-Ojas: steps", "given as public: 3")),
        ("k-dp-pca", {"learning_rates": lambda t: 1 / t}, ("learning rates", "given as public: 1, 0.5")),
        ("k-dp-pca", {"batch_size": 900}, ("batch size", "public: 900")),
        ("dp-power", {"rounds": 3}, ("rounds", "declared by the caller")),
    ],
)
def test_what_the_caller_gives_is_declared(algorithm, options, declared):
    what, note = declared
    rows = np.random.default_rng(0).normal(size=(4000, 3))
    for given in (options, {}):
        ledger = DPPCA(1, algorithm=algorithm, options=given, center=False).fit(rows).ledger_
        notes = [entry.note for entry in ledger.entries if entry.kind == "declared" and entry.what == what]
        assert bool(notes) is bool(given)
        assert all(one.startswith(note) for one in notes)
