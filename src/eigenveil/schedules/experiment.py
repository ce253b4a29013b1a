"""Step size of k-DP-PCA in the paper's experiments: 1 / (20 sigma l_i + (l_i - l_{i+1}) t / log n)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eigenveil._checks import not_negative, positive
from eigenveil.errors import InvalidInputError
from eigenveil.schedules.checks import sample_count, step_number


@dataclass(frozen=True, kw_only=True)
class ExperimentSchedule:
    """Step sizes 1 / (20 sigma l_i + (l_i - l_{i+1}) t / log n) for component i (sec-appendix-experiments).

    Parameters
    ----------
    eigenvalue, next_eigenvalue : float
        l_i and l_{i+1}.
    sigma : float
        Noise level of the spiked model.
    n : int
        Number of samples, for the natural logarithm.

    Notes
    -----
    The paper leaves open whether l_i are the spikes or the eigenvalues of S (larger by sigma^2), what l_{k+1}
    is (0 or sigma^2), and whether n counts all samples or the n / k samples of one component. The caller
    decides. The schedule is TheoremSchedule with alpha = log n and offset 20 sigma l_i log n / gap. The formula
    is therefore not invariant under a change of units: doubling all data multiplies l by 4 and sigma by 2, so
    the two terms scale differently.

    Examples
    --------
    >>> eta = ExperimentSchedule(eigenvalue=10.0, next_eigenvalue=5.0, sigma=0.025, n=1000)
    >>> round(eta(1), 4), round(eta(100), 4)
    (0.1747, 0.0129)
    """

    eigenvalue: float
    next_eigenvalue: float
    sigma: float
    n: int

    def __post_init__(self) -> None:
        positive(eigenvalue=self.eigenvalue)
        not_negative(next_eigenvalue=self.next_eigenvalue, sigma=self.sigma)
        sample_count(self.n, at_least=2)
        if self.next_eigenvalue >= self.eigenvalue:
            raise InvalidInputError(
                f"eigenvalue must exceed next_eigenvalue, got {self.eigenvalue!r} and {self.next_eigenvalue!r}.",
                hint="Without a gap the steps do not shrink; use HarmonicSchedule.",
            )

    def __call__(self, t: int) -> float:
        """Return the size of step t."""
        step_number(t)
        gap = self.eigenvalue - self.next_eigenvalue
        return 1 / (20 * self.sigma * self.eigenvalue + gap * t / math.log(self.n))


def experiment_schedules(eigenvalues: npt.ArrayLike, *, sigma: float, n: int) -> tuple[ExperimentSchedule, ...]:
    """Return one schedule for each of k components, from k + 1 eigenvalues, largest first.

    Examples
    --------
    >>> [round(eta(1), 3) for eta in experiment_schedules([10.0, 5.0, 0.0], sigma=0.025, n=1000)]
    [0.175, 0.31]
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.ndim != 1 or values.size < 2:
        raise InvalidInputError(f"expected a list of k + 1 eigenvalues, got shape {values.shape}.")
    return tuple(
        ExperimentSchedule(eigenvalue=float(here), next_eigenvalue=float(after), sigma=sigma, n=n)
        for here, after in itertools.pairwise(values)
    )
