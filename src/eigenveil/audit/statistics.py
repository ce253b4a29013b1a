"""Statistics of a release: single numbers, and a linear combination of all numbers. They are chosen by trial.

Half of the releases fit the statistics, the other half picks the best one and its threshold. A bound must be about
releases that had no part in either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.audit.bounds import ErrorCounts, best_threshold, lower_estimate

Numbers = Sequence[Mapping[str, float]]
"""Numbers of several releases, by name."""
SINGLE = ("turn", "turn over noise", "cross", "share", "along", "mean", "mean along b", "count", "total", "noise")
ALL = "all numbers"
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Statistic:
    """Linear function of released numbers, after each was limited to its usual range.

    Parameters
    ----------
    name : str
        Name for people.
    names : tuple of str
        Names of the numbers.
    weights, low, high : array
        Weight of each number, and its usual range.
    """

    name: str
    names: tuple[str, ...]
    weights: FloatArray
    low: FloatArray
    high: FloatArray

    def __call__(self, numbers: Numbers) -> FloatArray:
        """Return the scores of releases."""
        scores: FloatArray = np.clip(_table(numbers, self.names), self.low, self.high) @ self.weights
        return scores


@dataclass(frozen=True, eq=False)
class Test:
    """A statistic, and the threshold above which it says that the canary was there."""

    statistic: Statistic
    threshold: float

    def errors(self, without: Numbers, with_canary: Numbers) -> ErrorCounts:
        """Count the errors of the test on releases."""
        return ErrorCounts.of(self.statistic(without), self.statistic(with_canary), self.threshold)


def best_test(without: Numbers, with_canary: Numbers) -> tuple[Test, float]:
    """Return the best test on these releases, and the lower estimate of mu that it was chosen by."""
    half = len(without) // 2
    found: list[tuple[float, Test]] = []
    for statistic in fitted_statistics(without[:half], with_canary[:half]):
        scores = statistic(without[half:]), statistic(with_canary[half:])
        threshold = best_threshold(*scores)
        found.append((lower_estimate(ErrorCounts.of(*scores, threshold)), Test(statistic, threshold)))
    estimate, test = max(found, key=lambda one: one[0])
    return test, estimate


def fitted_statistics(without: Numbers, with_canary: Numbers) -> list[Statistic]:
    """Return every single number with a sign, and the linear discriminant of all numbers."""
    names = tuple(sorted({name for release in (*without, *with_canary) for name in release}))
    tables = _table(without, names), _table(with_canary, names)
    low, high = np.quantile(np.concatenate(tables), [0.01, 0.99], axis=0)
    first, second = (np.clip(table, low, high) for table in tables)
    shift = second.mean(axis=0) - first.mean(axis=0)
    scale = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2)
    scale[scale == 0] = np.inf
    residuals = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)]) / scale
    correlations = residuals.T @ residuals / len(residuals)
    weights = np.linalg.solve(correlations + _RIDGE * np.eye(len(names)), shift / scale) / scale
    found = [Statistic(ALL, names, weights, low, high)]
    for place, name in enumerate(names):
        if name in SINGLE:
            at = slice(place, place + 1)
            sign = np.array([1.0 if shift[place] >= 0 else -1.0])
            found.append(Statistic(name, (name,), sign, low[at], high[at]))
    return found


def _table(numbers: Numbers, names: tuple[str, ...]) -> FloatArray:
    """Return an array with one row per release. Numbers that a release does not have are 0."""
    return np.array([[release.get(name, 0.0) for name in names] for release in numbers]).reshape(-1, len(names))
