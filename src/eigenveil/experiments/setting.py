"""Setting of one cell of a figure: data model, privacy parameters, and public numbers passed to the methods.

The paper's defaults: k = 2, d = 200, lambda_1 = 10, epsilon = 1, delta = .01, failure probability .01, K = a = 1,
B = sqrt n, C = 1 in the clip of DP-Gauss. As in the paper, its methods and the baselines receive numbers from the
true distribution (clips, spectra for learning rates) without spending budget.
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
    """Setting of one cell.

    Parameters
    ----------
    model : {"spiked", "gaussian"}
        A_i = V diag(spikes) V^T + z z^T, z ~ N(0, sigma^2 I); or x x^T with x ~ N(0, S). S = V diag(spikes) V^T +
        sigma^2 I in both.
    n, d, k : int
        Number of units, dimensions and components.
    lambda_1 : float
        Largest spike (spiked, as in the paper's construction), or largest eigenvalue of S (gaussian).
    gap : float
        lambda_k - lambda_{k+1}, which is the smallest spike. The spikes in between are evenly spaced.
    sigma : float
        Noise level. The (k + 1)-th eigenvalue of S is sigma^2.
    rate : float
        Factor on all learning rates.
    epsilon, delta, tau : float
        Privacy parameters, and the probability that a clip affects any row.

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
        """Eigenvalues of S minus sigma^2, along each of the k components."""
        top = self.lambda_1 - (self.sigma**2 if self.model == "gaussian" else 0.0)
        return tuple(float(value) for value in np.linspace(top, self.gap, self.k))

    @property
    def eigenvalues(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Eigenvalues of S, largest first."""
        return np.concatenate([self.spikes, np.zeros(self.d - self.k)]) + self.sigma**2

    def draw(self, seed: int) -> Dataset:
        """Draw a dataset with its true covariance."""
        if self.model == "gaussian":
            return gaussian(self.n, self.eigenvalues, random_state=seed)
        return spiked_covariance(self.n, self.d, self.spikes, self.sigma, random_state=seed)

    def without_rate(self) -> Setting:
        """Return the setting with the printed learning rates, for methods that use none."""
        return replace(self, rate=1.0)

    @property
    def beta(self) -> float:
        """Clip of rows for the baselines.

        Spiked: sqrt(lambda_1) + sigma sqrt(d log(n/tau)), as in the paper with C = 1. Gaussian: the paper gives no
        formula. The norms of all n rows are at most sqrt(trace) + sqrt(2 lambda_1 log(n/tau)) with probability
        1 - tau.
        """
        log = math.log(self.n / self.tau)
        if self.model == "gaussian":
            return math.sqrt(float(self.eigenvalues.sum())) + math.sqrt(2 * self.lambda_1 * log)
        return math.sqrt(self.lambda_1) + self.sigma * math.sqrt(self.d * log)

    @property
    def alpha(self) -> float:
        """Bound on the l1 norm of a row in the paper's DP-Power-Method; sqrt(d) beta for Gaussian data."""
        if self.model == "gaussian":
            return math.sqrt(self.d) * self.beta
        spread = self.sigma * math.sqrt(self.d * math.log(self.n / self.tau))
        return self.sigma * self.d + math.sqrt(self.lambda_1 * self.d) + spread

    @property
    def ojas_clip(self) -> float:
        """Clip of gradients in DP-Ojas: lambda_1, the norm of the mean gradient at the top eigenvector.

        The paper's C lambda_1 sqrt(d) (K gamma log^a(n d/tau) + 1) leaves C open. This value was chosen in favour
        of DP-Ojas after single trial runs. With C = 1 (spiked, n = 2,000 and 10,000) it learnt neither with valid
        nor with printed noise (zeta .99). With C = 1/sqrt(d) it learnt on spiked data, hardly on Gaussian rows.
        """
        return self.lambda_1

    @property
    def spread_of_gradients(self) -> float:
        """Top eigenvalue of the covariance of A_i w, maximised over unit vectors w. PrivRange estimates it.

        Spiked: only z z^T w varies, which gives 2 sigma^4. Gaussian: the covariance of x (x.w) is largest at the
        first eigenvector, which gives 2 lambda_1^2.
        """
        return 2 * (self.sigma**4 if self.model == "spiked" else self.lambda_1**2)

    @property
    def spectrum(self) -> tuple[float, float]:
        """Pair lambda_k, lambda_{k+1}, from which DP-Power-Method computes its number of rounds."""
        return self.gap + self.sigma**2, self.sigma**2

    def rates(self) -> list[Rates]:
        """Return the experiments' learning rates of k-DP-PCA, one per component, from the true spectrum."""
        schedules = experiment_schedules(self.eigenvalues[: self.k + 1], sigma=self.sigma, n=self.n)
        return [_scaled(schedule, self.rate) for schedule in schedules]

    def ojas_rates(self) -> Rates:
        """Return the experiments' learning rates of k-DP-Ojas, 1/(1 + j)."""
        return _scaled(HarmonicSchedule(), self.rate)

    def lower_bound(self) -> float:
        """Return the paper's lower bound for rows of N(0, S), as a rate: its unknown constant is set to 1.

        The spiked data with k > 1 are not such rows. Their signal is the same in every unit, so methods that track
        it can have a smaller error.
        """
        return lower_bound_spiked(
            self.n, d=self.d, spikes=self.spikes, sigma=self.sigma, epsilon=self.epsilon, constant=1.0
        )


def _scaled(schedule: Rates, factor: float) -> Rates:
    return lambda t: factor * schedule(t)
