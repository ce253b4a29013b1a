"""What one cell of a figure fixes: the data, the privacy, and the public numbers that methods are handed.

The paper's defaults: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = .01, failure probability .01, K = a = 1,
B = sqrt n, C = 1 in the clip of DP-Gauss. Numbers that it takes from the true distribution (clips, spectra for
learning rates) are handed to its methods and baselines for free here, as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eigenveil.datasets import Dataset, gaussian, spiked_covariance
from eigenveil.schedules import HarmonicSchedule, experiment_schedules
from eigenveil.theory import lower_bound_spiked

Rates = Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One cell.

    Parameters
    ----------
    model : {"spiked", "gaussian"}
        A_i = V diag(spikes) V^T + z z^T, z ~ N(0, sigma^2 I); or x x^T with x ~ N(0, S). S = V diag(spikes) V^T +
        sigma^2 I in both.
    n, d, k : int
        Units, dimensions, components.
    lambda_1 : float
        The largest spike (spiked, as in the paper's construction), or the largest eigenvalue of S (gaussian).
    gap : float
        lambda_k - lambda_{k+1}: the smallest spike. Those between lie evenly.
    sigma : float
        Noise level; the k + 1st eigenvalue of S is its square.
    rate : float
        Factor on all learning rates.
    epsilon, delta, tau : float
        Privacy, and the probability with which a clip may touch the data.

    Examples
    --------
    >>> Setting(k=3).spikes, Setting(gap=1.0, sigma=0.5).eigenvalues[:3]
    ((10.0, 7.5, 5.0), array([10.25,  1.25,  0.25]))
    """

    model: Literal["spiked", "gaussian"] = "spiked"
    n: int = 10_000
    d: int = 200
    k: int = 2
    lambda_1: float = 10.0
    gap: float = 5.0
    sigma: float = 0.025
    rate: float = 1.0
    epsilon: float = 1.0
    delta: float = 0.01
    tau: float = 0.01

    @property
    def spikes(self) -> tuple[float, ...]:
        """What the signal adds to sigma^2 along each of the k directions."""
        top = self.lambda_1 - (self.sigma**2 if self.model == "gaussian" else 0.0)
        return tuple(float(value) for value in np.linspace(top, self.gap, self.k))

    @property
    def eigenvalues(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Of S, largest first."""
        return np.concatenate([self.spikes, np.zeros(self.d - self.k)]) + self.sigma**2

    def draw(self, seed: int) -> Dataset:
        """Data and their truth."""
        if self.model == "gaussian":
            return gaussian(self.n, self.eigenvalues, random_state=seed)
        return spiked_covariance(self.n, self.d, self.spikes, self.sigma, random_state=seed)

    def without_rate(self) -> Setting:
        """The same with learning rates as they are printed: what methods without any see of it."""
        return replace(self, rate=1.0)

    @property
    def beta(self) -> float:
        """The clip of rows for the baselines.

        Spiked: sqrt(lambda_1) + sigma sqrt(d log(n/tau)), the paper's with C = 1. Gaussian: the paper gives no
        formula; sqrt(trace) + sqrt(2 lambda_1 log(n/tau)) is what all n rows stay within with probability 1 - tau.
        """
        log = math.log(self.n / self.tau)
        if self.model == "gaussian":
            return math.sqrt(float(self.eigenvalues.sum())) + math.sqrt(2 * self.lambda_1 * log)
        return math.sqrt(self.lambda_1) + self.sigma * math.sqrt(self.d * log)

    @property
    def alpha(self) -> float:
        """The bound on the l1 norm of a row in the paper's DP-Power-Method; sqrt(d) beta on Gaussian data."""
        if self.model == "gaussian":
            return math.sqrt(self.d) * self.beta
        spread = self.sigma * math.sqrt(self.d * math.log(self.n / self.tau))
        return self.sigma * self.d + math.sqrt(self.lambda_1 * self.d) + spread

    @property
    def ojas_clip(self) -> float:
        """The clip of gradients in DP-Ojas: lambda_1, the length of the mean gradient at the best direction.

        The paper's C lambda_1 sqrt(d) (K gamma log^a(n d/tau) + 1) leaves C open. This value was picked in favour
        of DP-Ojas after single trial runs: with C = 1 (spiked, n = 2,000 and 10,000) neither valid nor printed
        noise let it learn, zeta .99; with C = 1/sqrt(d) it learnt on spiked data, hardly on Gaussian rows.
        """
        return self.lambda_1

    @property
    def spread_of_gradients(self) -> float:
        """The top eigenvalue of the covariance of A_i w at its largest over unit w, which PrivRange estimates.

        Spiked: only z z^T w varies; 2 sigma^4. Gaussian: x (x.w) at the first eigenvector; 2 lambda_1^2.
        """
        return 2 * (self.sigma**4 if self.model == "spiked" else self.lambda_1**2)

    @property
    def spectrum(self) -> tuple[float, float]:
        """lambda_k and lambda_{k+1}, which tell DP-Power-Method how many rounds it takes."""
        return self.gap + self.sigma**2, self.sigma**2

    def rates(self) -> list[Rates]:
        """The experiments' learning rates of k-DP-PCA, one for each component, from the true spectrum."""
        schedules = experiment_schedules(self.eigenvalues[: self.k + 1], sigma=self.sigma, n=self.n)
        return [_scaled(schedule, self.rate) for schedule in schedules]

    def ojas_rates(self) -> Rates:
        """The experiments' learning rates of k-DP-Ojas, 1/(1 + j)."""
        return _scaled(HarmonicSchedule(), self.rate)

    def lower_bound(self) -> float:
        """The paper's lower bound for rows of N(0, S), as a rate: its constant is not known and taken as 1.

        Spiked data of the kind with k > 1 are not such rows: their signal is the same in every unit, so methods
        that track it can get below.
        """
        return lower_bound_spiked(
            self.n, d=self.d, spikes=self.spikes, sigma=self.sigma, epsilon=self.epsilon, constant=1.0
        )


def _scaled(schedule: Rates, factor: float) -> Rates:
    return lambda t: factor * schedule(t)
