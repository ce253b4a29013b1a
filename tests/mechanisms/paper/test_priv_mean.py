import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenveil.engines import SampledPopulation, TensorPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import Veil, no_noise
from eigenveil.mechanisms.paper import priv_mean as module
from eigenveil.mechanisms.paper.priv_mean import priv_mean
from eigenveil.operators import MeanRows, samples
from eigenveil.privacy import Budget, Ledger
from support.veils import WatchedVeil, one_sigma

COST = {"epsilon": 4.0, "delta": 1e-2, "tau": 0.01}


def make_veil(epsilon, delta, *, relation="replace", source=no_noise, kind=Veil):
    budget = Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=epsilon / 2, delta_aside=delta / 2)
    return kind(Ledger(budget, relation=relation), source=source)


def run(g, *, top_eigenvalue=1.0, relation="replace", source=no_noise, K=1.0, a=1.0, **cost):
    cost = COST | cost
    veil = make_veil(cost["epsilon"], cost["delta"], relation=relation, source=source)
    answer = priv_mean(TensorPopulation(g), top_eigenvalue=top_eigenvalue, veil=veil, K=K, a=a, **cost)
    return answer, veil.ledger


def transcription(g, top, *, epsilon, delta, tau, K=1.0, a=1.0):
    """The printed steps in plain numpy; noise is 0."""
    B, D = g.shape
    u = 2**0.25 * K * math.sqrt(top) * math.log(25) ** 2
    scale = 2 / (epsilon / (4 * math.sqrt(2 * D * math.log(4 / delta))))
    threshold = 1 + scale * math.log(1 / (2 * delta / (4 * D)))
    cut = g.copy()
    for j in range(D):
        counts = Counter(math.ceil(x / u) - 1 for x in g[:, j])  # bins (l u, (l+1) u]
        best, count = max(sorted(counts.items()), key=lambda item: item[1])
        if count <= threshold:
            return None
        r = 3 * K * math.sqrt(top) * math.log(B * D / tau) ** a
        cut[:, j] = np.clip(g[:, j], best * u - r, best * u + r)
    return cut.mean(axis=0)


@pytest.mark.parametrize(
    ("K", "a", "top"), [(1.0, 1.0, 1.0), (0.02, 0.3, 1.0), (0.5, 2.0, 1e-12), (1.0, 1.0, 1e30)]
)
def test_without_noise_it_is_the_pseudo_code(K, a, top):
    root = math.sqrt(top)
    g = np.random.default_rng(2).normal(size=(3000, 4)) * root + np.array([40.0, -7, 0.1, 0]) * root
    answer, _ = run(g, top_eigenvalue=top, K=K, a=a)
    expected = transcription(g, top, **COST, K=K, a=a)
    np.testing.assert_allclose(answer, expected, atol=1e-4 * root)
    if K == 1:
        np.testing.assert_allclose(answer, g.mean(axis=0), atol=1e-4 * root)  # nothing is cut off
    if K == 0.02:
        assert np.abs(answer - g.mean(axis=0)).max() > 0.1 * root  # nearly everything is


def test_the_ledger_is_half_histograms_half_gaussian():
    g = np.random.default_rng(2).normal(size=(3000, 4))
    _, ledger = run(g)
    histograms, total = ledger.entries
    assert histograms.epsilon <= 2.0
    assert histograms.delta <= 0.005
    assert histograms.scale == pytest.approx(2 * 4 * math.sqrt(8 * math.log(400)) / 4, rel=1e-6)
    r = 3 * math.log(3000 * 4 / 0.01)
    assert total.sensitivity == pytest.approx(2 * 2 * r)
    assert ledger.epsilon(1e-2) <= 4.0 * (1 + 1e-9)
    classical = 12 * r / 3 * math.sqrt(2 * 4 * math.log(2.5 / 1e-2)) / 4  # times B, as printed
    assert 0.4 * classical < total.scale < classical


def test_noise_matches_the_ledger():
    g = np.random.default_rng(2).normal(size=(3000, 4))
    veil = make_veil(4.0, 1e-2, source=one_sigma, kind=WatchedVeil)
    priv_mean(TensorPopulation(g), top_eigenvalue=1.0, veil=veil, **COST)
    (seen,) = veil.seen
    added = seen.outputs[0] - np.ldexp(seen.steps[0].astype(float), seen.exponent)
    np.testing.assert_allclose(added, veil.ledger.entries[-1].scale, rtol=1e-6)


