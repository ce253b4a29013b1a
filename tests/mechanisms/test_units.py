import numpy as np
import pytest
from scipy import sparse

from eigenveil.engines import PoissonPlan, RangePlan, SampledPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes
from eigenveil.operators import Products, samples
from support.blocks import blocks_of
from support.open import open_quiet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
FORMS = {
    "rows": samples.rows(X),
    "sparse rows": samples.rows(sparse.csr_array(X)),
    "projected rows": samples.rows(X).projected(np.eye(5)[:, :1]),
    "people": samples.people(X, np.arange(200) % 70),
    "matrices": samples.matrices(RNG.normal(size=(200, 5, 5))),
    "factors": samples.factors([X[i : i + 1 + i % 4] for i in range(150)]),
    "spiked": samples.spiked(np.eye(5)[:, :2], [3.0, 2.0], X),
}
W = RNG.normal(size=(5, 2))


def products(operator):
    return np.concatenate([operator.products(block, W) for block in blocks_of(operator)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("plan", [PoissonPlan(0.05), PoissonPlan(0.9), RangePlan(13, 14), RangePlan(5, 5)])
def test_excluded_units_do_not_change_the_others(form, plan):
    """Chunks hold only the included units; tensors, counts and sums are bitwise the same."""
    operator = FORMS[form]
    everyone = products(operator)
    kept = everyone[~plan.skip(0, 0, len(everyone))]
    population = SampledPopulation(operator, Products(W), plan=plan)
    got = [np.zeros((0, 5, 2)), *population.tensors()]
    np.testing.assert_array_equal(np.concatenate(got), kept)
    assert population.slots() == population.count() == len(kept)
    total = np.ldexp(population.clipped_sum(np.zeros((5, 2)), 1e3, -20).astype(float), -20)
    np.testing.assert_allclose(total, kept.sum(axis=0), atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_singly_yields_every_unit_in_order(form):
    units = open_quiet(FORMS[form])
    singly = np.array([product(W) for product in units.singly()])
    np.testing.assert_array_equal(singly, products(FORMS[form]))


def test_the_image_of_the_projection():
    units = open_quiet(X, source=SeededBytes(1))
    assert units.projected(np.zeros((5, 0))) is units
    twice = units.projected(np.eye(5)[:, :1]).projected(np.eye(5)[:, 3:4])
    assert twice.removed.shape == (5, 2)
    np.testing.assert_array_equal(twice.inside(np.ones(5)), [0, 1, 1, 0, 1])
    start = twice.random_start(2)
    np.testing.assert_allclose(start.T @ start, np.eye(2), atol=1e-12)
    assert np.abs(start[[0, 3]]).max() < 1e-12
    assert np.abs(start - twice.random_start(2)).max() > 1e-3


def test_random_starts_are_spread_evenly():
    units = open_quiet(np.zeros((1, 3)), source=SeededBytes(2))
    starts = np.array([units.random_start(1)[:, 0] for _ in range(3000)])
    np.testing.assert_allclose(starts.T @ starts / 3000, np.eye(3) / 3, atol=0.05)


def test_poisson_samples_are_fresh_and_within_the_part():
    part = open_quiet(X, relation="add-remove", source=SeededBytes(3)).split(2)[0]
    inside = ~part.plan.skip(0, 0, 200)
    rounds = part.sampled(0.5)
    masks = [~next(rounds).plan.skip(0, 0, 200) for _ in range(40)]
    assert all(np.all(inside[mask]) for mask in masks)
    assert len({mask.tobytes() for mask in masks}) == 40
    assert np.mean([mask.sum() for mask in masks]) == pytest.approx(inside.sum() / 2, rel=0.15)


def test_parts_by_coin_have_no_positions():
    units = open_quiet(X)
    by_coin = open_quiet(X, relation="add-remove").split(2)[0]
    with pytest.raises(InvalidInputError, match="relation='replace'"):
        by_coin.by_position()
    with pytest.raises(InvalidInputError, match="before units are split"):
        units.split(2)[0].by_position()
