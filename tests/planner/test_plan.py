"""Guarantees of ev.plan: monotone predictions, targets, intervals, errors."""

import json

import numpy as np
import pytest

import eigenveil as ev
from eigenveil.errors import InvalidInputError
from eigenveil.planner import EPSILONS, PRESETS, explain, outlook, paper, percent
from eigenveil.planner.expected import SimulationSetting
from eigenveil.planner.guess import make_guess
from eigenveil.planner.table import SimulatedTable


@pytest.mark.parametrize("spectrum", PRESETS)
def test_more_epsilon_is_never_worse(spectrum):
    plan = ev.plan(3000, 20, 2, epsilon=[2.0, 0.1, 1.0, 0.3], spectrum=spectrum)
    assert [row.epsilon for row in plan.rows] == [0.1, 0.3, 1.0, 2.0]
    zetas = [row.zeta for row in plan.rows]
    assert zetas == sorted(zetas, reverse=True)
    assert zetas[0] > 1.5 * zetas[-1]


def test_more_units_are_better():
    zetas = [ev.plan(n, 20, 2, epsilon=1.0, spectrum="flat").rows[0].zeta for n in (1000, 4000, 16_000, 64_000)]
    assert zetas == sorted(zetas, reverse=True)


def test_the_grid_of_epsilons_is_the_default():
    plan = ev.plan(5000, 10, 1)
    assert tuple(row.epsilon for row in plan.rows) == EPSILONS
    assert (EPSILONS[0], EPSILONS[-1]) == (0.1, 10.0)


def test_the_epsilon_for_a_target_reaches_it_and_a_smaller_one_does_not():
    plan = ev.plan(3000, 20, 2, target=0.97, spectrum="fast decay")
    (row,) = plan.rows
    assert plan.solved == "epsilon"
    assert row.epsilon == plan.needed
    assert row.energy >= 0.97
    again = ev.plan(3000, 20, 2, epsilon=plan.needed, spectrum="fast decay").rows[0]
    assert again == row
    less = ev.plan(3000, 20, 2, epsilon=plan.needed / 1.3, spectrum="fast decay").rows[0]
    assert less.energy < 0.97


def test_the_n_for_a_target_reaches_it_and_fewer_do_not():
    plan = ev.plan(None, 20, 2, epsilon=1.0, target=0.97, spectrum="fast decay")
    assert plan.solved == "n"
    assert plan.rows[0].n == plan.needed
    assert plan.rows[0].energy >= 0.97
    fewer = ev.plan(int(plan.needed / 1.3), 20, 2, epsilon=1.0, spectrum="fast decay").rows[0]
    assert fewer.energy < 0.97


def test_a_target_that_cannot_be_reached_is_reported():
    plan = ev.plan(200, 20, 2, target=0.99999, spectrum="slow decay")
    assert plan.needed is None
    assert plan.rows[0].epsilon == 50.0
    assert "No epsilon up to 50" in str(plan)


def test_tracked_is_better_than_gauss_1_and_worse_than_no_privacy():
    row = ev.plan(20_000, 60, 2, epsilon=1.0, spectrum="flat").rows[0]
    assert row.without_privacy < row.zeta < row.gauss_1


def test_similar_units_need_less_noise():
    """People with many rows, and matrices close to their mean, are distinguished from rows."""

    def zeta(spread):
        return ev.plan(5000, 15, 2, epsilon=1.0, spread=spread).rows[0].zeta

    assert zeta("rows") > 2 * zeta(10) > 4 * zeta(1000)
    assert zeta(1) == zeta("rows")
    assert zeta(0.1) < zeta(10.0) / 3


def test_what_is_bought_is_paid_for():
    flat = {"epsilon": 1.0, "spectrum": [3.0, 2.0] + [1.0] * 18}
    plans = [
        ev.plan(1500, 20, 2, center=center, scale=scale, **flat)
        for center, scale in ((False, None), (True, None), (True, "private"))
    ]
    free, centred, scaled = (plan.rows[0].zeta for plan in plans)
    assert 1.05 * free < min(centred, scaled)
    assert "pays for the private mean and scales of the columns" in str(plans[2])
    assert "pays for the private mean of" in str(plans[1])
    assert "pays for" not in str(plans[0])
    assert max(centred, scaled) < 2.5 * free


def test_with_many_units_the_mean_and_the_scales_cost_little():
    plans = [ev.plan(10**6, 10, 2, epsilon=1.0, center=c, scale=s) for c, s in ((False, None), (True, "private"))]
    free, paid = (plan.rows[0].zeta for plan in plans)
    assert paid < 1.5 * free


def test_matrices_are_not_centred():
    asked = {"epsilon": 1.0, "spread": 10.0}
    assert ev.plan(3000, 15, 2, **asked) == ev.plan(3000, 15, 2, center=False, **asked)


