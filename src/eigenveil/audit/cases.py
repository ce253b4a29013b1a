"""What is attacked: an algorithm at a claimed budget, two neighbouring datasets, and all that a fit releases.

Every attack knows everything about the data except whether they contain one unit, the canary. The others are equal
or opposite to each other along b, so that one direction dominates. The canary turns that direction towards c.

- *row*, through `DPPCA`, which buys a mean too: rows along +b and -b; the canary is a huge row along b + c. Under
  replace it is a row along b + c in one dataset, and along b - c in the other.
- *matrix*, through the function of the algorithm: units b b^T; the canary is a huge matrix c b^T. It moves the
  product A b towards c by the whole clipping radius. Under replace it is c b^T against -c b^T.
- *edge*, through the function: as many short rows that the search for a radius just misses its target; the canary
  is one more short row (under replace, in place of a long one). The released radius depends on it alone.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import eigenveil.algorithms as functions
from eigenveil._typing import FloatArray
from eigenveil.algorithms import Release
from eigenveil.algorithms.registry import find_algorithm
from eigenveil.engines import LocalEngine
from eigenveil.estimators import DPPCA
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Relation

HUGE = 1e6
_SIZES = (0.8, 1.1, 1.1, 1.1)
"""Norms of units besides the canary. They differ, so that no radius around their mean is 0."""
_FUNCTIONS: Mapping[str, Callable[..., Release]] = {
    "tracked": functions.tracked_pca,
    "k-dp-pca": functions.k_dp_pca,
    "k-dp-ojas": functions.k_dp_ojas,
    "dp-gauss-1": functions.dp_gauss_1,
    "dp-gauss-2": functions.dp_gauss_2,
    "dp-power": functions.dp_power_method,
}


@dataclass(frozen=True)
class Case:
    """An attack on an algorithm.

    Parameters
    ----------
    algorithm, relation : str
        Names, as in `DPPCA`.
    epsilon, delta : float
        Claimed privacy budget.
    attack : {"row", "matrix", "edge"}
        Data, canary, and the interface that they pass through.
    d, k : int
        Number of columns and of components.
    """

    algorithm: str
    relation: str
    epsilon: float
    delta: float
    attack: str
    d: int = 10
    k: int = 1

    @property
    def budget(self) -> Budget:
        """Privacy budget that the fit claims."""
        return self.budget_at(self.epsilon)

    def check(self) -> None:
        """Raise if the claim is none: an unknown algorithm or relation, or an invalid epsilon or delta."""
        Relation(self.relation)
        self.budget_at(self.epsilon)

    def budget_at(self, epsilon: float) -> Budget:
        """Privacy budget that the fit would claim for another epsilon."""
        algorithm = find_algorithm(self.algorithm)
        return algorithm.budget(algorithm.options(**self.options), epsilon, self.delta)

    @property
    def units(self) -> int:
        """Number of units besides the canary: enough for the radius searches of the algorithm."""
        many = self.algorithm == "tracked" or self.attack == "edge"
        return 4 * math.ceil((1000 if many else 250) / self.epsilon)

    @property
    def options(self) -> dict[str, Any]:
        """Public options under which a release shows most: one step, and a start that does not add noise."""
        if self.algorithm == "k-dp-pca":
            return {"batch_size": 10**6}
        if self.algorithm == "k-dp-ojas":
            return {"steps": 1, "learning_rates": (1e12,)}
        if self.algorithm == "dp-power" and self.k == 1:
            return {"rounds": 1, "start": np.eye(self.d)[:, 1:2]}
        return {}

    def release(self, *, canary: bool) -> dict[str, float]:
        """Fit once, and return all numbers that were released."""
        data, options = _dataset(self.attack, self.relation, self.d, self.units, canary)
        options = {**options, **self.options}
        claim: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "relation": self.relation}
        engine = LocalEngine(threads=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about too few units, or too much noise
            if self.attack == "row":
                pca = DPPCA(self.k, algorithm=self.algorithm, options=options, engine=engine, **claim).fit(data)
                return _numbers(pca.release_, pca.mean_, vars(pca).get("n_samples_"))
            found = _FUNCTIONS[self.algorithm](data, self.k, **claim, **options, engine=engine)
        return _numbers(found, np.zeros(self.d), None)


def attacks_on(algorithm: str, relation: str, epsilon: float, delta: float) -> list[Case]:
    """Return the attacks on an algorithm, of which the best is chosen by trial."""
    return [Case(algorithm, relation, epsilon, delta, attack) for attack in ("matrix", "row")]


@functools.cache
def _dataset(attack: str, relation: str, d: int, units: int, canary: bool) -> tuple[Any, dict[str, Any]]:  # noqa: FBT001
    """Return data with or without the canary, and the options that they need."""
    c, b = np.eye(2, d)
    replace = relation == "replace"
    if attack == "edge":
        short = 3 * units // 4 - 1 + canary
        rows = [np.tile(b, (short, 1)), np.tile(100 * b, (units + canary * (not replace) - short, 1))]
        return np.concatenate(rows), ({} if replace else {"n": units})
    if attack == "row":
        others = np.outer(np.resize(_SIZES, units) ** 0.5 * np.resize([1, 1, 1, 1, -1, -1, -1, -1], units), b)
        with_canary, without = HUGE * (b + c), HUGE * (b - c)
    else:
        others = np.resize(_SIZES, units)[:, None, None] * np.outer(b, b)
        with_canary, without = HUGE * np.outer(c, b), -HUGE * np.outer(c, b)
    if canary or replace:
        others = np.concatenate([others, (with_canary if canary else without)[None]])
    return (others if attack == "row" else samples.matrices(others)), {}


_NOISES = ("followed.noise.0", "radius", "radius.0", "clip.0", "ranges.0.0")
"""Diagnostics that the noise of the first component is proportional to, in different algorithms."""


def _numbers(release: Release, mean: FloatArray, n_hat: float | None) -> dict[str, float]:
    """Return the released numbers by name, as a statistic may use them.

    The first ones are made for the attacks: how far the first component (`turn`) and the matrix of components and
    eigenvalues (`cross`, `along`) lean towards c. The others are all numbers of the diagnostics.
    """
    towards, along = release.components[:, 0], release.components[:, 1]
    found = {
        "turn": float(towards[0] * along[0]),
        "share": float(towards @ towards),
        "mean": float(mean[0]),
        "mean along b": float(mean[1]),
    }
    counted = release.diagnostics.get("n_hat")
    n_hat = counted if isinstance(counted, float) else n_hat
    if n_hat is not None:
        found["count"] = n_hat
    if release.eigenvalues is not None:
        weighted = release.eigenvalues * (1.0 if n_hat is None else n_hat)
        found["cross"], found["along"] = float(weighted @ (towards * along)), float(weighted @ towards**2)
        found["variance"] = float(release.eigenvalues[0])
    if release.variances is not None:
        found["total"] = release.variances.total
    found.update(_leaves("diagnostics", release.diagnostics))
    if noises := [found[name] for name in map("diagnostics.{}".format, _NOISES) if found.get(name)]:
        found["noise"], found["turn over noise"] = noises[0], found["turn"] / noises[0]
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield all numbers inside a value with their names."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{name}.{key}", one)
    elif isinstance(value, tuple | list):
        yield f"{name}.length", float(len(value))
        for place, one in enumerate(value):
            yield from _leaves(f"{name}.{place}", one)
    elif isinstance(value, int | float):
        yield name, float(value)
