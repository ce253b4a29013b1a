"""Counts of excluded rows: exact sums of numbers in [0, 1], the same for any order, form and chunking."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from eigenveil.engines import Asked, DisjointPlan, FullPlan, LocalEngine, SampledPopulation, read_ahead
from eigenveil.engines.left_out import PLACES, LeftOut
from eigenveil.engines.plans import Coins, EmptySlots
from eigenveil.engines.sampled import Passes
from eigenveil.operators import ColumnGroup, MeanRows, samples
from support.open import open_quiet

ONE = 1 << PLACES
GROUPS = (ColumnGroup("site", slice(0, 2)), ColumnGroup("sex", slice(2, 4)))


def sums(operator, plan=None):
    plan = FullPlan() if plan is None else plan
    return LeftOut(operator, plan=plan, engine=LocalEngine(2), passes=Passes()).sums().tolist()


def test_people_rows_and_shares():
    rows = np.ones((7, 2))
    rows[[1, 3, 4], 0] = np.nan, np.inf, 1e200  # excluded: one of three rows of a, both rows of b, none of c
    assert sums(samples.people(rows, list("aaabbcc"))) == [2 * ONE, round(ONE / 3) + ONE]
    assert sums(samples.people(rows[:0], [])) == [0, 0]
    assert sums(samples.factors([np.zeros((0, 2)), rows[:2]])) == [ONE, ONE // 2], "no row: nothing is left out"


def test_units_are_counted_once_for_every_group_that_has_a_row_of_zeros():
    rows = np.array(
        [[1, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0], [np.nan, 0, 0, 1.0]]
    )  # 2: twice no site
    one_hot = replace(samples.rows(rows), groups=GROUPS)
    assert sums(one_hot) == [2 * ONE, ONE]
    people = replace(samples.people(rows, [1, 2, 2, 3, 3]), groups=GROUPS)
    assert sums(people) == [ONE, ONE // 2, ONE, ONE]
    assert sums(replace(samples.people(sparse.csr_array(rows), [1, 2, 2, 3, 3]), groups=GROUPS)) == sums(people)
    assert sums(people.shifted(np.full(4, 0.25))) == sums(people), "what is 0 is so before a mean is taken off"


def test_parts_add_up():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((500, 4)) < 0.1, np.nan, rng.integers(0, 2, (500, 4)))
    people = replace(samples.people(rows, rng.integers(0, 90, 500)), groups=GROUPS)
    parts = DisjointPlan(3, Coins(b"k" * 32))
    each = [sums(people, parts.part(index)) for index in range(3)]
    assert np.sum(each, axis=0).tolist() == sums(people)
    assert all(np.any(one) for one in each)


@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_units_outside_the_part_are_not_counted(share):
    """A part of most units reaches the query as a whole block, with the others marked."""
    rng = np.random.default_rng(1)
    rows = np.where(rng.random((500, 4)) < 0.1, np.nan, rng.integers(0, 2, (500, 4)))
    outside, ids = rng.random(90) < share, rng.permutation(np.arange(500) % 90)
    people = replace(samples.people(rows, ids), groups=GROUPS)
    kept = ~outside[ids]
    inside = replace(samples.people(rows[kept], ids[kept]), groups=GROUPS)
    assert sums(people, EmptySlots(outside)) == sums(inside) != sums(people)


def test_it_is_read_in_the_pass_of_others():
    people, passes, plan = samples.people(np.array([[np.nan], [1.0]]), [1, 1]), Passes(), FullPlan()
    same = {"plan": plan, "engine": LocalEngine(1), "passes": passes}
    left_out, vectors = LeftOut(people, **same), SampledPopulation(people, MeanRows(), **same)
    read_ahead(Asked(vectors, np.zeros(1), np.array([np.inf])), beside=left_out)
    assert (left_out.sums().tolist(), vectors.tally(), passes.made) == ([ONE, ONE // 2], (1, 1), 1)


@pytest.mark.parametrize("data", [samples.rows(np.ones((3, 2))), samples.matrices(np.ones((3, 2, 2)))])
def test_where_nothing_can_be_left_out_nothing_is_asked(data):
    assert open_quiet(data).left_out() is None
