"""Batch sizes and numbers of rounds.

n is the number of samples of one oracle: all samples for one component, n / k for each of k components. (The paper
writes n throughout, and m = n / k in the algorithms only.) Logarithms are natural. The paper's sizes are orders of
magnitude. Batch sizes are rounded down, so that floor(n / B) rounds fit; numbers of rounds are rounded up.
"""

from __future__ import annotations

import math

from eigenveil._checks import positive
from eigenveil.errors import InvalidInputError
from eigenveil.schedules.checks import sample_count


def batch_size_root(n: int) -> int:
    """Return B = sqrt(n), which worked best in the experiments (sec-appendix-experiments).

    Examples
    --------
    >>> batch_size_root(10_000)
    100
    """
    sample_count(n)
    return math.isqrt(int(n))


def batch_size_theorem(n: int, *, c: float = 1.0) -> int:
    """Return B = c n / log^3 n, for which the utility is proved (thm-utility-moddp-pca); between 1 and n.

    Below about 93 samples log^3 n exceeds n, and a batch has one sample.

    Examples
    --------
    >>> batch_size_theorem(10**6)
    379
    >>> batch_size_theorem(50)
    1
    """
    sample_count(n)
    positive(c=c)
    if n < 3:
        return int(n)
    return min(int(n), max(1, math.floor(c * n / math.log(n) ** 3)))


def rounds_in(n: int, batch_size: int) -> int:
    """Return T = floor(n / B), the number of rounds for n samples (modified-dp-pca).

    Examples
    --------
    >>> rounds_in(1000, 300)
    3
    """
    sample_count(n)
    if not 1 <= batch_size <= n:
        raise InvalidInputError(f"batch_size must lie between 1 and n, got {batch_size} for n = {n}.")
    return int(n // batch_size)


def rounds_theorem(n: int, *, c: float = 1.0) -> int:
    """Return T = c log^3 n rounds (proof of thm-utility-moddp-pca), rounded up, at least 1.

    A remark next to the theorem has log^2 n instead. The proof uses the cube: alpha^2 is log^2 n, and one more
    logarithm has to exceed kappa^2.

    Examples
    --------
    >>> rounds_theorem(10**6)
    2637
    """
    sample_count(n)
    positive(c=c)
    return max(1, math.ceil(c * math.log(n) ** 3))


def rounds_more(n: int, kappa: float, *, power: float = 1.0, c: float = 1.0) -> int:
    """Return T = c kappa^power log^3 n rounds, so that n need not exceed exp(kappa^2).

    See subsec-sample-size-requirements.

    Deviations from the paper
    -------------------------
    The condition is kappa^2 log^2 n / T <= 1/3 (eq:exp-dep). The paper's T, `power` = 1, still needs log n >= 3
    kappa / c: exp(kappa) instead of exp(kappa^2), which is still a condition on n. With `power` = 2 it holds for
    every n with log n >= 3 / c.

    Examples
    --------
    >>> rounds_more(10**6, 3.0), rounds_more(10**6, 3.0, power=2)
    (7911, 23733)
    """
    sample_count(n)
    positive(kappa=kappa, power=power, c=c)
    return max(1, math.ceil(c * math.pow(kappa, power) * math.log(n) ** 3))
