"""Every data model agrees with its stated covariance, components and spectrum."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from eigenveil.datasets import Dataset, gaussian, pareto, rare_spikes, spiked_covariance
from eigenveil.errors import InvalidInputError
from eigenveil.metrics import sin_angle, zeta
from eigenveil.operators import RowsOperator, SpikedOperator
from eigenveil.theory import gaussian_model, signed_spike_model, spiked_model
from support.blocks import blocks_of

SPECTRUM = [4.0, 2.0, 1.0, 0.5, 0.1]
COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.7]])
MODELS = {
    "spiked, one": lambda n, seed=0: spiked_covariance(n, 6, [3.0], 0.5, random_state=seed),
    "spiked, three": lambda n, seed=0: spiked_covariance(n, 6, [1.0, 3.0, 2.0], 0.5, random_state=seed),
    "gaussian": lambda n, seed=0: gaussian(n, SPECTRUM, random_state=seed),
    "gaussian, matrix": lambda n, seed=0: gaussian(n, COVARIANCE, random_state=seed),
    "pareto": lambda n, seed=0: pareto(n, SPECTRUM, random_state=seed),
    "pareto, matrix": lambda n, seed=0: pareto(n, COVARIANCE, alpha=6.0, random_state=seed),
    "rare spikes": lambda n, seed=0: rare_spikes(n, 5, alpha=0.04, random_state=seed),
}


def matrices(data):
    operator = data.samples
    return np.concatenate([operator.products(block, np.eye(operator.d)) for block in blocks_of(operator)])


def rows(data):
    return np.concatenate([np.asarray(block.values) for block in blocks_of(data.samples)])


def mean(data):
    operator = data.samples
    total, count = 0.0, 0
    for block in blocks_of(operator):
        products = operator.products(block, np.eye(operator.d))
        total, count = total + products.sum(axis=0), count + len(products)
    return total / count


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_of_the_samples_tends_to_the_covariance(name):
    n = 40_000
    data = MODELS[name](n)
    deviations = matrices(data) - data.covariance
    error = np.abs(deviations.mean(axis=0))
    noise = deviations.std(axis=0) / math.sqrt(n)
    assert (error <= 5.5 * noise + 1e-12).all()  # 25 entries at 4e-8 each
    assert error.max() < 0.15
    # and the test sees an error of a tenth of the top eigenvalue
    assert (
        np.abs(deviations.mean(axis=0) + 0.1 * data.eigenvalues[0] * np.eye(data.samples.d)) > 5.5 * noise
    ).any()


@pytest.mark.parametrize("name", MODELS)
def test_components_and_eigenvalues_are_those_of_the_covariance(name):
    data = MODELS[name](10)
    assert isinstance(data, Dataset)
    k, d = data.components.shape
    assert data.samples.d == d == len(data.covariance) == len(data.eigenvalues)
    np.testing.assert_allclose(data.components @ data.components.T, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(data.covariance)[::-1], data.eigenvalues, atol=1e-12)
    np.testing.assert_allclose(
        data.covariance @ data.components.T, data.components.T * data.eigenvalues[:k], atol=1e-12
    )
    assert (np.diff(data.eigenvalues) <= 0).all()
    for j in range(1, k + 1):
        assert zeta(data.components[:j], data.covariance) < 1e-7


@pytest.mark.parametrize("name", MODELS)
def test_a_seed_is_reproducible_and_none_is_not(name):
    make = MODELS[name]
    for first, second in [(7, 7), (np.random.default_rng(7), 7)]:
        np.testing.assert_array_equal(matrices(make(50, first)), matrices(make(50, second)))
        np.testing.assert_array_equal(make(50, 7).covariance, make(50, 7).covariance)
    for other in (8, None):
        assert not np.array_equal(matrices(make(50, 7)), matrices(make(50, other)))
    assert not np.array_equal(matrices(make(50, None)), matrices(make(50, None)))
    shared = np.random.default_rng(7)
    assert not np.array_equal(matrices(make(50, shared)), matrices(make(50, shared)))


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_samples(name):
    for n in (1, 50):
        assert len(matrices(MODELS[name](n))) == n


def test_one_spike_is_a_signal_of_fixed_length_and_random_sign():
    data = spiked_covariance(20_000, 6, [9.0], 0.1, random_state=1)
    assert isinstance(data.samples, RowsOperator)
    along = rows(data) @ data.components[0]
    assert np.abs(along).mean() == pytest.approx(3.0, abs=0.01)
    assert np.abs(along).std() == pytest.approx(0.1, rel=0.05)
    assert abs((along > 0).mean() - 0.5) < 0.02
    across = rows(data) - np.outer(along, data.components[0])
    assert np.linalg.norm(across, axis=1).mean() == pytest.approx(0.1 * math.sqrt(5), rel=0.1)


def test_more_spikes_are_the_same_signal_in_every_sample():
    data = spiked_covariance(2000, 6, [9.0, 4.0], 0.1, random_state=1)
    assert isinstance(data.samples, SpikedOperator)
    z = np.concatenate([np.asarray(block.values) for block in blocks_of(data.samples)])
    signal = (data.components.T * [9.0, 4.0]) @ data.components
    explicit = signal + z[:, :, None] * z[:, None, :]
    np.testing.assert_allclose(matrices(data), explicit, atol=1e-12)
    np.testing.assert_allclose(mean(data), signal + z.T @ z / len(z), atol=1e-12)
    assert z.std() == pytest.approx(0.1, rel=0.05)
    still = spiked_covariance(3, 6, [9.0, 4.0], 0.0, random_state=1)
    np.testing.assert_allclose(matrices(still), np.broadcast_to(still.covariance, (3, 6, 6)), atol=1e-12)


def test_order_of_the_spikes_does_not_matter():
    one, other = (spiked_covariance(5, 6, order, 0.1, random_state=3) for order in ([1.0, 9.0], [9.0, 1.0]))
    np.testing.assert_array_equal(one.covariance, other.covariance)


def test_bases_are_random_unless_a_matrix_is_given():
    turned = gaussian(5, SPECTRUM, random_state=0).components
    assert sin_angle(turned[0], np.eye(5)[0]) > 0.1
    assert sin_angle(turned[0], gaussian(5, SPECTRUM, random_state=1).components[0]) > 0.1
    np.testing.assert_allclose(gaussian(5, COVARIANCE, random_state=0).covariance, COVARIANCE, atol=1e-12)


def test_gaussian_rows_are_gaussian():
    data = gaussian(5000, SPECTRUM, random_state=2)
    white = rows(data) @ data.components.T / np.sqrt(data.eigenvalues)
    for column in white.T:
        assert stats.kstest(column, "norm").pvalue > 1e-6
    heavy = pareto(5000, SPECTRUM, alpha=3.0, random_state=2)
    white = rows(heavy) @ heavy.components.T / np.sqrt(heavy.eigenvalues)
    assert stats.kstest(white[:, 0], "norm").pvalue < 1e-6


@pytest.mark.parametrize("alpha", [2.5, 5.0, 20.0])
def test_pareto_norms_are_pareto(alpha):
    data = pareto(5000, SPECTRUM, alpha=alpha, random_state=3)
    white = rows(data) @ data.components.T / np.sqrt(data.eigenvalues)
    radius = np.linalg.norm(white, axis=1) / math.sqrt(5) * math.sqrt(alpha / (alpha - 2))
    assert stats.kstest(radius, stats.pareto(alpha).cdf).pvalue > 1e-6
    assert stats.kstest(radius, stats.pareto(1.2 * alpha).cdf).pvalue < 1e-6


def test_rare_spikes_are_rare_and_lie_on_one_line():
    data = rare_spikes(50_000, 5, alpha=0.01, random_state=4)
    x = rows(data)
    spikes = np.isclose(np.abs(x @ data.components[0]), 0.01**-0.25) & np.isclose(
        np.linalg.norm(x, axis=1), 0.01**-0.25
    )
    assert stats.binomtest(int(spikes.sum()), 50_000, 0.01).pvalue > 1e-6
    signs = int((x[spikes] @ data.components[0] > 0).sum())
    assert stats.binomtest(signs, int(spikes.sum()), 0.5).pvalue > 1e-6
    np.testing.assert_allclose(x[~spikes].T @ x[~spikes] / (~spikes).sum(), np.eye(5), atol=0.04)
    assert data.eigenvalues[0] - data.eigenvalues[1] == pytest.approx(0.1)


def exponential_moment(alpha, K):
    """E[exp(abs(v^T (A - S) v) / (K l_1 gamma))] of rare spikes, with l_1^2 gamma^2 the variance along v."""
    top = 1 - alpha + math.sqrt(alpha)
    scale = K * math.sqrt(3 * (1 - alpha) + 1 - top**2)

    def density(x):
        return math.exp(abs(x * x - top) / scale - x * x / 2) / math.sqrt(2 * math.pi)

    usual = 2 * integrate.quad(density, 0, 40, limit=300)[0]
    return (1 - alpha) * usual + alpha * math.exp(min(700.0, (alpha**-0.5 - top) / scale))


def test_when_rare_spikes_violate_the_tail_assumption():
    """With K = 4: not at 0.01, but for all small alpha. The variance of the formula agrees with simulation."""
    assert exponential_moment(0.01, 4.0) < 2
    assert exponential_moment(3e-4, 4.0) > 2
    assert exponential_moment(1e-6, 4.0) > 1e50
    data = rare_spikes(400_000, 3, alpha=0.01, random_state=5)
    form = (rows(data) @ data.components[0]) ** 2
    assert form.var() == pytest.approx(3 * 0.99 + 1 - 1.09**2, rel=0.05)


def test_pareto_violates_the_tail_assumption():
    """The largest of n squared norms outgrows any power of log n: 300 times n, at least 5 times the norm."""
    squares = np.sort((rows(pareto(300_000, [1.0, 1.0], alpha=4.5, random_state=6)) ** 2).sum(axis=1))
    typical = squares[[-300, -1]]  # about 1 in 1000, and 1 in 300,000
    gauss = np.sort((rows(gaussian(300_000, [1.0, 1.0], random_state=6)) ** 2).sum(axis=1))[[-300, -1]]
    assert typical[1] / typical[0] > 5
    assert gauss[1] / gauss[0] < 3


def test_the_models_of_theory_describe_these_data():
    """V in `theory` is the matrix variance of these samples."""
    n = 100_000
    cases = [
        (gaussian(n, SPECTRUM, random_state=7), gaussian_model(SPECTRUM, 2, n=n)),
        (spiked_covariance(n, 5, [3.0], 0.5, random_state=7), signed_spike_model(3.0, d=5, sigma=0.5, n=n)),
        (spiked_covariance(n, 5, [3.0, 1.0], 0.5, random_state=7), spiked_model([3.0, 1.0], d=5, sigma=0.5, n=n)),
    ]
    for data, model in cases:
        deviations = matrices(data) - data.covariance
        variance = np.linalg.norm(np.einsum("nij,nkj->ik", deviations, deviations) / n, 2)
        assert variance == pytest.approx(model.lambda_1**2 * model.V, rel=0.04)
        assert model.lambda_1 == pytest.approx(data.eigenvalues[0])
        assert np.abs(np.linalg.eigvalsh(deviations)).max() <= model.lambda_1 * model.M


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: spiked_covariance(0, 5, [1.0], 0.1), "n must be"),
        (lambda: spiked_covariance(5, 2.5, [1.0], 0.1), "d must be"),
        (lambda: spiked_covariance(5, 2, [1.0, 1.0, 1.0], 0.1), "more spikes"),
        (lambda: spiked_covariance(5, 2, [], 0.1), "eigenvalues"),
        (lambda: spiked_covariance(5, 2, [-1.0], 0.1), "eigenvalues"),
        (lambda: spiked_covariance(5, 2, [1.0], -0.1), "sigma"),
        (lambda: spiked_covariance(5, 2, [1.0], math.nan), "sigma"),
        (lambda: gaussian(5, [0.0, 0.0]), "not all 0"),
        (lambda: gaussian(5, np.ones((2, 3))), "symmetric"),
        (lambda: gaussian(5, [[1.0, 2.0], [2.0, 1.0]]), "semi-definite"),
        (lambda: gaussian(5, np.ones((2, 2, 2))), "eigenvalues"),
        (lambda: gaussian(-1, [1.0]), "n must be"),
        (lambda: pareto(5, [1.0], alpha=2.0), "above 2"),
        (lambda: pareto(5, [math.inf]), "finite"),
        (lambda: rare_spikes(5, 3, alpha=0.0), "alpha"),
        (lambda: rare_spikes(5, 0), "d must be"),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()
