"""Many (epsilon, delta)-DP releases together, where summing epsilons would be wasteful."""

from __future__ import annotations

import math

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.gaussian import check_delta, check_epsilon


def composed(epsilon: float, delta: float, *, times: int, slack: float) -> tuple[float, float]:
    """What `times` releases cost together that are (epsilon, delta)-DP each: basic or advanced composition.

    Whichever has the smaller epsilon: (times epsilon, times delta), or (sqrt(2 times ln(1/slack)) epsilon + times
    epsilon (e^epsilon - 1), times delta + slack). Both hold for releases chosen as the run goes.

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
