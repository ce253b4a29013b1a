"""Answers that were read ahead equal those of later passes, and are used for no other query."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from eigenveil.engines import Asked, LocalEngine, SampledPopulation, read_ahead
from eigenveil.engines.query import JointQuery
from eigenveil.engines.sampled import Passes
from eigenveil.kernels import Clip
from eigenveil.operators import MeanRows, Products, RowsOperator, Variances, samples

EDGES = np.append(2.0 ** np.arange(-3, 6), np.inf)
CLIP = Clip(2.0, -20)
ROWS = np.random.default_rng(0).normal(size=(300, 4))
ROWS[7, 2] = np.nan
U = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 2)))[0]


def populations(*, threads=1):
    """Three populations of the same units with a common counter of passes, and their queries."""
    units, passes = samples.rows(ROWS), Passes()
    engine = LocalEngine(threads)
    first = SampledPopulation(units, MeanRows(), engine=engine, passes=passes)
    plan = first.plan
    others = [
        SampledPopulation(units, tensor, plan=plan, engine=engine, passes=passes)
        for tensor in (Products(U), Variances(U, slice(2, None)))
    ]
    asked = [
        Asked(population, np.full(population.shape, 0.25), EDGES, (CLIP, Clip(1.0, -24)))
        for population in (first, *others)
    ]
    return passes, asked


def answers(asked):
    return [one.population.survey(one.centre, one.edges, one.clips) for one in asked]


def same(one, other):
    return np.array_equal(one[0], other[0]) and all(map(np.array_equal, one[1], other[1]))


@pytest.mark.parametrize("threads", [1, 2])
def test_one_pass_tells_what_three_would(threads):
    _, fresh = populations()
    passes, asked = populations(threads=threads)
    read_ahead(*asked)
    assert passes.made == 1
    assert all(map(same, answers(asked), answers(fresh)))
    assert passes.made == 1


@pytest.mark.parametrize("form", ["rows", "shifted", "projected", "sparse", "people"])
@pytest.mark.parametrize("threads", [1, 2])
def test_variances_along_the_same_directions_are_computed_once_and_are_the_same(form, threads, monkeypatch):
    units = {
        "rows": samples.rows(ROWS),
        "shifted": samples.rows(ROWS).shifted(np.ones(4)),
        "projected": samples.rows(ROWS).projected(U[:, :1] / 2),
        "sparse": samples.rows(sparse.csr_array(np.nan_to_num(ROWS))),
        "people": samples.people(ROWS, np.arange(300) // 3),
    }[form]
    engine = LocalEngine(threads)

    def asked():
        first = SampledPopulation(units, Variances(U, slice(2)), engine=engine)
        rest = SampledPopulation(units, Variances(U.copy(), slice(2, None)), plan=first.plan, engine=engine)
        return [Asked(one, np.full(one.shape, 0.25), EDGES, (CLIP, Clip(1.0, -24))) for one in (first, rest)]

    want = answers(asked())
    ahead, calls = asked(), []
    variances, spreading = RowsOperator.variances, RowsOperator.spreading

    def counted(compute):
        return lambda *given: calls.append(1) or compute(*given)

    monkeypatch.setattr(RowsOperator, "variances", counted(variances))
    monkeypatch.setattr(RowsOperator, "spreading", lambda self, along: counted(spreading(self, along)))
    read_ahead(*ahead)
    assert len(calls) == (0 if form == "people" else 1)
    assert all(map(same, answers(ahead), want))


def test_parts_of_what_was_read_are_answered():
    passes, (asked, *_) = populations()
    read_ahead(asked)
    population = asked.population
    counts, _ = population.survey(asked.centre, EDGES, [])
    assert np.array_equal(population.counts_within(asked.centre, EDGES[2:5]), counts[2:5])
    assert np.array_equal(
        population.clipped_sum(asked.centre, CLIP.radius, CLIP.exponent),
        population.survey(asked.centre, EDGES, [CLIP])[1][0],
    )
    assert passes.made == 1


@pytest.mark.parametrize(
    ("centre", "edges", "clips"),
    [
        (0.5, EDGES, [CLIP]),  # another centre
        (0.25, np.array([0.3]), []),  # an edge between two
        (0.25, np.array([1e300]), []),  # an edge beyond all finite ones
        (0.25, EDGES, [Clip(2.0, -21)]),  # another grid
        (0.25, EDGES, [Clip(3.0, -20)]),  # another radius
    ],
)
def test_other_questions_are_read_anew(centre, edges, clips):
    _, (fresh, *_) = populations()
    passes, (asked, *_) = populations()
    read_ahead(asked)
    where = np.full(4, centre)
    found = asked.population.survey(where, edges, clips)
    assert passes.made == 2
    assert same(found, fresh.population.survey(where, edges, clips))


def test_units_are_counted_from_what_was_read_around_0():
    passes, (asked, *_) = populations()
    read_ahead(Asked(asked.population, np.zeros(4), EDGES))
    assert asked.population.tally() == (299, 300)
    assert passes.made == 1
    read_ahead(asked)  # around another centre, other units might be invalid
    assert asked.population.tally() == (299, 300)
    assert passes.made == 3


def test_populations_of_other_units_are_not_read_together():
    _, (one, *_) = populations()
    _, (other, *_) = populations()
    with pytest.raises(AssertionError):
        read_ahead(one, other)


def test_joint_queries_travel():
    _, asked = populations()
    query = JointQuery(tuple(one.population.query(one.centre, one.edges, one.clips) for one in asked))
    there = pickle.loads(pickle.dumps(query))  # noqa: S301
    found = asked[0].population.reduce(there)
    assert all(
        same((survey.counts, survey.sums), wanted) for survey, wanted in zip(found, answers(asked), strict=True)
    )
