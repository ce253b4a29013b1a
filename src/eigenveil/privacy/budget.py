"""Privacy budgets: a bound on what all releases together may cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.gaussian import (
    MOST_MU,
    check_delta,
    check_epsilon,
    check_mu,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Privacy budget of the whole run: `mu` for Gaussian releases, and a part set aside for all others.

    Create one with `Budget.from_epsilon_delta` or `Budget.from_mu`.

    Parameters
    ----------
    mu : float
        Upper bound on sqrt(sum of mu_j^2) over all Gaussian releases.
    epsilon_aside, delta_aside : float
        Upper bounds on the sums of epsilon and of delta over all releases that are (epsilon, delta)-DP but not
        Gaussian (Laplace, thresholded histograms, propose-test-release).

    Formal guarantees
    -----------------
    Gaussian releases within `mu` are mu-GDP, even if their shares are chosen adaptively during the run (privacy
    filter, Smith & Thakurta 2022, arXiv 2210.17520). All other releases, within the part set aside, are
    (epsilon_aside, delta_aside)-DP (sums of epsilons and deltas are a filter too, Rogers et al. 2016, arXiv
    1605.08294). The two parts are fixed in advance. Interleaving them is therefore a concurrent composition of two
    interactive mechanisms, and the whole run is (epsilon_aside + e, delta_aside + delta_mu(e))-DP for every e >= 0
    (Vadhan & Zhang 2022, arXiv 2207.08335).

    Examples
    --------
    >>> budget = Budget.from_epsilon_delta(1.0, 1e-6)
    >>> round(budget.sigma, 4)
    4.2247
    >>> count, rest = budget.split(1, 99)
    >>> round((count**2 + rest**2) / budget.mu**2, 9)
    1.0
    """

    mu: float
    epsilon_aside: float = 0.0
    delta_aside: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mu", "epsilon_aside", "delta_aside"):
            value = getattr(self, name)
            if not 0 <= value <= MOST_MU:
                raise InvalidInputError(
                    f"{name} must be a finite number of at least 0 and at most {MOST_MU:g}, got {value!r}."
                )
        if self.mu == self.epsilon_aside == self.delta_aside == 0:
            raise InvalidInputError("a budget must allow something: mu, epsilon_aside and delta_aside are all 0.")
        if self.delta_aside >= 1:
            raise InvalidInputError(f"delta_aside must be below 1, got {self.delta_aside!r}.")

    @classmethod
    def from_mu(cls, mu: float) -> Budget:
        """Create a budget for Gaussian releases only."""
        return cls(mu=check_mu(mu))

    @classmethod
    def from_epsilon_delta(
        cls,
        epsilon: float,
        delta: float,
        *,
        epsilon_aside: float = 0.0,
        delta_aside: float = 0.0,
    ) -> Budget:
        """Create the budget under which all releases together are exactly (epsilon, delta)-DP.

        `epsilon_aside` and `delta_aside` are subtracted from the total and reserved for releases that are not
        Gaussian. The rest becomes `mu` (0 if nothing is left).
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        if not (0 <= epsilon_aside <= epsilon and 0 <= delta_aside <= delta):
            raise InvalidInputError(
                f"epsilon_aside and delta_aside must lie within the total ({epsilon!r}, {delta!r}), "
                f"got ({epsilon_aside!r}, {delta_aside!r}).",
                hint="Set aside less, or choose a larger total.",
            )
        left = epsilon - epsilon_aside, delta - delta_aside
        mu = gaussian_mu(*left) if min(left) > 0 else 0.0
        return cls(mu=mu, epsilon_aside=float(epsilon_aside), delta_aside=float(delta_aside))

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on one Gaussian release of sensitivity 1 that spends all of `mu`."""
        return 1 / self.mu if self.mu else math.inf

    def delta(self, epsilon: float) -> float:
        """Return the delta of the whole run at `epsilon`; 1 if `epsilon` is below `epsilon_aside`."""
        return delta_of(self.mu, self.epsilon_aside, self.delta_aside, epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole run at `delta`; infinite if `delta` is at or below `delta_aside`."""
        return epsilon_of(self.mu, self.epsilon_aside, self.delta_aside, delta)

    def split(self, *weights: float) -> list[float]:
        """Divide mu^2 in proportion to `weights` and return the mu of each share."""
        return split_mu(self.mu, weights)


def split_mu(mu: float, weights: Sequence[float]) -> list[float]:
    """Divide mu^2 in proportion to `weights` and return the mu of each share.

    The square root of the sum of the squared shares is `mu`.
    """
    w = np.asarray(weights, dtype=float)
    if w.ndim != 1 or not w.size or not np.all(np.isfinite(w)) or np.any(w < 0) or not w.sum() > 0:
        raise InvalidInputError(
            f"weights must be finite numbers of at least 0 with a positive sum, got {weights!r}."
        )
    return [float(share) for share in mu * np.sqrt(w / w.sum())]


def delta_of(mu: float, epsilon_aside: float, delta_aside: float, epsilon: float) -> float:
    """Return the delta at `epsilon` of a mu-GDP part composed with an (epsilon_aside, delta_aside)-DP part."""
    if not epsilon >= 0:
        raise InvalidInputError(f"epsilon must be a number of at least 0, got {epsilon!r}.")
    if epsilon < epsilon_aside:
        return 1.0
    return min(1.0, delta_aside + gaussian_delta(epsilon - epsilon_aside, mu))


def epsilon_of(mu: float, epsilon_aside: float, delta_aside: float, delta: float) -> float:
    """Return the epsilon at `delta` of a mu-GDP part composed with an (epsilon_aside, delta_aside)-DP part."""
    if not 0 <= delta < 1:
        raise InvalidInputError(f"delta must lie in [0, 1), got {delta!r}.")
    left = delta - delta_aside
    if mu == 0:
        return epsilon_aside if left >= 0 else math.inf
    return epsilon_aside + gaussian_epsilon(left, mu) if left > 0 else math.inf
