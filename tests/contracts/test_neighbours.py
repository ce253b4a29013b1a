"""Rule 4 for every operator: a unit's contribution does not depend, to the bit, on the other units or their order;
and no unit changes a clipped sum by more than the radius, in exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from contracts.catalogue import SHIFT, D
from eigenveil.engines import LocalEngine, SampledPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip
from eigenveil.operators import Matrices, MeanRows, Products, Squares, samples

V = np.linalg.qr(np.random.default_rng(5).normal(size=(D, 2)))[0]
BASIS = np.linalg.qr(np.random.default_rng(6).normal(size=(D, 2)))[0]


def ids_of(units):
    return np.repeat(np.arange(len(units)), [len(unit) for unit in units])


def single(units):
    return np.concatenate(units).astype(np.float32)


SINGLE = [
    ("rows", lambda units: samples.rows(np.concatenate(units))),
    ("rows float32", lambda units: samples.rows(single(units))),
    ("rows float32 shifted", lambda units: samples.rows(single(units)).shifted(SHIFT)),
    ("rows shifted", lambda units: samples.rows(np.concatenate(units)).shifted(SHIFT)),
    ("rows projected", lambda units: samples.rows(np.concatenate(units)).projected(BASIS)),
    ("sparse", lambda units: samples.rows(sparse.csr_array(np.concatenate(units)))),
    ("sparse shifted", lambda units: samples.rows(sparse.csr_array(np.concatenate(units))).shifted(SHIFT)),
    ("spiked", lambda units: samples.spiked(V, [4.0, 2.0], np.concatenate(units))),
    ("matrices", lambda units: samples.matrices(np.array([np.outer(u[0], np.roll(u[0], 1)) for u in units]))),
]
MANY = [
    ("people", lambda units: samples.people(np.concatenate(units), ids_of(units))),
    ("factors", samples.factors),
]
FORMS = dict(SINGLE + MANY)
W = np.random.default_rng(1).normal(size=(D, 3))
VIEWS = {
    "block": (
        lambda operator: SampledPopulation(operator, Products(W), engine=LocalEngine(2)),
        np.full((D, 3), 0.125),
    ),
    "matrix": (
        lambda operator: SampledPopulation(operator, Matrices(), engine=LocalEngine(2)),
        np.full((D, D), 0.125),
    ),
    "matrix about 0": (
        lambda operator: SampledPopulation(operator, Matrices(), engine=LocalEngine(2)),
        np.zeros((D, D)),
    ),
    "vector": (lambda operator: SampledPopulation(operator, MeanRows(), engine=LocalEngine(2)), np.full(D, 0.125)),
    "squares": (
        lambda operator: SampledPopulation(
            operator, Squares(np.arange(D - 1), np.linspace(0.5, 2.0, D - 1), 9.0), engine=LocalEngine(2)
        ),
        np.zeros(D - 1),
    ),
}
EDGES = 2.0 ** (np.arange(-60, 60) / 8)
CLIP = Clip(2.0, -22)
ODD = [math.nan, math.inf, 1e200, 1e154, 1e-200, 0.0, 3e38, 1e30, 2.0**40, 1e-30, 1e-44]


@st.composite
def populations(draw, name):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 40))
    units = [
        rng.normal(size=(1 if name not in dict(MANY) else int(rng.integers(1, 5)), D)) * rng.lognormal(sigma=2)
        for _ in range(n)
    ]
    for value in draw(st.lists(st.sampled_from(ODD), max_size=3)):
        units[int(rng.integers(n))][0, int(rng.integers(D))] = value
    return units, int(rng.integers(n)), rng.permutation(n)


def answers(name, view, units):
    make, centre = VIEWS[view]
    with np.errstate(all="ignore"):
        operator = FORMS[name](units)
    counts, (total,) = make(operator).survey(centre, EDGES, [CLIP])
    return counts, total


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", FORMS)
def test_removing_and_moving_units(name, view):
    @settings(max_examples=20)
    @given(populations(name))
    def search(problem):
        units, out, order = problem
        counts, total = answers(name, view, units)
        moved_counts, moved_total = answers(name, view, [units[i] for i in order])
        np.testing.assert_array_equal(counts, moved_counts)
        np.testing.assert_array_equal(total, moved_total)
        fewer_counts, fewer = answers(name, view, units[:out] + units[out + 1 :])
        assert set((counts - fewer_counts).tolist()) <= {0, 1}
        step = total - fewer
        if view.startswith("matrix"):
            step = np.triu(step) + np.triu(step, 1).T
        square = sum(int(v) ** 2 for v in step.ravel()) * Fraction(4) ** CLIP.exponent
        assert square <= Fraction(CLIP.radius) ** 2
        np.testing.assert_array_equal(counts - fewer_counts, answers(name, view, [units[out]])[0])

    if view in ("vector", "squares") and name == "matrices":
        with pytest.raises(InvalidInputError, match="no rows"):
            search()
    else:
        search()