def test_a_target_is_reached_with_what_is_bought():
    asked = {"target": 0.97, "spectrum": "fast decay"}
    free, paid = (ev.plan(3000, 20, 2, center=c, scale=s, **asked) for c, s in ((False, None), (True, "private")))
    assert free.needed < paid.needed
    assert paid.rows[0].energy >= 0.97


def test_a_public_sample_is_scaled():
    """Its unit does not matter if scales are bought, and decides about everything otherwise."""
    rng = np.random.default_rng(0)
    sample = rng.standard_normal((2000, 6)) @ rng.standard_normal((6, 6))
    units = np.array([1.0, 1000.0, 1.0, 1.0, 1.0, 10.0])
    asked = {"epsilon": 1.0, "scale": "private"}
    one, other = (ev.plan(5000, 6, 2, spectrum=rows, **asked).rows[0] for rows in (sample, sample * units))
    assert other.zeta == pytest.approx(one.zeta, rel=1e-6)
    assert ev.plan(5000, 6, 1, spectrum=sample * units, epsilon=1.0).rows[0].zeta < one.zeta / 2


def test_the_outlook_is_a_sentence():
    asked = {"epsilon": 1.0, "delta": 1e-6, "center": True, "scale": "private"}
    shown = outlook(6, 1, **asked)
    energies = [ev.plan(n, 6, 1, **asked).rows[0].energy for n in (1000, 10_000, 100_000)]
    for energy, n in zip(energies, ("1,000", "10,000", "100,000"), strict=True):
        assert f"{percent(energy)} " in shown
        assert f"with {n} units" in shown
    assert "the best component with" in shown
    assert outlook(500, 2, **asked).endswith("eigenveil plan -n UNITS -d 500 -k 2 --epsilon 1 --scale private")


def test_stated_spectra_have_narrow_intervals_and_presets_wide_ones():
    stated = ev.plan(20_000, 20, 2, epsilon=1.0, spectrum=10 * 0.7 ** np.arange(20) + 0.1).rows[0]
    guessed = ev.plan(20_000, 20, 2, epsilon=1.0, spectrum="fast decay").rows[0]
    assert stated.zeta == guessed.zeta
    for row, factor in ((stated, 1.5), (guessed, 3.0)):
        low, high = row.interval
        assert low <= row.zeta / factor
        assert row.zeta * factor <= high < 1
    assert stated.interval[1] < guessed.interval[1]


def test_the_interval_is_wide_if_noise_dominates():
    row = ev.plan(30, 50, 2, epsilon=0.1, spectrum=[10.0, 5.0] + [0.1] * 48).rows[0]
    assert row.zeta > 0.7
    assert 0 < row.interval[0] < row.zeta / 2.9
    assert row.interval[1] <= 1


def test_paper_bounds_if_they_apply():
    spiked = [10.0, 5.0] + [1.0] * 18
    row = ev.plan(100_000, 20, 2, epsilon=1.0, spectrum=spiked).rows[0]
    model = ev.theory.gaussian_model(spiked, 2, n=100_000)
    assert row.upper_bound == ev.theory.upper_bound(100_000, model, epsilon=1.0, delta=1e-6)
    lower = ev.theory.lower_bound_spiked(100_000, d=20, spikes=[9.0, 4.0], sigma=1.0, epsilon=1.0)
    assert row.lower_bound == pytest.approx(lower)
    matrices = make_guess(20, 2, spectrum=spiked, spread=float(np.sqrt(20 * 21)))
    model = ev.theory.spiked_model([9.0, 4.0], d=20, sigma=1.0, n=1000)
    expected = ev.theory.upper_bound(1000, model, epsilon=1.0, delta=1e-6)
    assert paper.upper(matrices, 1000, 2, epsilon=1.0, delta=1e-6) == pytest.approx(expected)
    assert paper.lower(matrices, 1000, 2, epsilon=1.0) is None


@pytest.mark.parametrize(
    ("k", "spread"),
    [(2, 10), (3, "rows"), (20, "rows"), (1, 22.0)],
    ids=["people", "no gap", "all", "other matrices"],
)
def test_paper_bounds_are_none_otherwise(k, spread):
    guess = make_guess(20, k, spectrum=[10.0, 5.0] + [1.0] * 18, spread=spread)
    assert paper.upper(guess, 1000, k, epsilon=1.0, delta=1e-6) is None
    assert paper.lower(guess, 1000, k, epsilon=1.0) is None


@pytest.mark.parametrize(("d", "k"), [(1, 1), (3, 3), (6, 2), (8, 2)])
def test_small_spaces(d, k):
    row = ev.plan(2000, d, k, epsilon=1.0).rows[0]
    assert 0 <= row.zeta < 0.3
    assert 0 <= row.gauss_1 < 0.5


