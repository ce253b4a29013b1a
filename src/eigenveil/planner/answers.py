"""Answers of simulated units, without data: expected counts and sums, and noise with the scale that is bought."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray, IntArray
from eigenveil.kernels import Clip
from eigenveil.mechanisms import Grant, Veil
from eigenveil.privacy import Budget, Ledger, Purpose


class SimulatedVeil(Veil):
    """Gaussian noise with the scale that a method buys. Nothing is charged: there are no data to protect.

    Its ledger is marked as not private, so that the result of a simulated run cannot be mistaken for a release.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(Ledger(Budget.from_mu(1.0)))
        self.ledger.mark_not_private("simulated units: nothing was released")
        self._rng = rng

    def gaussian(
        self,
        what: str,
        *,
        mu: float,
        sensitivity: float,
        draws: int,
        releases: int = 1,
        note: str = "",
        purpose: Purpose = Purpose.OTHER,
    ) -> Grant:
        """Return noise for `releases` releases that cost mu together."""
        del what, draws, note, purpose
        return _SimulatedGrant(self._rng, sensitivity * math.sqrt(releases) / mu)


class _SimulatedGrant(Grant):
    """Grant for expected values, which are floats and not on a grid; hence `Any` in the type annotations."""

    def __init__(self, rng: np.random.Generator, scale: float) -> None:
        self.exponent = 0
        self._rng, self._float_scale = rng, scale

    @property
    def scale(self) -> float:
        return self._float_scale

    def on_grid(self, numbers: npt.ArrayLike, *, places: int = 0) -> Any:
        return np.ldexp(np.asarray(numbers, dtype=np.float64), -places)

    def release(self, steps: Any, *, weight: float = 1.0) -> FloatArray:
        noise = self._float_scale * weight * self._rng.standard_normal(np.shape(steps))
        return np.asarray(steps + noise, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SimulatedPopulation:
    """Simulated population (`Population`) of n units, extrapolated from a small sample.

    Counts and sums are expected values, so they are floats and not integers; hence `Any` in the type annotations.

    Parameters
    ----------
    shape : tuple of int
        Shape of a unit's tensor.
    n : int
        Number of simulated units.
    norms : callable
        Maps a centre to the distances of the sample's units from it.
    mean : callable
        Maps factors c, one per unit of the sample, to the mean of c_i a_i over the simulated units.
    symmetric : bool
        Whether tensors are symmetric matrices.
    """

    shape: tuple[int, ...]
    n: int
    norms: Callable[[FloatArray], FloatArray]
    mean: Callable[[FloatArray], FloatArray]
    symmetric: bool = False
    fixed_places: bool = True

    def count(self) -> int:
        """Return the number of units. All simulated units are valid."""
        return self.n

    def slots(self) -> int:
        """Return the number of slots. All simulated units are valid."""
        return self.n

    def tally(self) -> tuple[int, int]:
        """Return the number of units twice. All simulated units are valid."""
        return self.n, self.n

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> Any:
        """Return the expected number of units within each edge."""
        norms = np.sort(self.norms(centre))
        within = np.searchsorted(norms, edges, side="right").astype(np.float64)
        return within * (self.n / norms.size)

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> Any:
        """Return the expected sum of clipped residuals (on a grid of 1: `exponent` is 0)."""
        assert exponent == 0
        c = clip_factors(self.norms(centre), radius)
        return self.n * (self.mean(c) - float(c.mean()) * centre)

    def survey(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> tuple[Any, list[Any]]:
        """Return counts at all edges and sums at all clips."""
        sums = [self.clipped_sum(centre, clip.radius, clip.exponent) for clip in clips]
        return self.counts_within(centre, edges), sums


@dataclass(frozen=True, eq=False)
class SimulatedColumns:
    """Simulated `NumbersByColumn` of n units: expected counts and sums, from the values of a small sample."""

    columns: IntArray
    n: int
    values: FloatArray

    def counts_between(self, edges: FloatArray, *, signed: bool = False) -> Any:
        """Return the expected number of units in each interval of the edges, for each column."""
        (s, p), bins = self.values.shape, edges.size
        place = np.searchsorted(edges, np.abs(self.values))
        inside, width = place < bins, (1 + signed) * bins
        place += np.arange(p) * width + (bins * (self.values < 0) if signed else 0)
        counts = np.bincount(place[inside], minlength=p * width)
        return counts.reshape(p, width) * (self.n / s)

    def clipped_sums(self, radii: FloatArray, exponent: int) -> Any:
        """Return the expected sum of each column, clipped to its radius and divided by it."""
        assert exponent == 0
        return self.n * np.mean(np.clip(self.values / radii, -1.0, 1.0), axis=0)


def clip_factors(norms: FloatArray, radius: float) -> FloatArray:
    """Return the factor by which clipping to `radius` scales each unit."""
    return np.minimum(1.0, radius / np.maximum(norms, np.finfo(float).tiny))
