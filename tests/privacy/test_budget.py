import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget, Relation, split_mu


@given(st.floats(1e-3, 20), st.floats(1e-12, 0.3), st.floats(0, 1), st.floats(0, 0.999))
def test_set_aside_and_rest_come_to_the_total(epsilon, delta, e_share, d_share):
    budget = Budget.from_epsilon_delta(
        epsilon, delta, epsilon_aside=e_share * epsilon, delta_aside=d_share * delta
    )
    assert budget.delta(epsilon) <= delta * (1 + 1e-9)
    if budget.mu:
        assert budget.epsilon(delta) <= epsilon * (1 + 1e-9)


def test_curve_below_what_was_set_aside():
    budget = Budget.from_epsilon_delta(1.0, 1e-6, epsilon_aside=0.5, delta_aside=5e-7)
    assert budget.delta(0.4) == 1.0
    assert budget.epsilon(1e-7) == math.inf
    assert budget.epsilon(0.0) == math.inf


def test_all_set_aside_leaves_no_gaussian_part():
    budget = Budget.from_epsilon_delta(1.0, 1e-6, epsilon_aside=1.0, delta_aside=1e-6)
    assert budget.mu == 0
    assert budget.sigma == math.inf
    assert budget.epsilon(1e-6) == 1.0
    assert budget.epsilon(0.0) == math.inf


@given(st.floats(1e-6, 100), st.lists(st.floats(0, 1e6), min_size=1, max_size=20).filter(lambda w: sum(w) > 0))
def test_split_is_in_proportion_and_complete(mu, weights):
    shares = split_mu(mu, weights)
    assert math.fsum(s * s for s in shares) == pytest.approx(mu * mu, rel=1e-12)
    total = math.fsum(weights)
    for share, weight in zip(shares, weights, strict=True):
        assert share**2 == pytest.approx(mu**2 * (weight / total), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("weights", [[], [0.0], [-1, 2], [math.nan], [math.inf, 1]])
def test_invalid_weights(weights):
    with pytest.raises(InvalidInputError, match="weights"):
        Budget.from_mu(1.0).split(*weights)


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf, "1"])
def test_invalid_mu(mu):
    with pytest.raises(InvalidInputError, match="mu must be"):
        Budget.from_mu(mu)


def test_invalid_parts_set_aside_and_empty_budget():
    with pytest.raises(InvalidInputError, match="within the total"):
        Budget.from_epsilon_delta(1.0, 1e-6, epsilon_aside=2.0)
    with pytest.raises(InvalidInputError, match="allow something"):
        Budget(mu=0.0)
    with pytest.raises(InvalidInputError, match="at least 0"):
        Budget(mu=1.0, epsilon_aside=math.nan)
    for bad in (-0.1, math.nan):
        with pytest.raises(InvalidInputError, match="epsilon"):
            Budget.from_mu(1.0).delta(bad)
    for bad in (-0.1, 1.0, math.nan):
        with pytest.raises(InvalidInputError, match="delta"):
            Budget.from_mu(1.0).epsilon(bad)


def test_relations():
    assert Relation("add-remove").distance_between_sums(2.0) == 2.0
    assert Relation("replace").distance_between_sums(2.0) == 4.0
    assert Relation("empty-slot").distance_between_sums(2.0) == 2.0
    assert {relation.part_must_survive for relation in Relation} == {"removal", "replacement", "emptying"}
    with pytest.raises(InvalidInputError, match=r"'add-remove' or 'replace' or 'empty-slot', got 'bounded'"):
        Relation("bounded")
