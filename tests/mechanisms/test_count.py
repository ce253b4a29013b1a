import numpy as np
import pytest

from eigenveil.engines import SampledPopulation, TensorPopulation
from eigenveil.mechanisms import Noisy, Veil, no_noise, noisy_census, noisy_count, noisy_count_within
from eigenveil.operators import MeanRows, samples
from eigenveil.privacy import Budget, Ledger, Purpose
from support.catalogue import MECHANISMS
from support.checks import draws_match_ledger, noise_matches_ledger, stated_sensitivity_holds

RELATIONS = ["add-remove", "replace", "empty-slot"]


def make_veil(relation="add-remove", source=no_noise):
    return Veil(Ledger(Budget.from_mu(1.0), relation=relation), source=source)


@pytest.mark.parametrize(
    ("rows", "good"),
    [
        (np.zeros((0, 2)), 0),
        (np.ones((1, 2)), 1),
        (np.ones((7, 2)), 7),
        (np.array([[np.nan, 1.0], [np.inf, 1.0], [1e200, 1.0], [1.0, 1.0]]), 1),
        (np.full((3, 2), 1e150), 3),
    ],
)
def test_edge_cases(rows, good):
    assert noisy_count(TensorPopulation(rows), mu=0.1, veil=make_veil()).value == good
    assert noisy_count(TensorPopulation(rows), mu=0.1, veil=make_veil("replace")) == Noisy(len(rows), 0.0)


def test_costs_mu_under_add_remove_and_nothing_under_replace():
    veil = make_veil()
    noisy_count(TensorPopulation(np.ones((5, 1))), mu=0.1, veil=veil)
    assert veil.ledger.mu == pytest.approx(0.1)
    veil = make_veil("replace")
    noisy_count(TensorPopulation(np.ones((5, 1))), mu=0.1, veil=veil)
    assert veil.ledger.mu == 0
    assert "public under replace" in str(veil.ledger)


def test_noise_has_the_stated_standard_deviation():
    population = TensorPopulation(np.ones((100, 1)))
    counts = [noisy_count(population, mu=0.5, veil=make_veil(source=None)).value for _ in range(2000)]
    assert np.mean(counts) == pytest.approx(100, abs=6 * 2 / np.sqrt(2000))
    assert np.std(counts) == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_stated_noise_equals_the_noise_in_the_ledger(relation):
    veil, population = make_veil(relation), TensorPopulation(np.ones((5, 1)))
    count = noisy_count(population, mu=0.1, veil=veil)
    census = noisy_census(population, mu=0.1, veil=veil)
    drawn = [entry.scale for entry in veil.ledger.entries if entry.kind == "gaussian"]
    if relation == "replace":
        assert count == Noisy(5.0, 0.0)
    else:
        assert count.scale == pytest.approx(drawn.pop(0), rel=1e-6)
    assert (census.good.scale, census.bad.scale) == (pytest.approx(drawn[0], rel=1e-6),) * 2


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("rows", "good"),
    [
        (np.zeros((0, 2)), 0),
        (np.ones((1, 2)), 1),
        (np.array([[np.nan, 1.0]]), 0),
        (np.array([[np.nan, 1.0], [np.inf, 1.0], [1e200, 1.0], [1.0, 1.0]]), 1),
        (np.full((3, 2), 1e150), 3),
    ],
)
def test_census_edge_cases(relation, rows, good):
    census = noisy_census(TensorPopulation(rows), mu=0.1, veil=make_veil(relation))
    assert (census.good.value, census.bad.value) == (good, len(rows) - good)


@pytest.mark.parametrize(
    ("relation", "sensitivity", "draws"), [("add-remove", 1, 2), ("replace", 1, 1), ("empty-slot", 2**0.5, 2)]
)
def test_census_costs_mu(relation, sensitivity, draws):
    veil = make_veil(relation)
    noisy_census(TensorPopulation(np.ones((5, 1))), mu=0.1, veil=veil)
    assert veil.ledger.mu == pytest.approx(0.1)
    entry = next(entry for entry in veil.ledger.entries if entry.kind == "gaussian")
    assert (entry.sensitivity, entry.draws, entry.releases) == (pytest.approx(sensitivity), draws, 1)
    assert entry.scale == pytest.approx(sensitivity / 0.1)
    assert ("public under replace" in str(veil.ledger)) == (relation == "replace")


@pytest.mark.parametrize("relation", RELATIONS)
def test_units_within_a_radius_are_counted_around_a_centre(relation):
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [9.0, 0.0], [np.nan, 0.0], [1e200, 0.0]])
    veil = make_veil(relation)
    count = noisy_count_within(
        TensorPopulation(rows), centre=np.array([1.0, 0.0]), radius=1.0, mu=0.1, veil=veil, purpose=Purpose.BOUND
    )
    (entry,) = veil.ledger.entries
    assert count == Noisy(2.0, 10.0)
    assert (entry.sensitivity, entry.draws, entry.purpose) == (1.0, 1, Purpose.BOUND)
    assert entry.scale == pytest.approx(count.scale, rel=1e-6)


