"""Real and simulated units have the same interface and guarantees, so an algorithm cannot distinguish them."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from eigenveil.engines import Population
from eigenveil.kernels import Clip
from eigenveil.mechanisms import Veil
from eigenveil.operators import samples
from eigenveil.planner.answers import SimulatedPopulation
from eigenveil.planner.guess import make_guess
from eigenveil.planner.simulated import SimulatedUnits, draw
from eigenveil.privacy import Budget, Ledger
from eigenveil.units import PrivateUnits, Units

D, N = 5, 4000
SPECTRUM = np.array([9.0, 4.0, 1.0, 1.0, 1.0])
W = np.linalg.qr(np.random.default_rng(1).normal(size=(D, 2)))[0]


def real():
    rows = np.random.default_rng(0).normal(size=(N, D)) * np.sqrt(SPECTRUM)
    budget = Budget.from_mu(1.0)
    return Units(samples.rows(rows), Veil(Ledger(budget)), budget)


def simulated():
    guess = make_guess(D, 2, spectrum=SPECTRUM, spread="rows")
    return SimulatedUnits(guess, N, draw(guess, N, np.random.default_rng(2)))


UNITS = {"real": real, "simulated": simulated}
POPULATIONS = {
    "block": lambda units: units.block(W),
    "matrices": lambda units: units.matrices(),
    "vectors": lambda units: units.vectors(),
    "variances": lambda units: units.variances(W),
    "the rest of the variances": lambda units: units.variances(W, entries=slice(2, None)),
    "squares": lambda units: units.squares(np.array([4, 0]), np.array([2.0, 0.5]), 1e3),
    "shifted and rescaled": lambda units: units.shifted(np.ones(D)).rescaled(np.arange(1.0, D + 1)).matrices(),
    "damped block": lambda units: units.damped(W, 0.5).block(W),
}
both = pytest.mark.parametrize("kind", UNITS)
every = pytest.mark.parametrize("name", POPULATIONS)


def clip_of(population, radius):
    """A clip on a fine grid; expected sums are not rounded to a grid (2^0)."""
    return Clip(radius, 0 if isinstance(population, SimulatedPopulation) else int(np.log2(radius)) - 24)


def clipped_sum(population, radius):
    clip = clip_of(population, radius)
    found = population.clipped_sum(np.zeros(population.shape), clip.radius, clip.exponent)
    return np.ldexp(np.asarray(found, dtype=float), clip.exponent)


def public(protocol):
    return {name for name in vars(protocol) if not name.startswith("_")}


@both
def test_units_have_every_member_with_the_same_arguments(kind):
    units = UNITS[kind]()
    for name in public(PrivateUnits):
        stated = inspect.getattr_static(PrivateUnits, name)
        assert hasattr(units, name), name
        if isinstance(stated, property):
            continue
        own = inspect.signature(getattr(type(units), name)).parameters
        assert list(own) == list(inspect.signature(stated).parameters), name


@both
@every
def test_populations_have_every_member(kind, name):
    population = POPULATIONS[name](UNITS[kind]())
    assert all(hasattr(population, member) for member in public(Population))


@every
def test_shapes_are_the_same(name):
    one, other = (POPULATIONS[name](make()) for make in UNITS.values())
    assert (one.shape, one.symmetric) == (other.shape, other.symmetric)


@both
@every
def test_counts_and_sums_keep_their_promises(kind, name):
    population = POPULATIONS[name](UNITS[kind]())
    centre, edges = np.zeros(population.shape), 2.0 ** np.arange(-3.0, 9.0)
    counts = population.counts_within(centre, edges)
    assert np.all(np.diff(counts) >= 0)
    assert counts[0] >= 0
    assert counts[-1] <= population.count() <= population.slots()
    for radius in (0.25, 4.0, 1e6):
        total = clipped_sum(population, radius)
        assert total.shape == population.shape
        assert np.linalg.norm(total) <= radius * population.count()
    clips = [clip_of(population, 4.0), clip_of(population, 16.0)]
    same, sums = population.survey(centre, edges, clips)
    assert np.array_equal(same, counts)
    for clip, found in zip(clips, sums, strict=True):
        assert np.array_equal(found, population.clipped_sum(centre, clip.radius, clip.exponent))


@every
def test_simulated_answers_are_about_the_real_ones(name):
    """Medians of norms within a factor of 1.15, and sums that are hardly clipped within 15 % of their length."""
    one, other = (POPULATIONS[name](make()) for make in UNITS.values())
    edges = 2.0 ** (np.arange(-40.0, 80.0) / 8)
    medians = [edges[np.searchsorted(p.counts_within(np.zeros(p.shape), edges), N / 2)] for p in (one, other)]
    assert medians[0] / medians[1] == pytest.approx(1.0, rel=0.15)
    sums = [clipped_sum(population, 1e4) for population in (one, other)]
    if name == "vectors":  # rows are centred at 0, so the sum is random
        assert all(np.linalg.norm(total) < 10 * np.sqrt(N * SPECTRUM.sum()) for total in sums)
    else:
        assert np.linalg.norm(sums[0] - sums[1]) < 0.15 * np.linalg.norm(sums[0])


@both
def test_starts_are_orthonormal_and_shifts_by_0_change_nothing(kind):
    units = UNITS[kind]()
    start = units.random_start(3)
    assert np.allclose(start.T @ start, np.eye(3))
    moved = units.shifted(np.zeros(D)).block(W)
    edges = np.array([1.0, 10.0])
    assert np.array_equal(
        moved.counts_within(np.zeros((D, 2)), edges), units.block(W).counts_within(np.zeros((D, 2)), edges)
    )


def test_nothing_simulated_can_pass_for_a_release():
    units = simulated()
    grant = units.veil.gaussian("count", mu=0.5, sensitivity=1.0, draws=1)
    assert grant.release(grant.on_grid([3.0])).shape == (1,)
    assert not units.veil.ledger.private
    assert replace(units, n=3).veil.ledger.entries == units.veil.ledger.entries
