"""How often a fit goes over the data: from parameters, and from the words of what it has charged for."""

from __future__ import annotations

from typing import Any

from eigenveil.estimators.settings import Settings, read_settings
from eigenveil.oracles.dp_ojas import MOST_STEPS
from eigenveil.oracles.tracked_dp_pca import MOST_ROUNDS
from eigenveil.privacy import Relation
from eigenveil.subspace.dp_power_method import power_rounds
from eigenveil.subspace.tracked_run import MOST_EXTRA, PILOT_ROUNDS, WIDEST_MATRIX

_MEAN, _SPREAD = 4, 2
"""A private mean is a radius and a sum, twice; a column's scale is one of each."""
_CENSUS, _VARIANCES = 2, 6
_ROUND, _LAST_ROUNDS = 3, 2
"""A round is up to two radii and a sum; there are up to two last ones."""
_SIGMAS = 6
"""The most releases of Sigma itself that a run over the whole space makes, a radius and a sum each."""
_SPARE = 5
"""Directions that are followed beyond those wanted."""


class Course:
    """How often the data are read in all, as far as that can be told in advance.

    Parameters
    ----------
    most : int
        How often at most.
    exact : bool
        Whether it is exactly that often.
    after : int
        How often they are read once the fit is done, which `most` counts too.

    Notes
    -----
    *Formal guarantees.* Both are functions of parameters and the number of columns, and, for `tracked`, of what
    its ledger says it has charged for, which is public.

    Examples
    --------
    >>> from eigenveil import DPPCA
    >>> course = course_of(DPPCA(2, algorithm="dp-gauss-1"), 30)
    >>> course.most, course.exact
    (8, True)
    >>> course = course_of(DPPCA(2), 30)
    >>> before = course.most
    >>> course.heard("round 5 (last): radius", readings=15)
    >>> course.most < before, course.exact  # no extra rounds can come after the last
    (True, False)
    """

    def __init__(self, most: int, *, exact: bool, after: int = 0) -> None:
        self.most, self.exact, self.after = most, exact, after
        self._last = self._variances = 0

    def heard(self, what: str, *, readings: int) -> None:
        """Take in what was charged for, before the reading that it pays for; `readings` came before it."""
        if "(last)" in what:
            left = _VARIANCES + _ROUND * _LAST_ROUNDS - self._last
            self._last += 1
        elif what.startswith("variances"):
            left = _VARIANCES - self._variances
            self._variances += 1
        else:
            return
        self.most = min(self.most, readings + max(1, left) + self.after)


def course_of(model: Any, d: int, *, after: int = 0) -> Course:
    """The course of a fit with the parameters of `model` to d columns, and of `after` readings more."""
    settings = read_settings(model)
    count, exact = _algorithm(settings, d)
    if settings.options:
        exact = False
    return Course(_preparation(settings, d) + count + after, exact=exact, after=after)


def _preparation(settings: Settings, d: int) -> int:
    """What is read before the algorithm begins."""
    if settings.buys_scale:
        return 1 + d * (_SPREAD + _MEAN * settings.buys_mean)
    own = settings.algorithm.centres
    return 1 + _MEAN if settings.buys_mean and not own else 0


def _algorithm(settings: Settings, d: int) -> tuple[int, bool]:
    """How often the algorithm reads, and whether that is known."""
    k = settings.k
    by_place = settings.relation is Relation.REPLACE
    counts = {
        "tracked": (_tracked(settings, d), False),
        "dp-gauss-1": (3, True),
        "dp-gauss-2": (3 if k < d else 0, True),
        "dp-power": (2 + power_rounds(d, k), True),
        "k-dp-pca": (by_place + k * (1 + 3 * MOST_ROUNDS), False),
        "k-dp-ojas": (by_place + k * (2 + MOST_STEPS), False),
    }
    return counts[settings.name]


def _tracked(settings: Settings, d: int) -> int:
    """Number of units, mean, rounds or releases of Sigma, variances."""
    mean = _MEAN if settings.buys_mean and not settings.buys_scale else 0
    if settings.k + _SPARE >= d and d <= WIDEST_MATRIX:
        directions = 2 * _SIGMAS
    else:
        directions = 2 * PILOT_ROUNDS + 1 + _ROUND * (MOST_EXTRA + _LAST_ROUNDS)
    return _CENSUS + mean + directions + _VARIANCES
