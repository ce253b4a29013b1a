"""The constants of assumption-1 compared with simulation and with their definitions."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from eigenveil.errors import InvalidInputError
from eigenveil.theory import Model, condition_number, gaussian_model, signed_spike_model, spiked_model

SPECTRUM = np.array([4.0, 2.0, 1.0, 0.5])
SPIKES = np.array([3.0, 1.0])
D, DRAWS = 4, 400_000


def gaussian(rng, n):
    x = rng.normal(size=(n, D)) * np.sqrt(SPECTRUM)
    return x[:, :, None] * x[:, None, :] - np.diag(SPECTRUM)


def spiked(rng, n, sigma=0.7):
    z = sigma * rng.normal(size=(n, D))
    return z[:, :, None] * z[:, None, :] - sigma**2 * np.eye(D)


def signed(rng, n, sigma=0.7, spike=2.0):
    x = sigma * rng.normal(size=(n, D))
    x[:, 0] += math.sqrt(spike) * rng.choice([-1.0, 1.0], size=n)
    sigma_matrix = sigma**2 * np.eye(D)
    sigma_matrix[0, 0] += spike
    return x[:, :, None] * x[:, None, :] - sigma_matrix


MODELS = {
    "gaussian": (gaussian, lambda n, tau: gaussian_model(SPECTRUM, 2, n=n, tau=tau)),
    "spiked": (spiked, lambda n, tau: spiked_model(SPIKES, d=D, sigma=0.7, n=n, tau=tau)),
    "signed": (signed, lambda n, tau: signed_spike_model(2.0, d=D, sigma=0.7, n=n, tau=tau)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_centred_matrices_have_mean_zero(name):
    deviations = MODELS[name][0](np.random.default_rng(0), DRAWS)
    np.testing.assert_allclose(deviations.mean(axis=0), 0, atol=0.04)


@pytest.mark.parametrize("name", MODELS)
def test_variance_is_the_matrix_variance(name):
    draw, make = MODELS[name]
    model = make(100, 0.01)
    deviations = draw(np.random.default_rng(1), DRAWS)
    second = np.einsum("nij,nkj->ik", deviations, deviations) / DRAWS
    assert np.linalg.norm(second, 2) == pytest.approx(model.lambda_1**2 * model.V, rel=0.02)


@pytest.mark.parametrize("name", MODELS)
def test_gamma_is_the_largest_directional_spread(name):
    draw, make = MODELS[name]
    model = make(100, 0.01)
    rng = np.random.default_rng(2)
    deviations = draw(rng, DRAWS // 4)
    exact = model.lambda_1**2 * model.gamma**2

    def spread(u):
        products = deviations @ u
        return np.linalg.norm(products.T @ products / len(products), 2)

    assert spread(np.eye(D)[0]) == pytest.approx(exact, rel=0.03)
    for u in rng.normal(size=(60, D)):
        assert spread(u / np.linalg.norm(u)) <= exact * 1.03


@pytest.mark.parametrize("name", MODELS)
def test_spread_bounds_all_samples_at_once(name):
    draw, make = MODELS[name]
    rng = np.random.default_rng(3)
    n, tau, repeats = 100, 0.2, 300
    bound = make(n, tau).M * make(n, tau).lambda_1
    largest = np.array([np.abs(np.linalg.eigvalsh(draw(rng, n))).max() for _ in range(repeats)])
    assert (largest > bound).mean() <= tau
    assert np.median(largest) > bound / 4  # and it is no idle bound


@pytest.mark.parametrize("name", MODELS)
def test_tail_constant_makes_the_exponential_moment_at_most_2(name):
    draw, make = MODELS[name]
    model = make(100, 0.01)
    rng = np.random.default_rng(4)
    deviations = draw(rng, DRAWS // 4)
    scale = model.K * model.lambda_1 * model.gamma
    pairs = [np.eye(D)[[0, 0]], np.eye(D)[[0, 1]], *rng.normal(size=(30, 2, D))]
    for u, v in pairs:
        form = np.abs(deviations @ (u / np.linalg.norm(u)) @ (v / np.linalg.norm(v)))
        assert 1 < np.exp(form / scale).mean() <= 2  # 1, as the paper has it, is out of reach


def test_how_small_the_tail_constant_could_be():
    """The paper's K = 1 for spiked data: exp(abs(g^2 - 1) / (K sqrt 2)) has no mean for K <= sqrt 2."""

    def moment(K, bound):
        def density(g):
            return math.exp(abs(g * g - 1) / (K * math.sqrt(2)) - g * g / 2) / math.sqrt(2 * math.pi)

        return 2 * integrate.quad(density, 0, bound, limit=200)[0]

    assert moment(4.0, 20) == pytest.approx(moment(4.0, 30), rel=1e-9)
    assert moment(4.0, 30) < 1.22
    assert moment(1.72, 40) < 2 < moment(1.7, 40)
    assert moment(1.0, 20) > 1e30