def test_dimension_that_needs_advanced_composition():
    g = np.random.default_rng(0).normal(size=(40_000, 60))
    answer, ledger = run(g, epsilon=0.9, source=None)
    assert ledger.epsilon(1e-2) <= 0.9 * (1 + 1e-9)
    assert ledger.entries[0].epsilon < 60 * 0.9 / (4 * math.sqrt(120 * math.log(400)))
    assert np.abs(answer - g.mean(axis=0)).max() < 2.0


def test_split_without_a_proof_is_refused():
    with pytest.raises(InvalidInputError, match="by composition"):
        run(np.ones((100, 400)), epsilon=1000.0)


def test_bottom_and_edge_cases():
    none, ledger = run(np.zeros((0, 3)))
    assert none is None
    assert not ledger.entries
    few, ledger = run(np.ones((20, 3)))
    assert few is None
    assert [entry.kind for entry in ledger.entries] == ["approximate"]  # the second half is not charged
    scattered, _ = run(np.arange(3000.0)[:, None] * 1e6 * np.ones(3))
    assert scattered is None
    equal, _ = run(np.full((500, 3), 5.0))
    np.testing.assert_allclose(equal, 5.0, atol=1e-4)
    g = np.full((500, 3), 5.0)
    g[:3] = [[np.nan, 1, 1], [1e300, 0, 0], [np.inf, -np.inf, 0]]
    bad, _ = run(g)  # they count as the left end of the bin, 0
    np.testing.assert_allclose(bad, 5.0 * 497 / 500, atol=1e-4)
    for options in ({"top_eigenvalue": 0.0}, {"top_eigenvalue": math.inf}, {"K": 0.0}, {"a": -1.0}, {"tau": 0.0}):
        with pytest.raises(InvalidInputError):
            run(g, **options)


def test_add_remove_is_refused_before_anything_is_charged():
    with pytest.raises(InvalidInputError, match="relation='replace'"):
        run(np.ones((10, 2)), relation="add-remove")


values = st.one_of(st.floats(-300, 300), st.sampled_from([0.0, math.nan, math.inf, 1e154, 1e200, 1e-200]))


@settings(max_examples=60)
@given(
    rows=hnp.arrays(np.float64, (6, 3), elements=values),
    other=hnp.arrays(np.float64, 3, elements=values),
    index=st.integers(0, 5),
    bins=st.integers(-2, 2),
)
def test_one_unit_moves_one_bin_per_histogram_and_the_sum_by_its_sensitivity(rows, other, index, bins):
    """Both runs get the same histograms; the truncated sums then differ by at most the stated sensitivity."""
    seen, sums = [], []

    def watch(columns, **_):
        seen.append([Counter(column) for column in columns])
        return [{bins: 1.0}] * 3

    neighbour = rows.copy()
    neighbour[index] = other
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "stability_histograms", watch)
        for data in (rows, neighbour):
            veil = make_veil(4.0, 1e-2, kind=WatchedVeil)
            priv_mean(TensorPopulation(data), top_eigenvalue=1.0, veil=veil, **COST)
            sums.append(veil.seen[0])
    for first, second in zip(*seen, strict=True):
        assert max(sum((first - second).values()), sum((second - first).values())) <= 1
    moved = [int(x) - int(y) for x, y in zip(sums[0].steps[0], sums[1].steps[0], strict=True)]
    assert math.sqrt(sum(x * x for x in moved)) * 2.0 ** sums[0].exponent <= sums[0].sensitivity


def test_people_in_the_order_of_their_ids_are_refused():
    """mutant: PrivMean uses positions, and a different id moves other people."""
    veil = Veil(Ledger(Budget(mu=1.0, epsilon_aside=4.0, delta_aside=1e-2), relation="replace"), source=no_noise)
    people = SampledPopulation(samples.people(np.ones((40, 3)), np.arange(40)), MeanRows())
    with pytest.raises(InvalidInputError, match="order of the ids"):
        priv_mean(people, veil=veil, **COST, top_eigenvalue=1.0)
    assert not veil.ledger.entries
