"""Step size of k-DP-Ojas in the paper's experiments: 1 / (1 + j), independent of the data."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.schedules.checks import step_number


@dataclass(frozen=True)
class HarmonicSchedule:
    """Step sizes 1 / (1 + j), the same for all components (sec-appendix-experiments).

    j starts at 1, so the first step is 1/2. The steps do not adapt to the units of the data: they suit data whose
    leading gap is around 1 or more, as in the experiments (5 to 10).

    Examples
    --------
    >>> eta = HarmonicSchedule()
    >>> eta(1), eta(3)
    (0.5, 0.25)
    """

    def __call__(self, t: int) -> float:
        """Return the size of step t."""
        step_number(t)
        return 1 / (1 + t)