@pytest.fixture
def census(monkeypatch):
    run = (TensorPopulation, lambda population, veil: noisy_census(population, mu=0.1, veil=veil))
    monkeypatch.setitem(MECHANISMS, "census", run)
    return "census"


GOOD, BAD, NOTHING = [1.0, 2.0], [np.nan, 1.0], [np.inf, np.inf]


@pytest.mark.parametrize(
    ("relation", "before", "after", "moved"),
    [
        ("add-remove", [GOOD, GOOD], [GOOD], 1),
        ("add-remove", [GOOD, BAD], [GOOD], 1),
        ("replace", [GOOD, GOOD], [GOOD, BAD], 1),
        ("replace", [BAD, GOOD], [GOOD, GOOD], 1),
        ("replace", [GOOD, BAD], [GOOD, NOTHING], 0),
        ("empty-slot", [GOOD, GOOD], [GOOD, NOTHING], 1),  # of sqrt(2): one less good, one more bad
        ("empty-slot", [GOOD, BAD], [GOOD, NOTHING], 0),
        ("empty-slot", [GOOD, GOOD], [GOOD], 0.5),  # where no slot is held for it; ratios are of squares
    ],
)
def test_census_sensitivity_holds_and_is_attained(census, relation, before, after, moved):
    ratio = stated_sensitivity_holds(census, relation, np.array(before), np.array(after))
    assert ratio == pytest.approx(moved)


@pytest.mark.parametrize("relation", RELATIONS)
def test_census_draws_match_the_ledger(census, relation):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    draws_match_ledger(census, relation, rows)
    noise_matches_ledger(census, relation, rows)


@pytest.mark.parametrize("relation", RELATIONS)
def test_census_noise_has_the_stated_standard_deviation(relation):
    rows = np.ones((100, 1))
    rows[:30] = np.nan
    taken = [noisy_census(TensorPopulation(rows), mu=0.5, veil=make_veil(relation, None)) for _ in range(1500)]
    pairs = np.array([(census.good.value, census.bad.value) for census in taken])
    noise = 2.0 * (2**0.5 if relation == "empty-slot" else 1)
    np.testing.assert_allclose(pairs.mean(axis=0), [70, 30], atol=6 * noise / np.sqrt(1500))
    np.testing.assert_allclose(pairs.std(axis=0), noise, rtol=0.1)
    correlation = np.corrcoef(pairs.T)[0, 1]
    assert correlation == pytest.approx(-1 if relation == "replace" else 0, abs=0.15)


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_invalid_row_changes_no_shape(relation):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    spoilt = rows.copy()
    spoilt[7, 1] = np.nan
    seen = []
    for data in (rows, spoilt):
        veil = make_veil(relation, None)
        census = noisy_census(TensorPopulation(data), mu=0.1, veil=veil)
        kinds = [(entry.what, entry.kind, entry.draws, entry.scale) for entry in veil.ledger.entries]
        seen.append((type(census.good.value), type(census.bad.value), census.good.scale, census.bad.scale, kinds))
    assert seen[0] == seen[1]


PEOPLE = {
    "all there": ["a", "b", "c", "d"],
    "one without an id": [None, "b", "c", "d"],
    "another id": ["z", "b", "c", "d"],
}


def test_people_found_by_ids_are_counted_with_noise_under_replace():
    """mutant: the number of people counts as public under replace. A person without an id has no slot."""
    rows = np.ones((4, 2))
    bad = np.where(np.arange(4)[:, None] == 0, np.nan, rows)
    answers = []
    for data, ids in [*((rows, ids) for ids in PEOPLE.values()), (bad, PEOPLE["all there"])]:
        population = SampledPopulation(samples.people(data, ids), MeanRows())
        assert not population.fixed_places
        veil = make_veil("replace")
        count = noisy_count(population, mu=0.1, veil=veil)
        census = noisy_census(population, mu=0.1, veil=veil)
        assert [(entry.sensitivity, entry.draws) for entry in veil.ledger.entries] == [
            (1.0, 1),
            (pytest.approx(2**0.5), 2),
        ]
        assert "public under replace" not in str(veil.ledger)
        answers.append((count.value, census.good.value, census.bad.value))
    assert answers == [(4, 4, 0), (3, 3, 0), (4, 4, 0), (3, 3, 1)]
    for one in answers:
        for other in answers:
            assert abs(one[0] - other[0]) <= 1
            assert np.hypot(one[1] - other[1], one[2] - other[2]) <= 2**0.5


def test_units_given_one_by_one_keep_a_public_number():
    population = SampledPopulation(samples.factors([np.ones((2, 2)), np.full((1, 2), np.nan)]), MeanRows())
    assert noisy_count(population, mu=0.1, veil=make_veil("replace")) == Noisy(2.0, 0.0)
