import math

import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import SeededBytes, Veil, no_noise, radius_search
from eigenveil.mechanisms.radius import EDGES, count_noise
from eigenveil.privacy import Budget, Ledger
from support.veils import WatchedVeil, worst_ratio


def search(rows, target, *, source=no_noise, mu=0.5, veil=None):
    veil = veil or Veil(Ledger(Budget.from_mu(1.0)), source=source)
    population = TensorPopulation(rows)
    return radius_search(population, centre=np.zeros(population.shape), target=target, mu=mu, veil=veil).value


def test_the_public_grid():
    assert EDGES.size == 2**10 == 1024
    assert (EDGES[0], EDGES[512]) == (2.0**-128, 1.0)
    assert EDGES[-1] == 2.0**127.75


@pytest.mark.parametrize("target", [1, 5, 17, 100])
def test_without_noise_it_is_the_smallest_edge_with_enough_units(target):
    """Bins count as occupied here even if they contain a single unit, since the search costs so much."""
    norms = np.random.default_rng(target).lognormal(sigma=5, size=100)
    veil = Veil(Ledger(Budget.from_mu(10.0)), source=no_noise)
    found = search(norms[:, None], target, mu=10.0, veil=veil)
    assert found == EDGES[np.searchsorted(EDGES, np.sort(norms)[target - 1])]


def test_every_edge_can_be_found():
    for index in [0, 1, 2, 511, 512, 513, 1021, 1022, 1023]:
        assert search(np.array([[EDGES[index]]]), 1) == EDGES[index]


def test_edge_cases():
    assert search(np.zeros((5, 1)), 3) == EDGES[0]
    assert search(np.full((5, 1), 1e100), 3) == EDGES[-1]
    assert search(np.array([[np.nan], [1.0], [np.inf], [2.0]]), 2) == 2.0
    for bad in (math.nan, math.inf):
        with pytest.raises(InvalidInputError, match="target"):
            search(np.zeros((1, 1)), bad)


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.0), ("replace", math.sqrt(2))])
def test_a_histogram_and_five_counts_are_charged_for_every_outcome(relation, sensitivity):
    for rows in (np.zeros((0, 1)), np.zeros((3, 1)), np.full((3, 1), 1e100)):
        veil = Veil(Ledger(Budget.from_mu(1.0), relation=relation))
        search(rows, 2, veil=veil)
        histogram, counts = veil.ledger.entries
        assert (histogram.releases, histogram.draws) == (1, 65)
        assert histogram.sensitivity == pytest.approx(sensitivity)
        assert histogram.scale == pytest.approx(sensitivity * math.sqrt(2) / 0.5)
        assert (counts.releases, counts.draws, counts.sensitivity) == (5, 5, 1.0)
        assert counts.scale == pytest.approx(math.sqrt(10) / 0.5)
        assert veil.ledger.mu == pytest.approx(0.5)


def test_noise_leads_no_search_far_away():
    """With 316 units and noise of 63 on counts, a binary search over all edges would end far away in 2 of 100."""
    rows = 300 + np.random.default_rng(0).normal(size=(316, 3))
    found = [search(rows, 158, source=SeededBytes(seed), mu=0.05) for seed in range(300)]
    assert min(found) > 100
    assert max(found) < 10_000


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_where_the_search_continues_depends_on_the_noisy_histogram_alone(relation):
    """With one unit more, a bin would count as occupied by exact counts, and all later counts would differ."""
    ledgers = [Ledger(Budget.from_mu(1.0), relation=relation) for _ in range(2)]
    few = math.floor(3.5 * math.sqrt(2) * ledgers[0].relation.distance_between_histograms / 0.5)
    near, far = np.ones(few), np.full(1000, 2.0**40)
    other = np.r_[near, 1.0, far[: 999 if relation == "replace" else 1000]]
    first = WatchedVeil(ledgers[0], source=no_noise)
    search(np.r_[near, far][:, None], few, veil=first)
    second = WatchedVeil(ledgers[1], source=no_noise, transcript=first.seen)
    search(other[:, None], few, veil=second)
    assert worst_ratio(first.seen, second.seen) <= 1 + 1e-9


