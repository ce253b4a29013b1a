"""u^T A u and the rest of the trace, for every operator: equal to its explicit matrices, and rule 4 to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from contracts.catalogue import OPERATORS, D, rows_data
from contracts.test_neighbours import CLIP, EDGES, FORMS, MANY, populations
from contracts.test_operators import PLANS
from eigenveil.engines import LocalEngine, SampledPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.operators import Variances, samples
from eigenveil.sources import Block

U = np.linalg.qr(np.random.default_rng(2).normal(size=(D, 3)))[0]
BASIS = np.linalg.qr(np.random.default_rng(1).normal(size=(D, 2)))[0]
MORE = {
    "people projected": lambda units: dict(MANY)["people"](units).projected(BASIS),
    "sparse people": lambda units: samples.people(
        sparse.csr_array(np.concatenate(units)), np.repeat(np.arange(len(units)), [len(unit) for unit in units])
    ),
    "sparse projected": lambda units: samples.rows(sparse.csr_array(np.concatenate(units))).projected(BASIS),
    "matrices projected": lambda units: FORMS["matrices"](units).projected(BASIS),
}


def numbers_of(operator, **options):
    return np.concatenate(list(SampledPopulation(operator, Variances(U), **options).tensors()))


def expected(explicit, u=U):
    along = np.einsum("dk,nde,ek->nk", u, explicit, u)
    rest = np.trace(explicit, axis1=1, axis2=2) - along.sum(axis=1)
    return np.concatenate([along, rest[:, None]], axis=1)


def good_of(explicit):
    with np.errstate(all="ignore"):
        return np.isfinite(explicit).all(axis=(1, 2)) & (np.abs(explicit).max(axis=(1, 2)) < 1e100)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", OPERATORS)
def test_equal_to_explicit_matrices(name, plan):
    operator, explicit = OPERATORS[name]()
    skip = None if PLANS[plan] is None else PLANS[plan].skip(0, 0, len(explicit))
    explicit = explicit if skip is None else explicit[~skip]
    got = numbers_of(operator, plan=PLANS[plan])
    good = good_of(explicit)
    np.testing.assert_allclose(got[good], expected(explicit[good]), rtol=1e-9, atol=1e-9)
    assert np.isnan(got[~good]).all()
    if "matrices" not in name:
        assert (got[good] >= -1e-12).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", OPERATORS)
def test_survey_of_all_and_of_some_entries(name, threads):
    operator, explicit = OPERATORS[name]()
    numbers = expected(explicit[good_of(explicit)])
    for entries in (slice(None), slice(3), slice(3, None)):
        population = SampledPopulation(operator, Variances(U, entries), engine=LocalEngine(threads))
        taken = numbers[:, entries]
        assert population.shape == taken.shape[1:]
        assert population.count() == len(taken)
        far = 2.0**40
        total = population.clipped_sum(np.zeros(population.shape), far, -18) * 2.0**-18
        np.testing.assert_allclose(total, taken.sum(axis=0), rtol=1e-9, atol=1e-3)


@pytest.mark.parametrize("name", OPERATORS)
def test_projected_and_damped(name):
    operator, explicit = OPERATORS[name]()
    for removed in (BASIS, BASIS * np.sqrt(0.75)):
        P = np.eye(D) - removed @ removed.T
        good = good_of(explicit)
        got = numbers_of(operator.projected(removed))
        np.testing.assert_allclose(got[good], expected(P @ explicit[good] @ P), rtol=1e-9, atol=1e-8)
        assert np.isnan(got[~good]).all()


@pytest.mark.parametrize("name", [*FORMS, *MORE])
def test_removing_and_moving_units_changes_no_bit(name):
    make = {**FORMS, **MORE}[name]
    many = "people" if "people" in name else name

    @settings(max_examples=20)
    @given(populations(many))
    def search(problem):
        units, out, order = problem
        with np.errstate(all="ignore"):
            whole, moved = numbers_of(make(units)), numbers_of(make([units[i] for i in order]))
            fewer, alone = numbers_of(make(units[:out] + units[out + 1 :])), numbers_of(make([units[out]]))
        np.testing.assert_array_equal(whole[order], moved)
        np.testing.assert_array_equal(np.delete(whole, out, axis=0), fewer)
        np.testing.assert_array_equal(whole[out : out + 1], alone)

    search()


@pytest.mark.parametrize("name", FORMS)
def test_counts_and_sums_of_neighbours(name):
    @settings(max_examples=10)
    @given(populations(name))
    def search(problem):
        units, out, order = problem

        def answers(taken):
            with np.errstate(all="ignore"):
                population = SampledPopulation(FORMS[name](taken), Variances(U), engine=LocalEngine(2))
            counts, (total,) = population.survey(np.full(4, 0.125), EDGES, [CLIP])
            return counts, total

        counts, total = answers(units)
        for same, moved in zip((counts, total), answers([units[i] for i in order]), strict=True):
            np.testing.assert_array_equal(same, moved)
        fewer_counts, fewer = answers(units[:out] + units[out + 1 :])
        assert set((counts - fewer_counts).tolist()) <= {0, 1}
        assert sum(int(v) ** 2 for v in total - fewer) <= (CLIP.radius * 2.0**-CLIP.exponent) ** 2

    search()


def test_chunking_changes_no_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 500)) * (rng.random((3000, 500)) < 0.1)
    u = np.linalg.qr(rng.normal(size=(500, 2)))[0]
    for form in (X, sparse.csr_array(X), X.astype(np.float32)):
        for operator in (samples.rows(form), samples.rows(form).shifted(rng.normal(size=500))):
            whole = operator.variances(Block(form), u)
            for cut in (slice(1), slice(7, 40), slice(1, 2999)):
                np.testing.assert_array_equal(whole[cut], operator.variances(Block(form[cut]), u))


def test_wide_sparse_rows_stay_sparse():
    """20,000 dense rows of 100,000 columns would need 16 GB."""
    rng = np.random.default_rng(0)
    d = 100_000
    X = sparse.random_array((20_000, d), density=1e-4, format="csr", rng=rng)
    u = np.zeros((d, 2))
    u[::2, 0] = u[1::2, 1] = np.sqrt(2 / d)
    got = samples.rows(X).variances(Block(X), u)
    np.testing.assert_allclose(got[:, :2], (X @ u) ** 2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got.sum(axis=1), (X * X).sum(axis=1), rtol=1e-9)


def test_all_directions_leave_nothing():
    X = rows_data()
    full = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
    got = np.concatenate(list(SampledPopulation(samples.rows(X), Variances(full)).tensors()))
    good = np.isfinite(got).all(axis=1)
    assert np.abs(got[good, -1]).max() < 1e-12 * got[good].max()


def test_refusals():
    operator = samples.rows(np.eye(D))
    with pytest.raises(InvalidInputError, match="U must have shape"):
        SampledPopulation(operator, Variances(np.eye(D - 1)))
    with pytest.raises(InvalidInputError, match="U must be finite"):
        SampledPopulation(operator, Variances(np.full((D, 1), np.nan)))
    with pytest.raises(InvalidInputError, match="none of the 4"):
        SampledPopulation(operator, Variances(U, slice(4, None)))
