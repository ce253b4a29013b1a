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
from eigenveil.mechanisms.paper import priv_range as module
from eigenveil.mechanisms.paper.priv_range import priv_range, subset_count
from eigenveil.operators import MeanRows, samples
from eigenveil.privacy import Budget, Ledger

COST = {"epsilon": 2.0, "delta": 5e-3, "tau": 0.01}


def run(g, *, relation="replace", source=no_noise, C1=10.0, **cost):
    cost = COST | cost
    budget = Budget(mu=0.0, epsilon_aside=cost["epsilon"], delta_aside=cost["delta"])
    veil = Veil(Ledger(budget, relation=relation), source=source)
    return priv_range(TensorPopulation(g), veil=veil, C1=C1, **cost), veil.ledger


def transcription(g, *, epsilon, delta, tau, C1):
    """The printed steps in plain numpy; noise is 0."""
    pairs = np.array([g[2 * i + 1] - g[2 * i] for i in range(len(g) // 2)])
    k = math.ceil(C1 * math.log(1 / (delta * tau)) / epsilon)
    b = len(g) // 2 // k
    tops = [np.linalg.eigvalsh(G.T @ G / b)[-1] for G in (pairs[j * b : (j + 1) * b] for j in range(k))]
    counts = Counter(math.floor(4 * math.log2(top)) for top in tops)
    threshold = 1 + 2 / epsilon * math.log(1 / (2 * delta))
    best, count = max(sorted(counts.items()), key=lambda item: item[1])
    return 2 ** (best / 4) if count > threshold else None


@pytest.mark.parametrize("scale", [1e-100, 0.03, 1.0, 1e80])
@pytest.mark.parametrize("B", [5000, 5003])
def test_without_noise_it_is_the_pseudo_code(scale, B):
    g = np.random.default_rng(1).normal(size=(B, 4)) * [3.0, 1, 1, 0.5] * scale
    answer, ledger = run(g)
    assert answer == pytest.approx(transcription(g, **COST, C1=10.0))
    assert 0.5 < answer / (2 * 9 * scale**2) < 2  # differences have twice the variance
    (entry,) = ledger.entries
    assert (entry.epsilon, entry.delta, entry.sensitivity) == (2.0, 5e-3, 2.0)


def test_printed_number_of_subsets():
    assert subset_count(epsilon=1.0, delta=0.01, tau=0.01) == math.ceil(math.log(1e4))
    for bad in ({"C1": 0.0}, {"C1": math.inf}, {"tau": 1.0}, {"epsilon": 0.0}, {"delta": 0.0}):
        with pytest.raises(InvalidInputError):
            subset_count(**({"epsilon": 1.0, "delta": 0.01, "tau": 0.01} | bad))


def test_bottom():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(5000, 3)) * np.repeat(np.exp(rng.normal(size=50) * 5), 100)[:, None]
    for g in (np.zeros((0, 3)), np.ones((5000, 3)), rng.normal(size=(40, 3)), spread):
        answer, ledger = run(g)
        assert answer is None
        assert len(ledger.entries) == 1  # paid all the same


def test_add_remove_is_refused_before_anything_is_charged():
    with pytest.raises(InvalidInputError, match="relation='replace'"):
        run(np.ones((10, 2)), relation="add-remove")


values = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, math.nan, math.inf, 1e154, 1e200, 1e-200]))


@settings(max_examples=80)
@given(
    rows=hnp.arrays(np.float64, (24, 2), elements=values),
    other=hnp.arrays(np.float64, 2, elements=values),
    index=st.integers(0, 23),
)
def test_one_unit_moves_one_eigenvalue(rows, other, index):
    """The input of the histogram changes in at most one entry: L1 distance 2, as the ledger states."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "stability_histogram", lambda bins, **_: seen.append(Counter(bins)) or {})
        neighbour = rows.copy()
        neighbour[index] = other
        for data in (rows, neighbour):
            run(data, C1=1.0)
    first, second = seen
    assert sum((first - second).values()) <= 1
    assert sum((second - first).values()) <= 1


def test_people_in_the_order_of_their_ids_are_refused():
    """mutant: PrivRange uses positions, and a different id moves other people."""
    veil = Veil(Ledger(Budget(mu=1.0, epsilon_aside=4.0, delta_aside=1e-2), relation="replace"), source=no_noise)
    people = SampledPopulation(samples.people(np.ones((40, 3)), np.arange(40)), MeanRows())
    with pytest.raises(InvalidInputError, match="order of the ids"):
        priv_range(people, veil=veil, **COST)
    assert not veil.ledger.entries
