"""Upper bounds on zeta: the paper's utility guarantees.

All hold with high probability, for n large enough (`sample_sizes`), and up to the hidden factor. A value above
1 is uninformative, because zeta is at most 1. The paper proves them for epsilon and delta below 0.9.
"""

from __future__ import annotations

import math

from eigenveil._checks import not_negative, positive
from eigenveil.theory.assumptions import Model
from eigenveil.theory.checks import hidden_factor, share, whole


def oracle_bound(
    n: float, model: Model, *, epsilon: float, delta: float, constant: float = 1.0, log_power: float = 0.0
) -> float:
    """Bound the sine of the angle for one component of ModifiedDP-PCA, n samples (eq-modified-dp-pca-utility).

    kappa (sqrt(V / n) + gamma d sqrt(log(1 / delta)) / (epsilon n)). The same number bounds zeta of the oracle
    (thm:pca-alg-epca), because zeta <= sine by lemma-sin-to-epca.

    Examples
    --------
    >>> model = Model(d=100, k=1, lambda_1=1.0, kappa=2.0, M=1.0, V=100.0, gamma=1.0)
    >>> round(oracle_bound(10**6, model, epsilon=1.0, delta=1e-6), 5)
    0.02074
    """
    share(delta=delta)
    private = model.gamma * model.d * math.sqrt(math.log(1 / delta))
    return _rate(n, model, private=private, epsilon=epsilon, constant=constant, log_power=log_power)


def oracle_bound_dp_ojas(
    n: float, model: Model, *, epsilon: float, delta: float, constant: float = 1.0, log_power: float = 0.0
) -> float:
    """Bound the sine of the angle for one component of DP-Ojas, n samples (thm-utility-dp-ojas).

    kappa (sqrt(V / n) + (gamma + 1) d log(1 / delta) / (epsilon n)).

    Deviations from the paper
    -------------------------
    thm:pca-alg-epca has sqrt(log(1 / delta)) here; thm-utility-dp-ojas and corollary:k-dp-ojas have log(1 /
    delta). The proof's noise multiplier log(n / delta) / (epsilon sqrt(n)) gives log(1 / delta). The bound
    concerns utility only: DP-Ojas with that multiplier is private only for epsilon = O(sqrt(log(n / delta) /
    n)).

    Examples
    --------
    >>> model = Model(d=100, k=1, lambda_1=1.0, kappa=2.0, M=1.0, V=100.0, gamma=1.0)
    >>> round(oracle_bound_dp_ojas(10**6, model, epsilon=1.0, delta=1e-6), 5)
    0.02553
    """
    share(delta=delta)
    private = (model.gamma + 1) * model.d * math.log(1 / delta)
    return _rate(n, model, private=private, epsilon=epsilon, constant=constant, log_power=log_power)


def upper_bound(
    n: float, model: Model, *, epsilon: float, delta: float, constant: float = 1.0, log_power: float = 0.0
) -> float:
    """Bound zeta of k-DP-PCA with n samples (main-theorem-sec-2, eq:main-utility).

    kappa (sqrt(V k / n) + gamma d k sqrt(log(1 / delta)) / (epsilon n)). This is the oracle's bound with n / k
    samples, because deflation gives each component its own part and adds no error (meta-theorem).

    Parameters
    ----------
    n : float
        Number of samples.
    model : Model
        Constants of the distribution, with k.
    epsilon, delta : float
        Privacy parameters.
    constant, log_power : float
        Hidden factor constant * log(n d)^log_power; 1 and 0 by default. Include powers of K in `constant`.

    Examples
    --------
    >>> from eigenveil.theory import gaussian_model
    >>> model = gaussian_model([10.0, 5.0] + [1.0] * 98, 2, n=100_000)
    >>> round(upper_bound(100_000, model, epsilon=1.0, delta=1e-6), 4)
    0.0655
    """
    return oracle_bound(n / model.k, model, epsilon=epsilon, delta=delta, constant=constant, log_power=log_power)


def upper_bound_k_dp_ojas(
    n: float, model: Model, *, epsilon: float, delta: float, constant: float = 1.0, log_power: float = 0.0
) -> float:
    """Bound zeta of k-DP-Ojas with n samples (corollary:k-dp-ojas).

    kappa (sqrt(V k / n) + (gamma + 1) d k log(1 / delta) / (epsilon n)). Unlike the bound of k-DP-PCA, it does not
    tend to 0 with the spread gamma of the data.

    Examples
    --------
    >>> constant_data = Model(d=100, k=2, lambda_1=1.0, kappa=2.0, M=0.0, V=0.0, gamma=0.0)
    >>> upper_bound(10**6, constant_data, epsilon=1.0, delta=1e-6)
    0.0
    >>> round(upper_bound_k_dp_ojas(10**6, constant_data, epsilon=1.0, delta=1e-6), 5)
    0.00553
    """
    return oracle_bound_dp_ojas(
        n / model.k, model, epsilon=epsilon, delta=delta, constant=constant, log_power=log_power
    )


