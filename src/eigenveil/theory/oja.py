"""Oja's algorithm with a projection: its error bound, and the noisy updates to which the proofs apply it.

Spread and variance are absolute here (script M and V in the paper): lambda_1 M and lambda_1^2 V of `Model`.
The step sizes are in `eigenveil.schedules`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eigenveil._checks import not_negative, positive
from eigenveil.errors import InvalidInputError
from eigenveil.theory.assumptions import Model
from eigenveil.theory.checks import share, whole


@dataclass(frozen=True, kw_only=True)
class NoisyUpdate:
    """One update of private Oja in the proofs: mean + noise_std * (standard normal d x d matrix).

    Parameters
    ----------
    noise_std : float
        Standard deviation of the privacy noise per coordinate.
    spread, variance : float
        norm(C - S) and norm(E[(C - S)(C - S)^T]) of the update matrix C.
    """

    noise_std: float
    spread: float
    variance: float


def oja_sin_squared(
    n: float,
    *,
    d: int,
    gap: float,
    variance: float,
    offset: float,
    alpha: float,
    failure: float = 0.01,
    constant: float = 1.0,
) -> float:
    """Return the bound on the squared sine of Oja's result after n steps (thm-utility-non-private-Ojas-with-P).

    Step t has size alpha / (gap (offset + t)). The bound is

    constant log(1 / failure) / failure^2 * (d (offset / n)^(2 alpha) + alpha^2 variance / ((2 alpha - 1) gap^2 n))

    with probability 1 - `failure`, for any fixed projection P. `gap` is l_1 - l_2 of P S P, and `offset` is the
    paper's beta or xi (`schedules.theorem_offset`). It needs n > offset and alpha > 1/2.

    Notes
    -----
    The theorem is based on thm-pre-step-to-Ojas-utility, which is printed for the sine although its proof bounds
    the squared sine. It also omits the term with the variance from lemma-4. The theorem and this function include
    that term.

    Examples
    --------
    >>> setting = dict(d=10, gap=1.0, variance=1.0, offset=100.0, alpha=2.0, failure=0.1)
    >>> oja_sin_squared(10**6, **setting) < oja_sin_squared(10**5, **setting) < 1
    True
    """
    whole(d=d)
    positive(n=n, gap=gap, constant=constant)
    not_negative(variance=variance, offset=offset)
    share(failure=failure)
    if alpha <= 0.5 or n <= offset:
        raise InvalidInputError(
            f"the theorem needs alpha > 1/2 and n > offset, got alpha = {alpha!r}, n = {n!r}, offset = {offset!r}."
        )
    start = d * math.pow(offset / n, 2 * alpha)
    sampling = alpha**2 * variance / ((2 * alpha - 1) * gap**2 * n)
    return constant * math.log(1 / failure) / failure**2 * (start + sampling)


def noisy_batch(
    model: Model,
    *,
    batch_size: int,
    rounds: int,
    epsilon: float,
    delta: float,
    tau: float = 0.01,
    constant: float = 1.0,
) -> NoisyUpdate:
    """Return the update of ModifiedDP-PCA (proof of thm-utility-moddp-pca, lemma-f5-liu, lemma-f2-liu).

    1. noise 16 K gamma l_1 log^a(B d / tau) sqrt(2 d log(2.5 / delta)) / (epsilon B), an upper bound on the noise
    of PrivMean
    2. variance V l_1^2 / B + d noise^2
    3. spread M l_1 log(d T / tau) / B + sqrt(V l_1^2 log(d T / tau) / B) + noise (sqrt d + sqrt(log(T / tau)))

    `constant` multiplies the noise term of the variance, and the spread (C_2 and the O's of the two lemmas).

    Examples
    --------
    >>> model = Model(d=20, k=1, lambda_1=1.0, kappa=2.0, M=40.0, V=20.0, gamma=1.0)
    >>> update = noisy_batch(model, batch_size=10**6, rounds=10, epsilon=0.5, delta=1e-6)
    >>> round(update.noise_std, 4), round(update.variance, 4)
    (0.0665, 0.0886)
    """
    whole(batch_size=batch_size, rounds=rounds)
    positive(epsilon=epsilon, constant=constant)
    share(delta=delta, tau=tau)
    B, d, top = batch_size, model.d, model.lambda_1
    tail = math.log(B * d / tau) ** model.a
    noise = 16 * model.K * model.gamma * top * tail * math.sqrt(2 * d * math.log(2.5 / delta)) / (epsilon * B)
    log = math.log(d * rounds / tau)
    return NoisyUpdate(
        noise_std=noise,
        variance=model.V * top**2 / B + constant * d * noise**2,
        spread=constant
        * (
            model.M * top * log / B
            + math.sqrt(model.V * top**2 * log / B)
            + noise * (math.sqrt(d) + math.sqrt(math.log(rounds / tau)))
        ),
    )


def noisy_sample(
    model: Model,
    *,
    n: int,
    epsilon: float,
    delta: float,
    tau: float = 0.01,
    clip_constant: float = 1.0,
    noise_constant: float = 1.0,
    constant: float = 1.0,
) -> NoisyUpdate:
    """Return the update of DP-Ojas as printed: one clipped sample with noise 2 alpha beta (thm-utility-dp-ojas).

    alpha = noise_constant log(n / delta) / (epsilon sqrt n), beta = clip_constant l_1 sqrt d (K gamma log^a(n d
    / tau) + 1). This is for utility only: at the epsilon of the experiments, no privacy proof covers this noise.
    The paper calls both bounds V with a tilde; the second is the spread. `tau` is the paper's zeta.

    Examples
    --------
    >>> model = Model(d=20, k=1, lambda_1=1.0, kappa=2.0, M=40.0, V=20.0, gamma=0.0)
    >>> round(noisy_sample(model, n=10**6, epsilon=1.0, delta=1e-6).noise_std, 4)
    0.2471
    """
    whole(n=n)
    positive(epsilon=epsilon, clip_constant=clip_constant, noise_constant=noise_constant, constant=constant)
    share(delta=delta, tau=tau)
    d, top = model.d, model.lambda_1
    alpha = noise_constant * math.log(n / delta) / (epsilon * math.sqrt(n))
    beta = clip_constant * top * math.sqrt(d) * (model.K * model.gamma * math.log(n * d / tau) ** model.a + 1)
    noise = 2 * alpha * beta
    return NoisyUpdate(
        noise_std=noise,
        variance=model.V * top**2 + constant * d * noise**2,
        spread=model.M * top + constant * noise * (math.sqrt(d) + math.sqrt(math.log(n / tau))),
    )
