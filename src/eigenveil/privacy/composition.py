"""Composition of many (epsilon, delta)-DP releases at a lower cost than the sum of their epsilons."""

from __future__ import annotations

import math

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.gaussian import check_delta, check_epsilon


def composed(epsilon: float, delta: float, *, times: int, slack: float) -> tuple[float, float]:
    """Compute the total cost of `times` releases, each (epsilon, delta)-DP, by basic or advanced composition.

    Basic composition costs (times epsilon, times delta). Advanced composition costs (sqrt(2 times ln(1/slack))
    epsilon + times epsilon (e^epsilon - 1), times delta + slack). The one with the smaller epsilon is returned.
    Both hold for releases that are chosen adaptively during the run.

    References
    ----------
    Dwork, Rothblum & Vadhan 2010; Dwork & Roth 2014, theorem 3.20.

    Examples
    --------
    >>> composed(0.25, 1e-8, times=2, slack=1e-6)
    (0.5, 2e-08)
    >>> [round(x, 9) for x in composed(0.01, 1e-8, times=200, slack=1e-6)]
    [0.763484..., 3e-06]
    """
    check_epsilon(epsilon), check_delta(slack)
    if not (isinstance(times, int) and times >= 1 and 0 <= delta < 1):
        raise InvalidInputError(f"expected times >= 1 and delta in [0, 1), got {times!r} and {delta!r}.")
    growth = math.expm1(epsilon) if epsilon < 700 else math.inf
    advanced = math.sqrt(2 * times * math.log(1 / slack)) * epsilon + times * epsilon * growth
    if times * epsilon <= advanced:
        return times * epsilon, times * delta
    return advanced * (1 + 1e-12), times * delta + slack
