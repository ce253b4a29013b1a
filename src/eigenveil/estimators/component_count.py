"""How many components hold a share of the variance, from released variances and their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from eigenveil._typing import FloatArray
from eigenveil.algorithms.uncertainty import VarianceErrors, check_level
from eigenveil.errors import InvalidInputError


@dataclass(frozen=True, kw_only=True)
class ComponentsFor:
    """How many components hold a share of the population's variance.

    Parameters
    ----------
    share : float
        The requested share.
    n : int or None
        Estimated number of released components that reach it. None if all of them together do not.
    low, high : int
        Bounds on this number at confidence `level`. Beyond the released components they follow from what the
        released variances allow: no further component holds more than the last released one, and d components
        hold everything.
    level : float
        Probability that the interval from `low` to `high` contains the number.
    reached : tuple of float
        Estimated shares of the first 1, 2, ... released components.
    """

    share: float
    n: int | None
    low: int
    high: int
    level: float
    reached: tuple[float, ...]

    def __str__(self) -> str:
        between = f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"
        wanted, sure = f"{100 * self.share:g} % of the variance", f"at {100 * self.level:g} %"
        if self.n is not None:
            return (
                f"{self.n} {'component holds' if self.n == 1 else 'components hold'} {wanted} ({between} {sure})"
            )
        k = len(self.reached)
        return (
            f"the {k} released components hold about {100 * self.reached[-1]:.3g} %; {wanted} take {between} "
            f"components ({sure})"
        )


def cumulative_interval(found: VarianceErrors, level: float) -> FloatArray:
    """Intervals for (v_1 + .. + v_j) / total, with independent errors of v_1 .. v_k and the rest (first order)."""
    check_level(level)
    if not found.total > 0:
        return np.tile([0.0, 1.0], (len(found.errors), 1))
    shares = np.cumsum(found.explained) / found.total
    within = np.cumsum(found.errors**2)
    beyond = found.total_error**2 - within
    error = np.sqrt((1 - shares) ** 2 * within + shares**2 * np.maximum(beyond, 0.0)) / found.total
    reach = float(ndtri((1 + level) / 2)) * error
    return np.clip(np.stack([shares - reach, shares + reach], axis=1), 0.0, 1.0)


def components_for(found: VarianceErrors, share: float, *, d: int, level: float) -> ComponentsFor:
    """Estimate how many of d components reach a share of the variance.

    1. n <- the first j at which the estimated share of v_1 + .. + v_j reaches it; none: n is not known
    2. low, high <- the same for the upper and the lower ends of the intervals of these shares
    3. where the k released ones do not reach it:
       low <- k + what is missing at least, over the largest share that component k may have
       high <- k + as many of the d - k others as hold what is missing at most if all hold the same

    Notes
    -----
    *Formal guarantees.* Post-processing of released variances: nothing is charged or drawn.

    Step 3 assumes components in order of decreasing variance. The first m of d - k decreasing numbers add up to at
    least m/(d - k) of their sum, and none exceeds the variance of component k.

    Examples
    --------
    >>> found = VarianceErrors(
    ...     explained=np.array([6.0, 2.0]), errors=np.array([0.1, 0.1]), rest=2.0, rest_error=0.1, freedom=1.0
    ... )
    >>> print(components_for(found, 0.7, d=10, level=0.95))
    2 components hold 70 % of the variance (2 at 95 %)
    >>> print(components_for(found, 0.9, d=10, level=0.95))
    the 2 released components hold about 80 %; 90 % of the variance take 3 to 7 components (at 95 %)
    """
    _check_share(share)
    k = len(found.explained)
    intervals = cumulative_interval(found, level)
    reached = np.cumsum(found.explained) / found.total if found.total > 0 else np.zeros(k)
    n = _first(reached, share)
    # 2 and 3
    low, high = _first(intervals[:, 1], share), _first(intervals[:, 0], share)
    if low is None:
        each = float(found.ratio_interval(level)[-1, 1])
        low = k + math.ceil((share - float(intervals[-1, 1])) / each) if each > 0 else d
    if high is None:
        missing, rest = share - float(intervals[-1, 0]), 1 - float(intervals[-1, 0])
        high = k + math.ceil((d - k) * missing / rest)
    return ComponentsFor(
        share=float(share),
        n=n,
        low=min(low, d),
        high=min(high, d),
        level=float(level),
        reached=tuple(float(one) for one in reached),
    )


def _first(shares: FloatArray, wanted: float) -> int | None:
    """Return the smallest number of components whose share reaches `wanted`, or None."""
    enough = np.flatnonzero(shares >= wanted - 1e-12)
    return int(enough[0]) + 1 if enough.size else None


def _check_share(share: float) -> None:
    fine = isinstance(share, int | float | np.floating) and not isinstance(share, bool) and 0 < share <= 1
    if not fine:
        raise InvalidInputError(
            f"share must be a number above 0 and at most 1, got {share!r}.",
            hint="0.9 asks for 90 % of the variance.",
        )