def test_spread_is_close_to_the_exact_quantile():
    chi = stats.chi2(50)
    n, tau = 1000, 0.01
    model = gaussian_model(np.r_[1.0001, np.ones(49)], 1, n=n, tau=tau)
    exact = chi.isf(tau / n)
    assert exact < model.M < 1.3 * exact


def test_orders_in_sigma_and_d():
    """V = O(sigma^2 d), gamma = O(sigma) for x = +-v + noise, as stated; sigma^4, sigma^2 for the k > 1 model."""
    calm, calmer = (signed_spike_model(d=50, sigma=sigma, n=10) for sigma in (1e-3, 1e-4))
    assert pytest.approx(100, rel=1e-3) == calm.V / calmer.V
    assert calm.gamma / calmer.gamma == pytest.approx(10, rel=1e-3)
    assert calm.gamma == pytest.approx(2e-3, rel=1e-3)
    calm, calmer = (spiked_model([1.0], d=50, sigma=sigma, n=10) for sigma in (1e-3, 1e-4))
    assert pytest.approx(10**4, rel=1e-3) == calm.V / calmer.V
    assert calm.gamma / calmer.gamma == pytest.approx(100, rel=1e-3)
    assert pytest.approx(100 / 1.1 + 1, rel=0.01) == gaussian_model(np.r_[1.1, np.ones(99)], 1, n=10).V


def test_condition_number():
    assert condition_number([10, 5, 1, 1], 1) == 2.0
    assert condition_number([10, 5, 1, 1], 2) == 2.5
    assert condition_number([10, 5, 5, 1], 2) == math.inf
    assert spiked_model([10.0, 5.0], d=9, sigma=1.0, n=5).kappa == pytest.approx(11 / 5)
    assert signed_spike_model(4.0, d=9, sigma=1.0, n=5).kappa == pytest.approx(5 / 4)
    sorted_spectrum = [11.0, 6.0, 1.0, 1.0]
    assert spiked_model([10.0, 5.0], d=4, sigma=1.0, n=5).kappa == pytest.approx(
        condition_number(sorted_spectrum, 2)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gaussian_model([1.0, 2.0], 1, n=10), "largest first"),
        (lambda: gaussian_model([1.0, -2.0], 1, n=10), "largest first"),
        (lambda: gaussian_model([[1.0]], 1, n=10), "largest first"),
        (lambda: gaussian_model([2.0, 2.0, 1.0], 1, n=10), "equal"),
        (lambda: gaussian_model([2.0, 1.0], 2, n=10), "below the number"),
        (lambda: gaussian_model([2.0, 1.0], 1, n=0), "n must be"),
        (lambda: gaussian_model([2.0, 1.0], 1, n=10, tau=0.0), "tau"),
        (lambda: spiked_model([2.0, 1.0], d=2, sigma=1.0, n=10), "k must be below d"),
        (lambda: spiked_model([2.0, 1.0], d=5, sigma=0.0, n=10), "sigma"),
        (lambda: Model(d=5, k=1, lambda_1=1.0, kappa=0.5, M=1.0, V=1.0, gamma=1.0), "kappa"),
        (lambda: Model(d=5, k=1, lambda_1=1.0, kappa=1.0, M=1.0, V=-1.0, gamma=1.0), "V must be"),
        (lambda: Model(d=5, k=1.5, lambda_1=1.0, kappa=1.0, M=1.0, V=1.0, gamma=1.0), "k must be a whole"),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()
