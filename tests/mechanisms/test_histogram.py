import math

import pytest

from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil, no_noise, stability_histogram
from eigenveil.mechanisms.histogram import stability_threshold
from eigenveil.privacy import Budget, Ledger


def make_veil(relation="add-remove", source=None, epsilon=1.0, delta=1e-3):
    return Veil(Ledger(Budget(mu=0.0, epsilon_aside=epsilon, delta_aside=delta), relation=relation), source=source)


@pytest.mark.parametrize(("relation", "scale"), [("add-remove", 1.0), ("replace", 2.0)])
def test_threshold_and_noise_follow_the_relation(relation, scale):
    veil = make_veil(relation, no_noise)
    threshold = stability_threshold(scale, 1e-3)
    assert threshold == pytest.approx(1 + scale * math.log(500))
    below, above = math.floor(threshold), math.floor(threshold) + 1
    out = stability_histogram([7] * above + [-(10**30)] * below, epsilon=1.0, delta=1e-3, veil=veil)
    assert out == {7: above}
    (entry,) = veil.ledger.entries
    assert (entry.epsilon, entry.delta, entry.sensitivity) == (1.0, 1e-3, scale)
    assert entry.scale == pytest.approx(scale)


def test_the_ledger_does_not_state_the_number_of_bins():
    ledgers = []
    for bins in ([], [1] * 50, list(range(40))):
        veil = make_veil(source=SeededBytes(0))
        stability_histogram(bins, epsilon=1.0, delta=1e-3, veil=veil)
        ledgers.append(veil.ledger.to_json())
    assert len(set(ledgers)) == 1


def test_order_is_that_of_the_bins():
    bins = [5] * 100 + [-3] * 100 + [2] * 100
    for data in (bins, bins[::-1]):
        assert list(stability_histogram(data, epsilon=1.0, delta=1e-3, veil=make_veil())) == [-3, 2, 5]


def test_a_single_unit_is_released_with_probability_delta():
    """A bin of one unit is the event that delta pays for; delta is large here, so that it can be measured."""
    delta, rounds = 0.05, 4000
    named = sum(
        bool(stability_histogram([9], epsilon=1.0, delta=delta, veil=make_veil(delta=delta)))
        for _ in range(rounds)
    )
    assert abs(named / rounds - delta) < 6 * math.sqrt(delta / rounds)


def test_edge_cases():
    assert stability_histogram([], epsilon=1.0, delta=1e-3, veil=make_veil(source=no_noise)) == {}
    assert stability_histogram([4], epsilon=1.0, delta=1e-3, veil=make_veil(source=no_noise)) == {}
    assert stability_histogram([4] * 900, epsilon=1.0, delta=1e-3, veil=make_veil(source=no_noise)) == {4: 900}


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-6), (1, 0), (1, 1), (math.nan, 1e-6)])
def test_invalid_costs(epsilon, delta):
    with pytest.raises(InvalidInputError):
        stability_histogram([1], epsilon=epsilon, delta=delta, veil=make_veil())


def test_over_budget():
    with pytest.raises(BudgetExceededError):
        stability_histogram([1], epsilon=1.1, delta=1e-3, veil=make_veil())
