import math

import numpy as np
import pytest

from eigenveil.engines import TensorPopulation
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import AtQuantile, Given, Veil, clipped_mean, no_noise
from eigenveil.mechanisms.clipped_mean import mean_noise
from eigenveil.mechanisms.radius import EDGES
from eigenveil.privacy import Budget, Ledger


def run(
    values,
    *,
    centre=None,
    n_hat=None,
    quantile=0.5,
    rule=None,
    source=no_noise,
    symmetric=False,
    relation="add-remove",
):
    population = TensorPopulation(values, symmetric=symmetric)
    veil = Veil(Ledger(Budget.from_mu(1.0), relation=relation), source=source)
    release = clipped_mean(
        population,
        centre=np.zeros(population.shape) if centre is None else centre,
        n_hat=len(values) if n_hat is None else n_hat,
        radius=AtQuantile(mu=0.1, quantile=quantile) if rule is None else rule,
        mu=0.5,
        veil=veil,
    )
    return release, veil.ledger


def transcription(values, centre, n_hat, quantile):
    """The three steps of the pseudo-code in plain numpy."""
    residuals = (values - centre).reshape(len(values), -1)
    norms = np.linalg.norm(residuals, axis=1)
    radius = next((edge for edge in EDGES if np.sum(norms <= edge) >= quantile * n_hat), EDGES[-1])
    total = (residuals * np.minimum(1, radius / norms)[:, None]).sum(axis=0).reshape(values.shape[1:])
    return centre + total / n_hat, radius


@pytest.mark.parametrize("shape", [(7,), (4, 3), (5, 5)])
@pytest.mark.parametrize("quantile", [0.5, 0.9, 1.0])
def test_without_noise_it_is_the_pseudo_code(shape, quantile):
    rng = np.random.default_rng(1)
    values, centre = rng.normal(size=(200, *shape)), rng.normal(size=shape) / 3
    mean, radius = transcription(values, centre, 200.0, quantile)
    release, _ = run(values, centre=centre, quantile=quantile)
    assert release.radius == radius
    np.testing.assert_allclose(release.value, mean, atol=1e-4)


def test_symmetric_matrices():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(300, 6))
    values = rows[:, :, None] * rows[:, None, :]
    release, _ = run(values, symmetric=True)
    mean, radius = transcription(values, np.zeros((6, 6)), 300.0, 0.5)
    assert release.radius == radius
    np.testing.assert_allclose(release.value, mean, atol=1e-4)
    noisy, _ = run(values, symmetric=True, source=None)
    np.testing.assert_array_equal(noisy.value, noisy.value.T)


@pytest.mark.parametrize(("relation", "factor"), [("add-remove", 1), ("replace", 2)])
def test_ledger_is_radius_and_sum(relation, factor):
    release, ledger = run(np.random.default_rng(0).normal(size=(50, 3)), relation=relation)
    histogram, radius, total = ledger.entries
    assert math.hypot(histogram.mu, radius.mu) == pytest.approx(0.1)
    assert (radius.releases, radius.sensitivity) == (5, 1.0)
    assert (total.mu, total.sensitivity) == (0.5, release.radius * factor)
    assert ledger.mu == pytest.approx(math.sqrt(0.26))


def test_noise_shrinks_with_the_spread_around_the_centre():
    """The purpose of tracking: a centre close to the units gives a more accurate mean at the same cost."""
    rng = np.random.default_rng(3)
    values = 1000 + rng.normal(size=(5000, 10)) * 0.01
    far, _ = run(values, source=None)
    near, _ = run(values, centre=np.full(10, 1000.0), source=None)
    truth = values.mean(axis=0)
    error_far, error_near = np.linalg.norm(far.value - truth), np.linalg.norm(near.value - truth)
    assert near.radius < 0.1
    assert far.radius > 1000
    assert error_near < 1e-3
    assert error_far > 0.1


def test_edge_cases():
    empty, _ = run(np.zeros((0, 2)), n_hat=0.0)
    np.testing.assert_array_equal(empty.value, [0, 0])
    one, _ = run(np.array([[3.0, 4.0]]), n_hat=-17.3)
    np.testing.assert_allclose(one.value, [3, 4], atol=1e-4)
    equal, _ = run(np.ones((5000, 2)), centre=np.ones(2), source=None)
    np.testing.assert_allclose(equal.value, [1, 1], atol=1e-30)
    assert equal.radius == EDGES[0]
    bad, _ = run(np.array([[np.nan, 1.0], [1.0, 1.0], [np.inf, 1.0], [1e300, 0.0]]), n_hat=1.0)
    np.testing.assert_allclose(bad.value, [1, 1], atol=1e-4)
    for quantile in (0.0, 1.1, math.nan):
        with pytest.raises(InvalidInputError, match="quantile"):
            run(np.ones((1, 1)), quantile=quantile)


