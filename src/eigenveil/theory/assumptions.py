"""Constants that describe a distribution of matrices in the paper (assumption-1), for three distributions.

A.1  E[A] = S with eigenvalues l_1 >= ... >= l_d; kappa = l_1 / min_{i<=k} (l_i - l_{i+1})
A.2  norm(A - S) <= l_1 M
A.3  norm(E[(A - S)(A - S)^T]) <= l_1^2 V, and the same transposed
A.4  E[exp((u^T P (A - S) P v)^2 / (K l_1 gamma)^2)^(1/2a)] <= 2, where
     l_1^2 gamma^2 = max over unit u of norm(E[(A - S) u u^T (A - S)^T])

Deviations from the paper
-------------------------
* A.4 is printed with 1 on the right, which no random matrix satisfies (the exponential is at least 1). We use
  2, as in the usual Orlicz norm. This gives (u^T P (A - S) P v)^2 <= (K l_1 gamma)^2 log^{2a}(2 / theta) with
  probability 1 - theta: 2 / theta instead of the 1 / theta in the text.
* A.2 cannot hold almost surely for Gaussian data. Here M bounds all n samples at once, with probability 1 - tau.
* V and gamma are the exact values for each distribution, where the paper gives orders of magnitude. M is explicit.
* corollary-spiked-covariance has gamma^2 = sigma^2 and K = 1. For x = +-v + noise, the exact value is gamma^2 =
  (4 sigma^2 + 2 sigma^4) / (1 + sigma^2)^2. For the model of the experiments with k > 1, whose signal is not
  random, V and gamma^2 are of order sigma^4, much smaller than stated. In this model K = 1 makes the
  expectation in A.4 infinite. K = 4, the paper's value for Gaussian data, is valid for all three distributions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eigenveil._checks import not_negative, positive
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.theory.checks import share, spectrum, whole


@dataclass(frozen=True, kw_only=True)
class Model:
    """Constants of assumption-1 for one distribution and one k.

    Parameters
    ----------
    d, k : int
        Number of dimensions and of components, 1 <= k < d.
    lambda_1 : float
        Largest eigenvalue of S.
    kappa : float
        lambda_1 / (the smallest of the first k gaps); kappa' in the paper.
    M, V, gamma : float
        Spread, variance and directional spread, all relative to lambda_1 as in A.2 to A.4.
    K, a : float
        Tail constants of A.4.

    Examples
    --------
    >>> model = Model(d=50, k=2, lambda_1=1.0, kappa=3.0, M=100.0, V=50.0, gamma=1.0)
    >>> model.K, model.a
    (4.0, 1.0)
    """

    d: int
    k: int
    lambda_1: float
    kappa: float
    M: float
    V: float
    gamma: float
    K: float = 4.0
    a: float = 1.0

    def __post_init__(self) -> None:
        whole(d=self.d, k=self.k)
        if self.k >= self.d:
            raise InvalidInputError(f"k must be below d, got k = {self.k} and d = {self.d}.")
        positive(lambda_1=self.lambda_1, kappa=self.kappa, K=self.K, a=self.a)
        not_negative(M=self.M, V=self.V, gamma=self.gamma)
        if self.kappa < 1:
            raise InvalidInputError(f"kappa = lambda_1 / gap must be at least 1, got {self.kappa!r}.")


def condition_number(eigenvalues: npt.ArrayLike, k: int) -> float:
    """Return the condition number kappa' = l_1 / min_{i<=k} (l_i - l_{i+1}) of A.1; infinite if a gap is 0.

    Examples
    --------
    >>> condition_number([10.0, 5.0, 1.0, 1.0], 2)
    2.5
    >>> condition_number([10.0, 5.0, 1.0, 1.0], 3)
    inf
    """
    values = spectrum(eigenvalues)
    whole(k=k)
    if k >= values.size:
        raise InvalidInputError(
            f"k must be below the number of eigenvalues, got k = {k} and {values.size} eigenvalues."
        )
    gap = -np.diff(values[: k + 1]).max()
    return float(values[0] / gap) if gap > 0 else math.inf


def gaussian_model(eigenvalues: npt.ArrayLike, k: int, *, n: int, tau: float = 0.01) -> Model:
    """Return the constants of rows x ~ N(0, S), A = x x^T (example-gaussian-data).

    V = trace / l_1 + 1 and gamma^2 = 2 exactly. M l_1 exceeds all n squared norms with probability 1 - `tau`
    (Laurent and Massart). It is of order d + log n, where the paper has d log n.

    Examples
    --------
    >>> model = gaussian_model([4.0, 2.0, 1.0, 1.0], 2, n=1000)
    >>> model.V, round(model.gamma**2, 12), model.kappa
    (3.0, 2.0, 4.0)
    """
    values = spectrum(eigenvalues)
    top = float(values[0])
    return Model(
        d=values.size,
        k=k,
        lambda_1=top,
        kappa=_finite_condition(values, k),
        M=_largest_square(values, n=n, tau=tau) / top,
        V=float(values.sum()) / top + 1.0,
        gamma=math.sqrt(2.0),
    )


def spiked_model(spikes: npt.ArrayLike, *, d: int, sigma: float, n: int, tau: float = 0.01) -> Model:
    """Return the constants of A = V diag(spikes) V^T + z z^T, z ~ N(0, sigma^2 I).

    This is the model of the experiments for k > 1 (app_exp).

    Only z is random, so l_1^2 V = (d + 1) sigma^4 and l_1^2 gamma^2 = 2 sigma^4, with l_1 = spikes[0] + sigma^2.

    Examples
    --------
    >>> model = spiked_model([10.0, 5.0], d=200, sigma=0.1, n=1000)
    >>> round(model.kappa, 3), round(model.V * 1e4, 3), round(model.gamma * 1e3, 3)
    (2.002, 2.006, 1.413)
    """
    values = spectrum(spikes, name="spikes")
    positive(sigma=sigma)
    whole(d=d)
    square = sigma**2
    top = float(values[0]) + square
    return Model(
        d=d,
        k=values.size,
        lambda_1=top,
        kappa=top / float(values[0]) * _finite_condition(np.append(values, 0.0), values.size),
        M=max(_largest_square(np.full(d, square), n=n, tau=tau) - square, square) / top,
        V=(d + 1) * square**2 / top**2,
        gamma=math.sqrt(2.0) * square / top,
    )


def signed_spike_model(spike: float = 1.0, *, d: int, sigma: float, n: int, tau: float = 0.01) -> Model:
    """Return the constants of rows x = +-sqrt(spike) v + noise, noise ~ N(0, sigma^2 I).

    In spiked-cov-example, spike = 1. With l_1 = spike + sigma^2: l_1^2 V = (d + 3) spike sigma^2 + (d + 1)
    sigma^4, and l_1^2 gamma^2 = 4 spike sigma^2 + 2 sigma^4 (both are attained along v).

    Examples
    --------
    >>> model = signed_spike_model(d=100, sigma=0.01, n=1000)
    >>> round(model.gamma, 4), round(model.V, 4), round(model.kappa, 4)
    (0.02, 0.0103, 1.0001)
    """
    positive(spike=spike, sigma=sigma)
    whole(d=d)
    square = sigma**2
    top = spike + square
    largest = _largest_square(np.full(d, square), n=n, tau=tau)
    return Model(
        d=d,
        k=1,
        lambda_1=top,
        kappa=top / spike,
        M=(2 * math.sqrt(spike * largest) + max(largest - square, square)) / top,
        V=((d + 3) * spike * square + (d + 1) * square**2) / top**2,
        gamma=math.sqrt(4 * spike * square + 2 * square**2) / top,
    )


def _largest_square(weights: FloatArray, *, n: int, tau: float) -> float:
    """Return a bound on n values of sum_j weights_j g_j^2, g standard normal, with failure probability tau."""
    whole(n=n)
    share(tau=tau)
    deviation = math.log(n / tau)
    return float(
        weights.sum() + 2 * math.sqrt((weights @ weights) * deviation) + 2 * float(weights.max()) * deviation
    )


def _finite_condition(values: FloatArray, k: int) -> float:
    """Return the condition number. Raise if there is no gap."""
    kappa = condition_number(values, k)
    if not math.isfinite(kappa):
        raise InvalidInputError(
            f"two of the first {k + 1} eigenvalues are equal, but the paper's bounds need gaps (A.1).",
            hint="Choose another k, or eigenvalues that differ.",
        )
    return kappa