def test_nearly_all_of_many_columns():
    """More components than the iterative solver can compute."""
    setting = SimulationSetting.of(
        SimulatedTable.of(make_guess(210, 209, spectrum="flat", spread="rows"), center=False, scale=False),
        5000,
        209,
    )
    assert 0 <= setting.without_privacy() < 0.3


def test_few_units_and_many():
    few = ev.plan(1, 5, 1, epsilon=1.0).rows[0]
    many = ev.plan(10**9, 5, 1, epsilon=1.0, center=False).rows[0]
    assert many.zeta < 1e-3 < few.zeta <= 1


def test_the_table_is_readable_and_json_contains_everything():
    plan = ev.plan(20_000, 20, 2, spectrum="flat")
    text = str(plan)
    assert "2.7:1" in text
    assert "The spectrum is a guess" in text
    assert max(map(len, text.splitlines())) <= 115
    plain = json.loads(json.dumps(plan.to_dict()))
    assert plain["rows"][3]["epsilon"] == 1.0
    assert plain["rows"][3]["energy"] == plan.rows[3].energy
    assert plain["meaning"].startswith("epsilon = 1 in words")


def test_the_same_numbers_give_the_same_plan():
    assert ev.plan(2000, 10, 2, epsilon=1.0) == ev.plan(2000, 10, 2, epsilon=1.0)


def test_a_delta_above_one_over_n_is_reported():
    assert "above 1/n" in str(ev.plan(2000, 5, 1, epsilon=1.0, delta=0.01))
    assert "above 1/n" not in str(ev.plan(2000, 5, 1, epsilon=1.0))


def test_epsilon_in_words_for_any_epsilon():
    assert "at most 52%" in explain(0.1, 1e-6)
    assert "at most 73%" in explain(1.0, 1e-6)
    assert "at most 99.99%" in explain(10_000.0, 1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 0}, "n must be an integer"),
        ({"n": 10.5}, "n must be an integer"),
        ({"n": None}, "n must be an integer"),
        ({"d": 0}, "d must be an integer"),
        ({"d": 5000}, "up to 4,000 columns"),
        ({"k": 6}, "from 1 to 5"),
        ({"k": 0.5}, "from 1 to 5"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": [1.0, -1.0]}, "epsilon must be"),
        ({"epsilon": "much"}, "epsilon must be"),
        ({"delta": 0.0}, "delta must lie"),
        ({"target": 1.0, "epsilon": None}, "target must lie"),
        ({"target": "high"}, "target must lie"),
        ({"target": 0.9}, "either n or one epsilon"),
        ({"target": 0.9, "n": None, "epsilon": None}, "either n or one epsilon"),
        ({"target": 0.9, "n": None, "epsilon": [1.0, 2.0]}, "either n or one epsilon"),
        ({"spectrum": "steep"}, "spectrum must be one of"),
        ({"spectrum": [3.0, 2.0]}, "shares of the variance"),
        ({"spectrum": [0.2, 0.1]}, "shares of the variance"),
        ({"spectrum": [-1.0, 1.0, 1.0, 1.0, 1.0]}, "eigenvalues must be"),
        ({"spectrum": [1.0] * 6}, "eigenvalues must be"),
        ({"spectrum": [0.0] * 5}, "eigenvalues must be"),
        ({"spectrum": [1.0, float("nan")]}, "spectrum must be"),
        ({"spectrum": ["a", "b"]}, "spectrum must be"),
        ({"spectrum": 3.0}, "spectrum must be"),
        ({"spectrum": []}, "spectrum must be"),
        ({"spectrum": np.ones((10, 4))}, "a public sample must have"),
        ({"spectrum": np.ones((10, 5))}, "rows that differ"),
        ({"spread": 0}, "spread must be"),
        ({"spread": True}, "spread must be"),
        ({"spread": "people"}, "spread must be"),
        ({"spread": -1.0}, "spread must be"),
        ({"spread": 1e9}, "spread must be"),
        ({"spread": float("nan")}, "spread must be"),
        ({"scale": "public"}, "scale must be None or 'private'"),
        ({"scale": [1.0] * 5}, "scale must be None or 'private'"),
        ({"center": [0.0] * 5}, "center must be True or False"),
        ({"center": 1}, "center must be True or False"),
        ({"scale": "private", "spread": 3.0}, "matrices have no rows"),
    ],
)
def test_invalid_input_raises(change, says):
    arguments = {"n": 1000, "d": 5, "k": 2, "epsilon": 1.0} | change
    n, d, k = (arguments.pop(name) for name in ("n", "d", "k"))
    with pytest.raises(InvalidInputError, match=says):
        ev.plan(n, d, k, **arguments)