def test_a_centre_far_away_is_no_error():
    centre = np.full(2, 1e60)
    release, _ = run(np.ones((3, 2)), centre=centre, source=None)
    assert np.all(np.isfinite(release.value))


SHAPES = [((20,), False), ((5, 4), False), ((6, 6), True)]


@pytest.mark.parametrize("relation", ["add-remove", "replace", "empty-slot"])
@pytest.mark.parametrize(("shape", "symmetric"), SHAPES)
@pytest.mark.parametrize("rule", [AtQuantile(mu=0.1, quantile=0.5), Given(2.0)])
def test_stated_noise_equals_the_noise_in_the_ledger(relation, shape, symmetric, rule):
    values = np.zeros((100, *shape)) + 0.1
    release, ledger = run(values, rule=rule, symmetric=symmetric, relation=relation, source=None)
    total = ledger.entries[-1]
    assert total.sensitivity == ledger.relation.distance_between_sums(release.radius)
    assert release.noise * 100 == pytest.approx(total.scale, rel=1e-6)
    assert release.noise == mean_noise(release.radius, mu=0.5, n_hat=100.0, relation=ledger.relation)


@pytest.mark.parametrize(("shape", "symmetric"), SHAPES)
def test_stated_noise_is_the_standard_deviation_of_means(shape, symmetric):
    """For symmetric matrices, on the diagonal; smaller by sqrt(2) off the diagonal."""
    values = np.zeros((10, *shape))
    taken = [run(values, rule=Given(3.0), symmetric=symmetric, source=None)[0] for _ in range(300)]
    scatter = np.std([release.value for release in taken], axis=0) / taken[0].noise
    expected = np.where(np.eye(shape[0]), 1.0, 0.5**0.5) if symmetric else np.ones(shape)
    np.testing.assert_allclose(scatter, expected, rtol=0.25)


def test_a_given_radius_is_free_and_unchanged():
    release, ledger = run(np.ones((50, 3)), rule=Given(0.5))
    assert (release.radius, len(ledger.entries)) == (0.5, 1)
    assert math.isnan(release.kept)
    assert math.isnan(release.seen)
    searched, _ = run(np.ones((50, 3)), rule=Given(0.5, kept=0.75))
    assert (searched.kept, searched.seen) == (0.75, 0.5)
    with pytest.raises(InvalidInputError, match="sensitivity"):
        run(np.ones((50, 3)), rule=Given(0.0))


def test_a_search_reports_its_quantile():
    release, _ = run(np.random.default_rng(0).normal(size=(200, 3)), quantile=0.9)
    assert (release.kept, release.seen) == (0.9, release.radius)


@pytest.mark.parametrize(("shape", "symmetric"), SHAPES)
def test_offset_is_the_distance_of_the_mean_over_the_radius(shape, symmetric):
    values = np.ones((400, *shape))
    length = math.sqrt(math.prod(shape))
    exact, _ = run(values, rule=Given(4 * length), symmetric=symmetric)
    assert exact.offset == pytest.approx(0.25, abs=0.01)  # noise is subtracted, though none was drawn
    noisy = [run(values, rule=Given(4 * length), symmetric=symmetric, source=None)[0].offset for _ in range(200)]
    assert np.mean(np.square(noisy)) == pytest.approx(0.25**2, rel=0.02)
    clipped, _ = run(values * 1e6, rule=Given(1.0), symmetric=symmetric)
    assert clipped.offset == pytest.approx(1.0, abs=1e-2)


def test_entries_are_named():
    values = np.ones((9, 2))
    veil = Veil(Ledger(Budget.from_mu(1.0)), source=no_noise)
    options = {"centre": np.zeros(2), "n_hat": 9, "mu": 0.1, "veil": veil}
    clipped_mean(TensorPopulation(values), radius=AtQuantile(mu=0.1), what="it", **options)
    clipped_mean(TensorPopulation(values), radius=Given(1.0), what_sum="the sum of it", **options)
    assert [entry.what for entry in veil.ledger.entries] == [
        "it: radius, histogram",
        "it: radius",
        "it: sum",
        "the sum of it",
    ]
