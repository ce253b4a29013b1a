"""Hypothesis searches for neighbouring datasets that exceed the stated sensitivity of a mechanism."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings, target
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenveil.mechanisms import stability_histogram
from support.catalogue import MECHANISMS, ledger
from support.checks import draws_match_ledger, noise_matches_ledger, stated_sensitivity_holds
from support.veils import WatchedVeil

RELATIONS = ["add-remove", "replace"]
values = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e154, 1e200, 1e-200, 5e-324, 2.0**0.25]),
)


@st.composite
def neighbours(draw, relation):
    d = draw(st.integers(1, 4))
    n = draw(st.integers(1, 8))
    rows = draw(hnp.arrays(np.float64, (n, d), elements=values))
    index = draw(st.integers(0, n - 1))
    if relation == "add-remove":
        pair = rows, np.delete(rows, index, axis=0)
    else:
        other = rows.copy()
        other[index] = draw(st.one_of(st.just(-rows[index]), hnp.arrays(np.float64, d, elements=values)))
        pair = rows, other
    return pair if draw(st.booleans()) else pair[::-1]


def underflowing(relation):
    """Rows whose products with exact zeros have squares that underflow, next to entries that nearly overflow."""
    near, far = [1e-200, 1e-200, 1e-200], [1e-200, 1e154, 1e-200]
    return np.array([near, near, far]), np.array([near, near, near] if relation == "replace" else [near, near])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_pair_of_neighbours_exceeds_the_stated_sensitivity(name, relation):
    @settings(max_examples=60)
    @given(neighbours(relation))
    @example(underflowing(relation))
    @example((np.array([[1e-163, 1e154, 0.0], [0.0, 0.0, 0.0]]), np.zeros((2 if relation == "replace" else 1, 3))))
    def search(pair):
        target(stated_sensitivity_holds(name, relation, *pair))

    search()


@pytest.mark.parametrize(
    ("name", "relation"),
    # under replace only vectors: x x^T and (-x)(-x)^T are equal, so opposite matrices do not exist
    [
        (name, relation)
        for name in MECHANISMS
        for relation in RELATIONS
        if ("sum" in name or "tracked" in name) and (relation == "add-remove" or "vectors" in name)
    ],
)
def test_the_search_can_attain_the_bound(name, relation):
    """The stated sensitivity is tight: a row far away and its opposite come within 1 % of it."""
    near, far = [0.2, 0.1], [100.0, 100.0]
    neighbour = [near, [-100.0, -100.0]] if relation == "replace" else [near]
    assert stated_sensitivity_holds(name, relation, np.array([near, far]), np.array(neighbour)) > 0.98


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_ledger_states_number_and_scale_of_all_draws(name, relation):
    rows = np.random.default_rng(3).normal(size=(40, 3))
    draws_match_ledger(name, relation, rows)
    noise_matches_ledger(name, relation, rows)


@pytest.mark.parametrize("relation", RELATIONS)
@given(bins=st.lists(st.integers(-3, 3), min_size=1, max_size=10), other=st.integers(-4, 4))
def test_histogram_sensitivity(relation, bins, other):
    neighbour = bins[1:] if relation == "add-remove" else [other, *bins[1:]]
    seen = []
    for data in (bins, neighbour):
        veil = WatchedVeil(ledger(relation))
        stability_histogram(data, epsilon=0.3, delta=1e-4, veil=veil)
        counts = Counter(data)
        disclosed = np.ldexp(veil.seen[0].steps[0].astype(float), veil.seen[0].exponent)
        assert disclosed.tolist() == [counts[b] for b in sorted(counts)]
        seen.append(counts)
    moved = sum(abs(seen[0][b] - seen[1][b]) for b in set(seen[0]) | set(seen[1]))
    assert moved <= veil.ledger.entries[0].sensitivity