def test_it_is_paid_for_before_the_data_are_read():
    veil = Veil(Ledger(Budget.from_mu(1.0)))

    class Watched(TensorPopulation):
        def survey(self, *args):
            assert veil.ledger.mu == pytest.approx(0.5)
            return super().survey(*args)

    radius_search(Watched(np.ones((50, 2))), centre=np.zeros(2), target=25, mu=0.5, veil=veil)


def test_a_target_that_is_not_reached_ends_above_the_last_units():
    rows = np.r_[np.ones(1000), np.full(1000, 2.0**40)][:, None]
    assert 2.0**40 <= search(rows, 5000) <= 2.0**50


def test_units_just_below_a_bin_are_found_if_their_own_bin_looks_empty():
    edge = EDGES[16 * 33 - 1]  # the last of a bin
    rows = np.r_[np.full(3, edge), np.full(1000, EDGES[16 * 33 + 5])][:, None]
    assert search(rows, 2) == edge


def test_units_beyond_all_edges_count():
    """They are most of the units, so the radius is the largest edge, and not that of the others."""
    rows = np.r_[np.ones(1000), np.full(9000, 1e100)][:, None]
    assert search(rows, 5000, source=None) == EDGES[-1]


def test_with_many_units_noise_has_little_effect():
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    median = np.median(np.linalg.norm(rows, axis=1))
    for _ in range(20):
        assert median * 0.84 <= search(rows, 10_000, source=None) <= median * 1.2


NEAR = EDGES[500:532]


def near_search(rows, target, *, source=no_noise, mu=0.5, edges=NEAR):
    veil = Veil(Ledger(Budget.from_mu(1.0)), source=source)
    population = TensorPopulation(rows)
    found = radius_search(
        population, centre=np.zeros(population.shape), target=target, mu=mu, veil=veil, edges=edges
    )
    assert found.count_noise == pytest.approx(veil.ledger.entries[-1].scale, rel=1e-6)
    return found.value, veil.ledger


@pytest.mark.parametrize("relation", ["add-remove", "replace", "empty-slot"])
@pytest.mark.parametrize("edges", [EDGES, EDGES[500:504]])
def test_the_noise_of_counts_is_stated(relation, edges):
    """Before and after the search is bought, and in the ledger."""
    veil = Veil(Ledger(Budget.from_mu(1.0), relation=relation))
    population = TensorPopulation(np.ones((5, 1)))
    found = radius_search(population, centre=np.zeros(1), target=3, mu=0.25, veil=veil, edges=edges)
    entry = veil.ledger.entries[-1]
    assert found.count_noise == count_noise(0.25, edges=edges) == pytest.approx(entry.scale, rel=1e-6)


def test_fewer_edges_cost_fewer_counts_with_less_noise():
    found, ledger = near_search(np.full((9, 1), 1.5), 5)
    assert found == NEAR[np.searchsorted(NEAR, 1.5)]
    (entry,) = ledger.entries
    assert (entry.releases, entry.draws, entry.sensitivity) == (5, 5, 1.0)
    assert entry.scale == pytest.approx(math.sqrt(5) / 0.5)
    assert ledger.mu == pytest.approx(0.5)


@pytest.mark.parametrize("size", [2, 4, 32, 64])
def test_every_one_of_few_edges_can_be_found(size):
    edges = EDGES[500 : 500 + size]
    for edge in edges:
        assert near_search(np.array([[edge]]), 1, edges=edges)[0] == edge


def test_outside_of_the_window_it_is_the_nearest_end():
    assert near_search(np.full((9, 1), 1e9), 5)[0] == NEAR[-1]
    assert near_search(np.zeros((9, 1)), 5)[0] == NEAR[0]
    assert near_search(np.zeros((0, 1)), 5)[0] == NEAR[-1]


@pytest.mark.parametrize(
    "edges",
    [
        EDGES[:1],
        EDGES[:3],
        EDGES[:0],
        EDGES[:4][::-1],
        np.array([0.0, 1.0]),
        np.array([1.0, np.inf]),
        np.ones((2, 2)),
    ],
)
def test_invalid_edges_are_refused_before_the_charge(edges):
    veil = Veil(Ledger(Budget.from_mu(1.0)))
    with pytest.raises(InvalidInputError, match="edges must be"):
        radius_search(
            TensorPopulation(np.ones((3, 1))), centre=np.zeros(1), target=1, mu=0.1, veil=veil, edges=edges
        )
    assert veil.ledger.mu == 0
