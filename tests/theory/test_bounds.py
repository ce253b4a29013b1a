"""Upper and lower bounds: printed values, monotonicity, and order."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.theory import (
    Model,
    gaussian_model,
    lower_bound_gaussian,
    lower_bound_spiked,
    lower_bound_spiked_distance,
    lower_bound_spiked_rederived,
    lower_bound_without_tails,
    noisy_batch,
    oracle_bound,
    oracle_bound_dp_ojas,
    signed_spike_model,
    spiked_model,
    upper_bound,
    upper_bound_gaussian,
    upper_bound_input_noise,
    upper_bound_k_dp_ojas,
    upper_bound_more_rounds,
    upper_bound_spiked,
    zeta_range_from_distance,
    zeta_range_from_sin,
)

MODEL = Model(d=50, k=3, lambda_1=7.0, kappa=4.0, M=90.0, V=20.0, gamma=1.5)
PRIVACY = {"epsilon": 0.5, "delta": 1e-5}
ON_MODELS = [upper_bound, upper_bound_k_dp_ojas, upper_bound_more_rounds, oracle_bound, oracle_bound_dp_ojas]
PLAIN = {
    "gaussian": (upper_bound_gaussian, {"d": 50, "k": 3, "kappa": 4.0, **PRIVACY}),
    "spiked": (upper_bound_spiked, {"d": 50, "k": 3, "kappa": 4.0, "sigma": 0.2, **PRIVACY}),
    "input noise": (upper_bound_input_noise, {"d": 50, "k": 3, "epsilon": 0.5}),
}


def test_the_printed_values():
    n, log = 10**5, math.log(1e5)
    first = math.sqrt(20 * 3 / n)
    assert upper_bound(n, MODEL, **PRIVACY) == pytest.approx(
        4 * (first + 1.5 * 50 * 3 * math.sqrt(log) / (0.5 * n))
    )
    assert upper_bound_k_dp_ojas(n, MODEL, **PRIVACY) == pytest.approx(
        4 * (first + 2.5 * 50 * 3 * log / (0.5 * n))
    )
    assert upper_bound_gaussian(n, **PLAIN["gaussian"][1]) == pytest.approx(
        4 * (math.sqrt(150 / n) + 150 * math.sqrt(log) / (0.5 * n))
    )
    assert upper_bound_spiked(n, **PLAIN["spiked"][1]) == pytest.approx(
        0.2 * upper_bound_gaussian(n, **PLAIN["gaussian"][1])
    )
    assert upper_bound_input_noise(n, d=50, k=3, epsilon=0.5) == pytest.approx(
        math.sqrt(150 / n) + 50**1.5 * 3 / (0.5 * n)
    )


def test_the_corollary_is_the_theorem_with_its_constants():
    """V = d, gamma = 1 is the Gaussian corollary; V = sigma^2 d, gamma = sigma the spiked one."""
    plain = Model(d=50, k=3, lambda_1=1.0, kappa=4.0, M=1.0, V=50.0, gamma=1.0)
    calm = dataclasses.replace(plain, V=0.04 * 50, gamma=0.2)
    assert upper_bound(999, plain, **PRIVACY) == pytest.approx(upper_bound_gaussian(999, **PLAIN["gaussian"][1]))
    assert upper_bound(999, calm, **PRIVACY) == pytest.approx(upper_bound_spiked(999, **PLAIN["spiked"][1]))


@pytest.mark.parametrize("n", [100, 10**6])
def test_the_corollaries_cover_the_exact_constants(n):
    exact = gaussian_model([4.0, 3.0, *[1.0] * 40], 2, n=n)
    stated = upper_bound_gaussian(n, d=42, k=2, kappa=exact.kappa, **PRIVACY)
    assert upper_bound(n, exact, **PRIVACY) <= math.sqrt(2) * stated
    for sigma in (0.01, 0.1, 1.0):
        exact = signed_spike_model(2.0, d=42, sigma=sigma, n=n)
        stated = upper_bound_spiked(n, d=42, k=1, kappa=exact.kappa, sigma=sigma, spike=2.0, **PRIVACY)
        assert upper_bound(n, exact, **PRIVACY) <= 2 * stated


@pytest.mark.parametrize("bound", [upper_bound, upper_bound_more_rounds, upper_bound_k_dp_ojas])
def test_deflation_gives_each_oracle_its_part(bound):
    """meta-theorem: zeta of k components from n samples is zeta of one component from n / k samples."""
    one = dataclasses.replace(MODEL, k=1)
    assert bound(3 * 10**5, MODEL, **PRIVACY) == pytest.approx(bound(10**5, one, **PRIVACY))


@pytest.mark.parametrize("bound", ON_MODELS)
def test_monotonicity_of_bounds_on_models(bound):
    def value(n=10**4, epsilon=0.5, delta=1e-5, **changes):
        return bound(n, dataclasses.replace(MODEL, **changes), epsilon=epsilon, delta=delta)

    base = value()
    assert value(n=10**5) < base
    assert value(epsilon=1.0) < base
    assert value(delta=1e-3) < base
    assert value(d=60) > base
    assert value(kappa=5.0) > base
    assert value(V=30.0) > base
    assert value(gamma=2.0) > base
    assert value(M=1000.0) == base  # M is in the sample size only
    if bound not in (oracle_bound, oracle_bound_dp_ojas):
        assert value(k=4) > base


@pytest.mark.parametrize("name", PLAIN)
def test_monotonicity_of_bounds_on_numbers(name):
    bound, setting = PLAIN[name]
    base = bound(10**4, **setting)
    assert bound(10**5, **setting) < base
    for key, more, sign in [
        ("epsilon", 1.0, -1),
        ("d", 60, 1),
        ("k", 4, 1),
        ("sigma", 0.3, 1),
        ("delta", 0.1, -1),
    ]:
        if key in setting:
            assert (bound(10**4, **(setting | {key: more})) - base) * sign > 0
    assert bound(10**4, constant=3.0, **setting) == pytest.approx(3 * base)
    assert bound(10**4, log_power=2.0, **setting) == pytest.approx(math.log(50 * 10**4) ** 2 * base)


def test_adaptive_noise():
    """With gamma, the bound of k-DP-PCA tends to 0, that of k-DP-Ojas does not; the k > 1 model has sigma^2."""
    calm = signed_spike_model(d=50, sigma=1e-6, n=10)
    assert upper_bound(10**5, calm, **PRIVACY) < 1e-5
    floor = 50 * math.log(1e5) / (0.5 * 10**5)
    assert upper_bound_k_dp_ojas(10**5, calm, **PRIVACY) == pytest.approx(floor, rel=1e-3)
    at = [upper_bound(10**5, spiked_model([2.0, 1.0], d=50, sigma=s, n=10), **PRIVACY) for s in (1e-2, 1e-3)]
    assert at[0] / at[1] == pytest.approx(100, rel=1e-3)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_cost_of_more_rounds_follows_from_the_noise_in_the_proof(power):
    """zeta^2 grows by the noise variance over T; kappa^power times the rounds, kappa^power smaller batches."""
    still = dataclasses.replace(MODEL, V=0.0, k=1, a=1e-9)  # no sampling error, and log^a = 1
    n, kappa = 10**6, int(MODEL.kappa)

    def gained(rounds):
        update = noisy_batch(still, batch_size=n // rounds, rounds=rounds, **PRIVACY)
        return math.sqrt(update.variance / rounds)

    few, more = (f(n, still, **PRIVACY) for f in (upper_bound, upper_bound_more_rounds))
    assert more / few == pytest.approx(math.sqrt(kappa))
    more = upper_bound_more_rounds(n, still, power=power, **PRIVACY)
    assert more / few == pytest.approx(gained(100 * kappa ** int(power)) / gained(100), rel=1e-6)


def test_a_spike_in_other_units_has_the_same_bound():
    once = upper_bound_spiked(10**5, spike=1.0, **PLAIN["spiked"][1])
    twice = upper_bound_spiked(10**5, spike=4.0, **(PLAIN["spiked"][1] | {"sigma": 0.4}))
    assert twice == pytest.approx(once)


def test_private_terms_against_input_noise():
    """Linear in d instead of d^(3/2): at small n, where privacy dominates, the ratio grows like sqrt d."""

    def ratio(d):
        setting = {"d": d, "k": 1, "epsilon": 1e-3}
        return upper_bound_input_noise(10, **setting) / upper_bound_gaussian(10, kappa=1.0, delta=0.3, **setting)

    assert ratio(400) / ratio(100) == pytest.approx(2, rel=0.01)


SPIKED_GRID = list(
    itertools.product([100, 10**4, 10**7], [5, 50, 500], [1, 2, 4], [1e-3, 0.1, 1, 10], [0.05, 1.0], [0.3, 1e-6])
)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_upper_above_lower_on_a_grid_spiked(scale):
    """With hidden constants 1 and delta <= 1/e: above, sqrt(log(1/delta)) < 1 would be below lower bounds."""
    for n, d, k, sigma, epsilon, delta in SPIKED_GRID:
        spikes = scale * np.linspace(1.5, 1.0, k)
        gaps = np.append(-np.diff(spikes), spikes[-1])
        noise = sigma * math.sqrt(scale)
        kappa = (spikes[0] + noise**2) / gaps.min()
        high = upper_bound_spiked(
            n, d=d, k=k, kappa=kappa, sigma=noise, spike=spikes[0], epsilon=epsilon, delta=delta
        )
        setting = {"d": d, "spikes": spikes, "sigma": noise, "epsilon": epsilon}
        assert high >= lower_bound_spiked(n, **setting)
        assert high >= lower_bound_spiked_rederived(n, **setting)
        # the lower bound is for a Gaussian signal, whose own upper bound must be above it too
        model = gaussian_model(np.append(spikes, np.zeros(d - k)) + noise**2, k, n=n)
        assert upper_bound(n, model, epsilon=epsilon, delta=delta) >= lower_bound_spiked_rederived(n, **setting)


def test_upper_above_lower_on_a_grid_gaussian():
    for n, d, gap, epsilon, delta in itertools.product(
        [100, 10**4, 10**7], [2, 50, 500], [0.01, 0.5, 0.99], [0.05, 1.0], [0.3, 1e-6]
    ):
        spectrum = [1.0, *[1 - gap] * (d - 1)]
        model = gaussian_model(spectrum, 1, n=n)
        low = lower_bound_gaussian(n, d=d, lambda_1=1.0, lambda_2=1 - gap, epsilon=epsilon)
        assert oracle_bound(n, model, epsilon=epsilon, delta=delta) >= low
        assert upper_bound(n, model, epsilon=epsilon, delta=delta) >= zeta_range_from_sin(low, spectrum)[0]


def test_without_light_tails_the_guarantee_would_be_false():
    """thm-lower-bound-k-1-wo-ass-4 exceeds the bound of k-DP-PCA for V = d, gamma = 1: A.4 is needed."""
    model = Model(d=10, k=1, lambda_1=1.0, kappa=2.0, M=1.0, V=10.0, gamma=1.0)
    setting = {"epsilon": 0.01, "delta": 1e-9}
    for n in (10**8, 10**10):
        assert lower_bound_without_tails(n, d=10, kappa=2.0, **setting) > 2 * upper_bound(n, model, **setting)


def test_printed_lower_bounds():
    n = 10**4
    rate = math.sqrt(50 * 2 / n) + 50 * 2 / (n * 0.5)
    setting = {"d": 50, "spikes": [3.0, 2.0], "sigma": 0.5, "epsilon": 0.5}
    assert lower_bound_spiked(n, **setting) == pytest.approx(0.5 * math.sqrt(3.25) / 5.5 * rate)
    distance = lower_bound_spiked_distance(n, **setting)
    assert distance == pytest.approx(0.5 * math.sqrt(3.25) / 3 * rate)
    spectrum = np.append([3.0, 2.0], np.zeros(48)) + 0.25
    assert lower_bound_spiked_rederived(n, **setting) == pytest.approx(
        zeta_range_from_distance(distance, spectrum, 2)[0]
    )
    assert lower_bound_gaussian(n, d=50, lambda_1=2.0, lambda_2=1.0, epsilon=0.5) == pytest.approx(
        2 * (math.sqrt(50 / n) + 50 / (0.5 * n)) * math.sqrt(0.5)
    )
    tails = lower_bound_without_tails(n, d=3, kappa=2.0, epsilon=0.5, delta=1e-5)
    assert tails == pytest.approx(2 * math.sqrt(3 / (0.5 * n)))
    tails = lower_bound_without_tails(n, d=300, kappa=2.0, epsilon=0.5, delta=1e-5)
    assert tails == pytest.approx(2 * math.sqrt(math.log((1 - math.exp(-0.5)) / 1e-5) / (0.5 * n)))


def test_lower_bounds_never_exceed_their_maximum():
    setting = {"d": 50, "spikes": [1.0, 1.0], "sigma": 1.0, "epsilon": 1e-6}
    assert lower_bound_spiked(2, **setting) == 1.0
    assert lower_bound_spiked_distance(2, **setting) == math.sqrt(2)
    assert lower_bound_spiked_rederived(2, **setting) <= 1.0
    assert lower_bound_gaussian(2, d=50, lambda_1=2.0, lambda_2=1.0, epsilon=1e-6) == 1.0
    assert lower_bound_without_tails(2, d=50, kappa=3.0, epsilon=1e-6, delta=1e-9) == 3.0
    assert lower_bound_without_tails(2, d=50, kappa=3.0, epsilon=1e-6, delta=0.1) == 0.0


def test_monotonicity_of_lower_bounds():
    def spiked(n=10**6, d=50, k=2, sigma=0.1, epsilon=0.5):
        setting = {"d": d, "spikes": [1.0] * k, "sigma": sigma, "epsilon": epsilon}
        return np.array([f(n, **setting) for f in (lower_bound_spiked, lower_bound_spiked_rederived)])

    base = spiked()
    assert (spiked(n=10**7) < base).all()
    assert (spiked(epsilon=1.0) < base).all()
    assert (spiked(d=60) > base).all()
    assert (spiked(sigma=0.2) > base).all()
    # printed: 1/k from the sum against sqrt(k) to k from the rate; with the square root the error does grow
    assert spiked(k=3)[1] > base[1]
    assert spiked(k=3)[0] < base[0]


def test_the_gap_between_upper_and_lower_is_sqrt_k_not_k():
    """Equal constants, small sigma, statistical term: printed k, rederived sqrt(2 k), times kappa."""
    for k in (2, 8, 32):
        setting = {"d": 100, "spikes": [1.0] * k, "sigma": 1e-3, "epsilon": 1e6}
        high = upper_bound_spiked(10**9, d=100, k=k, kappa=1.0, sigma=1e-3, epsilon=1e6, delta=0.3)
        assert high / lower_bound_spiked(10**9, **setting) == pytest.approx(k, rel=1e-3)
        assert high / lower_bound_spiked_rederived(10**9, **setting) == pytest.approx(math.sqrt(2 * k), rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: upper_bound(0, MODEL, **PRIVACY), "n must be"),
        (lambda: upper_bound(10, MODEL, epsilon=-1.0, delta=0.1), "epsilon"),
        (lambda: upper_bound(10, MODEL, epsilon=1.0, delta=0.0), "delta"),
        (lambda: upper_bound(10, MODEL, constant=0.0, **PRIVACY), "constant"),
        (lambda: upper_bound(10, MODEL, log_power=-1.0, **PRIVACY), "log_power"),
        (lambda: upper_bound_gaussian(10, d=2.5, k=1, kappa=1.0, **PRIVACY), "d must be a whole"),
        (lambda: upper_bound_spiked(10, d=5, k=1, kappa=1.0, sigma=-1.0, **PRIVACY), "sigma"),
        (lambda: lower_bound_spiked(10, d=2, spikes=[1.0, 1.0], sigma=1.0, epsilon=1.0), "fewer spikes"),
        (lambda: lower_bound_spiked(10, d=5, spikes=[1.0, 0.0], sigma=1.0, epsilon=1.0), "smallest_spike"),
        (lambda: lower_bound_gaussian(10, d=5, lambda_1=1.0, lambda_2=1.0, epsilon=1.0), "must exceed"),
        (lambda: lower_bound_without_tails(10, d=1, kappa=1.0, epsilon=1.0, delta=0.1), "at least 2"),
    ],
)
def test_invalid_arguments_raise(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
