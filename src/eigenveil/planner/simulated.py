"""Simulated units. They answer a method's queries from a guess, so that its code can run without data.

Everything is in the basis of the true components. An answer has three parts:

- the share of units within a radius, and the factors by which the others are clipped, from the small sample of the
  guess;
- the mean of the units: a covariance drawn from the distribution of n units (Wishart), so that it has the sampling
  error of n units;
- noise: Gaussian, with the scale that the method buys. There are no data, so nothing is charged.

Clipping a row x along directions W by the factor c(x) gives E[c x x^T] W = Sigma W E^-1 M with E = W^T Sigma W and
M = E[c W^T x x^T W], because c depends on the part of x outside W only through its norm. In the basis in which E
is diagonal, M is diagonal too if the distribution of rows is invariant under sign changes. Then one factor per
direction describes the effect of clipping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.engines import Population
from eigenveil.engines.sampled import Passes
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import Clip
from eigenveil.mechanisms import Grant, Veil
from eigenveil.planner.guess import Guess
from eigenveil.privacy import Budget, Ledger, Purpose


@dataclass(frozen=True, eq=False)
class SampleCovariance:
    """Sample covariance of n simulated units: constant + B B^T with B = sqrt(varying) A/sqrt(rows)."""

    guess: Guess
    factor: FloatArray

    def times(self, V: FloatArray) -> FloatArray:
        """Return the varying part times the columns V."""
        root = np.sqrt(self.guess.varying)[:, None]
        out: FloatArray = root * (self.factor @ (self.factor.T @ (root * V)))
        return out

    @cached_property
    def varying(self) -> FloatArray:
        """Varying part as a matrix."""
        root = np.sqrt(self.guess.varying)
        out: FloatArray = (self.factor @ self.factor.T) * np.outer(root, root)
        return out


def draw(guess: Guess, n: int, rng: np.random.Generator) -> SampleCovariance:
    """Draw a sample covariance. For the same `rng`, a small change of n changes it only a little.

    With more than d rows: Bartlett's triangular factor of a Wishart matrix, with chi-square variables by the
    approximation of Wilson and Hilferty.
    """
    d, rows = guess.eigenvalues.size, n * guess.rows_each
    Z = rng.standard_normal((d, d))
    if rows <= d:
        return SampleCovariance(guess, Z[:, :rows] / math.sqrt(rows))
    degrees = rows - np.arange(d)
    spread = 2 / (9 * degrees)
    squares = np.maximum(1 - spread + np.sqrt(spread) * np.diag(Z), 0.0) ** 3 * degrees
    factor = np.tril(Z, -1)
    factor[np.diag_indices(d)] = np.sqrt(squares)
    return SampleCovariance(guess, factor / math.sqrt(rows))


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


def clip_factors(norms: FloatArray, radius: float) -> FloatArray:
    """Return the factor by which clipping to `radius` scales each unit."""
    return np.minimum(1.0, radius / np.maximum(norms, np.finfo(float).tiny))


@dataclass(frozen=True, eq=False)
class SimulatedUnits:
    """Simulated units (`PrivateUnits`): queries of a method are answered from a guess.

    Parameters
    ----------
    guess : Guess
        Spectrum, and a small sample of units.
    n : int
        Number of simulated units.
    drawn : SampleCovariance
        Their sample covariance.
    budget : Budget
        Privacy budget of the simulated run.
    rng : Generator
        Source of noise and of the random start.
    directions, factor : array of shape (d, i), float
        Units are M A_i M with M = I - (1 - factor) directions directions^T.
    passes : Passes
        Counter of passes over data; it stays at 0.
    """

    guess: Guess
    n: int
    drawn: SampleCovariance
    budget: Budget = field(default_factory=lambda: Budget.from_mu(1.0))
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    directions: FloatArray | None = None
    factor: float = 1.0
    passes: Passes = field(default_factory=Passes)
    _grams: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.guess.eigenvalues.size

    @property
    def number_is_public(self) -> bool:
        """Whether n is public. Plans are for add-remove, so it is not."""
        return False

    @cached_property
    def veil(self) -> Veil:
        """Source of simulated noise."""
        return SimulatedVeil(self.rng)

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row."""
        return self.guess.rows_each == 1 and not self.guess.constant.any()

    def left_out(self) -> None:
        """Return None: simulated units have no excluded rows. The small cost of buying this count is neglected."""

    def random_start(self, columns: int) -> FloatArray:
        """Return random orthonormal columns."""
        Q: FloatArray = np.linalg.qr(self.rng.standard_normal((self.d, columns)))[0]
        return Q

    def shifted(self, shift: FloatArray) -> SimulatedUnits:
        """Return the same units. Simulated rows have mean 0, and other means are not simulated."""
        if np.any(shift):
            raise InvalidInputError("simulated units have mean 0, and can only be shifted by 0.")
        return self

    def damped(self, directions: FloatArray, factor: float) -> SimulatedUnits:
        """Return the units M A_i M."""
        return replace(self, directions=directions, factor=factor)

    def block(self, W: FloatArray) -> Population:
        """Return the population of A_i W."""
        V = self._damp(W)
        Y = self.guess.along(V)
        inner = Y @ Y.transpose(0, 2, 1)
        constant = self._damp(self.guess.constant[:, None] * V)
        r = self.guess.rows_each

        def norms(centre: FloatArray) -> FloatArray:
            B = constant - centre
            cross = np.sum(self.guess.along(self._damp(B)) * Y, axis=(1, 2)) / r
            own = np.sum(self._gram() * inner, axis=(1, 2)) / r**2
            return _root(own + 2 * cross + float(np.sum(B**2)))

        def mean(c: FloatArray) -> FloatArray:
            effect = self._clipping_effect(V, Y, c)
            return float(c.mean()) * constant + self._damp(self.drawn.times(V @ effect))

        return SimulatedPopulation(W.shape, self.n, norms, mean)

    def matrices(self) -> SimulatedPopulation:
        """Return the population of A_i."""
        constant, rows, r = self.guess.constant, self.guess.rows, self.guess.rows_each
        squares = rows**2
        own = np.sum(self._gram() ** 2, axis=(1, 2)) / r**2
        squared = own + 2 * np.sum(squares @ constant, axis=1) / r + float(constant @ constant)

        def norms(centre: FloatArray) -> FloatArray:
            assert not centre.any()
            return _root(squared)

        def mean(c: FloatArray) -> FloatArray:
            before = np.mean(squares, axis=(0, 1))
            after = np.mean(squares * c[:, None, None], axis=(0, 1))
            root = np.sqrt(_over(after, before))
            out: FloatArray = self.drawn.varying * np.outer(root, root)
            if not self.guess.sign_symmetric:  # bias from clipping beyond one factor per direction
                flat = rows.reshape(-1, self.d)
                clipped = (flat * np.repeat(c, r)[:, None]).T @ flat / len(flat)
                if "outer" not in self._grams:
                    self._grams["outer"] = flat.T @ flat / len(flat)
                bias = clipped - self._grams["outer"] * np.outer(root, root)  # sampling error is in both
                out = out + bias - np.diag(np.diag(bias))
            out[np.diag_indices(self.d)] += float(c.mean()) * constant
            return out

        return SimulatedPopulation((self.d, self.d), self.n, norms, mean, symmetric=True)

    def vectors(self) -> Population:
        """Return the population of rows: their norms, and the mean of a public sample's clipped rows.

        The mean is set to 0 unless it clearly exceeds the sampling error of the sample.
        """
        rows = self.guess.rows[:, 0]

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((rows - centre) ** 2, axis=1))

        def mean(c: FloatArray) -> FloatArray:
            if self.guess.sign_symmetric:
                return np.zeros(self.d)
            clipped = rows * c[:, None]
            one, other = clipped[::2].mean(axis=0), clipped[1::2].mean(axis=0)
            chance = 2 * float(np.linalg.norm(clipped.T @ clipped)) / len(rows) ** 2
            return (one + other) / 2 if float(one @ other) > 3 * chance else np.zeros(self.d)

        return SimulatedPopulation((self.d,), self.n, norms, mean)

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> Population:
        """Return the population of u_j^T A_i u_j and the rest of the trace."""
        along = np.mean(self.guess.along(U) ** 2, axis=1) + self.guess.constant @ U**2
        trace = np.mean(np.sum(self.guess.rows**2, axis=2), axis=1) + float(self.guess.constant.sum())
        values = np.column_stack([along, trace - along.sum(axis=1)])[:, entries]

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((values - centre) ** 2, axis=1))

        return SimulatedPopulation(values.shape[1:], self.n, norms, lambda c: np.mean(values * c[:, None], axis=0))

    def _damp(self, columns: FloatArray) -> FloatArray:
        if self.directions is None:
            return columns
        return columns - (1 - self.factor) * (self.directions @ (self.directions.T @ columns))

    def _gram(self) -> FloatArray:
        """Return the inner products of the rows of each unit, for all units of the sample."""
        rows = self.guess.rows
        if "plain" not in self._grams:
            self._grams["plain"] = rows @ rows.transpose(0, 2, 1)
        if self.directions is None:
            return self._grams["plain"]
        inside = self.guess.along(self.directions)
        return self._grams["plain"] - (1 - self.factor**2) * (inside @ inside.transpose(0, 2, 1))

    def _clipping_effect(self, V: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Return E^-1 M; see the docstring of the module."""
        m = Y.shape[2]
        flat = Y.reshape(-1, m)
        before = flat.T @ flat
        after = (flat * np.repeat(c, Y.shape[1])[:, None]).T @ flat
        if not self.guess.sign_symmetric:
            out: FloatArray = np.linalg.pinv(before, hermitian=True) @ after
            return out
        U = np.linalg.eigh(V.T @ self.drawn.times(V))[1]
        factors = _over(np.sum(U * (after @ U), axis=0), np.sum(U * (before @ U), axis=0))
        return np.asarray((U * factors) @ U.T, dtype=np.float64)


def _root(squares: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)


def _over(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
