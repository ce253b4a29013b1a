"""The step size of k-DP-Ojas in the paper's experiments: 1 / (1 + j), which knows nothing of the data."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.schedules.checks import step_number


@dataclass(frozen=True)
class HarmonicSchedule:
    """Step j has size 1 / (1 + j), for all directions alike (sec-appendix-experiments).

    j runs from 1, so the first step is 1/2. It has no units: it fits data whose leading gap is around 1 or more,
    as in the experiments (5 to 10).

    Examples
    --------
    >>> eta = HarmonicSchedule()
    >>> eta(1), eta(3)
    (0.5, 0.25)
    """

    def __call__(self, t: int) -> float:
        """The size of step t."""
        step_number(t)
        return 1 / (1 + t)