def upper_bound_more_rounds(
    n: float,
    model: Model,
    *,
    epsilon: float,
    delta: float,
    power: float = 1.0,
    constant: float = 1.0,
    log_power: float = 0.0,
) -> float:
    """Bound zeta of k-DP-PCA with kappa^power times as many rounds (subsec-sample-size-requirements).

    More rounds relax the requirement n >= exp(kappa^2). `power` = 1, the paper's T = c kappa log^3 n, needs
    n >= exp(3 kappa / c); `power` = 2 needs no such condition. The cost is smaller batches: the privacy term grows
    by sqrt(T), that is by kappa^(power / 2).

    Deviations from the paper
    -------------------------
    The paper states the cost twice: as gamma d^2 log(1 / delta) / (epsilon n) in zeta, and as
    kappa^r gamma^2 d^2 log(1 / delta) / (epsilon n)^2 with r left open. From the noise of its proof (beta^2 d / T
    with B = n / T), zeta^2 increases by kappa^(2 + power) gamma^2 d^2 log(1 / delta) / (epsilon n)^2. This is used
    here, so r = 3 for the paper's T.

    Examples
    --------
    >>> model = Model(d=100, k=1, lambda_1=1.0, kappa=4.0, M=1.0, V=0.0, gamma=1.0)
    >>> few = upper_bound(10**6, model, epsilon=1.0, delta=1e-6)
    >>> round(upper_bound_more_rounds(10**6, model, epsilon=1.0, delta=1e-6) / few, 6)
    2.0
    """
    share(delta=delta)
    not_negative(power=power)
    private = model.kappa ** (power / 2) * model.gamma * model.d * math.sqrt(math.log(1 / delta))
    return _rate(n / model.k, model, private=private, epsilon=epsilon, constant=constant, log_power=log_power)


def upper_bound_gaussian(
    n: float,
    *,
    d: int,
    k: int,
    kappa: float,
    epsilon: float,
    delta: float,
    constant: float = 1.0,
    log_power: float = 0.0,
) -> float:
    """Bound zeta of k-DP-PCA on Gaussian rows (corollary-gaussian-data).

    kappa (sqrt(d k / n) + d k sqrt(log(1 / delta)) / (epsilon n)), with V = d and gamma = 1. With the exact values
    of `gaussian_model` the bound is larger by a factor of at most sqrt(2).

    Examples
    --------
    >>> round(upper_bound_gaussian(100_000, d=100, k=2, kappa=2.5, epsilon=1.0, delta=1e-6), 4)
    0.1304
    """
    whole(d=d, k=k)
    positive(n=n, kappa=kappa, epsilon=epsilon)
    share(delta=delta)
    private = d * k * math.sqrt(math.log(1 / delta)) / (epsilon * n)
    return hidden_factor(n, d, constant=constant, log_power=log_power) * kappa * (math.sqrt(d * k / n) + private)


def upper_bound_spiked(
    n: float,
    *,
    d: int,
    k: int,
    kappa: float,
    sigma: float,
    epsilon: float,
    delta: float,
    spike: float = 1.0,
    constant: float = 1.0,
    log_power: float = 0.0,
) -> float:
    """Bound zeta of k-DP-PCA on a spiked covariance (corollary-spiked-covariance).

    sigma kappa (sqrt(d k / n) + d k sqrt(log(1 / delta)) / (epsilon n)). The cost of privacy decreases with the
    noise level sigma of the data.

    Deviations from the paper
    -------------------------
    The printed bound depends on the units of the data: it is for a spike with eigenvalue 1
    (spiked-cov-example). Here sigma is relative to sqrt(`spike`), where `spike` is the eigenvalue of the
    signal. For the experiments' model with k > 1, whose signal is the same in every sample, ``upper_bound(n,
    spiked_model(...))`` is sharper, of order sigma^2.

    Examples
    --------
    >>> large = upper_bound_spiked(10**5, d=100, k=2, kappa=2.0, sigma=0.1, epsilon=1.0, delta=1e-6)
    >>> small = upper_bound_spiked(10**5, d=100, k=2, kappa=2.0, sigma=0.01, epsilon=1.0, delta=1e-6)
    >>> round(large / small, 6)
    10.0
    """
    not_negative(sigma=sigma)
    positive(spike=spike)
    return (
        sigma
        / math.sqrt(spike)
        * upper_bound_gaussian(
            n, d=d, k=k, kappa=kappa, epsilon=epsilon, delta=delta, constant=constant, log_power=log_power
        )
    )


def upper_bound_input_noise(
    n: float, *, d: int, k: int, epsilon: float, constant: float = 1.0, log_power: float = 0.0
) -> float:
    """Return the rate of earlier methods, which add noise to a clipped d x d matrix (appendix-related-work).

    sqrt(d k / n) + d^(3/2) k / (epsilon n). The privacy term is larger than that of k-DP-PCA by a factor sqrt(d).

    Examples
    --------
    >>> round(upper_bound_input_noise(100_000, d=100, k=2, epsilon=1.0), 4)
    0.0647
    """
    whole(d=d, k=k)
    positive(n=n, epsilon=epsilon)
    factor = hidden_factor(n, d, constant=constant, log_power=log_power)
    return factor * (math.sqrt(d * k / n) + d * math.sqrt(d) * k / (epsilon * n))


def _rate(n: float, model: Model, *, private: float, epsilon: float, constant: float, log_power: float) -> float:
    """Return the rate kappa (sqrt(V / n) + private / (epsilon n)) times the hidden factor."""
    positive(n=n, epsilon=epsilon)
    factor = hidden_factor(n, model.d, constant=constant, log_power=log_power)
    return factor * model.kappa * (math.sqrt(model.V / n) + private / (epsilon * n))
