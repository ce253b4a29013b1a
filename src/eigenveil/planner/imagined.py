"""Imagined units: they answer what a method asks of data, from a guess, so that its code can be run on nothing.

Everything is in the basis of the true components. An answer has three parts:

- which share of the units lies within a radius, and by how much the others are shortened: from the small sample of
  the guess;
- the mean of the units: a covariance drawn as n units would have it (Wishart), so it errs as a sample of n does;
- noise: Gaussian, as the method pays for it. No data, so no ledger.

Clipping a row x along directions W by c(x) leaves E[c x x^T] W = Sigma W E^-1 M with E = W^T Sigma W and
M = E[c W^T x x^T W], as c depends on what lies outside W only through its length. In the basis in which E is
diagonal, M is too if rows are as likely with any signs: then one factor per direction tells it all.
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
class Drawn:
    """The covariance of n units as it would turn out: still + B B^T, B = sqrt(moving) A/sqrt(rows)."""

    guess: Guess
    factor: FloatArray

    def times(self, V: FloatArray) -> FloatArray:
        """The moving part times columns."""
        root = np.sqrt(self.guess.moving)[:, None]
        out: FloatArray = root * (self.factor @ (self.factor.T @ (root * V)))
        return out

    @cached_property
    def moving(self) -> FloatArray:
        """The moving part as a matrix."""
        root = np.sqrt(self.guess.moving)
        out: FloatArray = (self.factor @ self.factor.T) * np.outer(root, root)
        return out


def draw(guess: Guess, n: int, rng: np.random.Generator) -> Drawn:
    """One draw; for the same `rng` it hardly changes where n hardly does.

    With at least d rows: Bartlett's triangular factor of a Wishart matrix, chi-squares by Wilson and Hilferty.
    """
    d, rows = guess.eigenvalues.size, n * guess.rows_each
    Z = rng.standard_normal((d, d))
    if rows <= d:
        return Drawn(guess, Z[:, :rows] / math.sqrt(rows))
    degrees = rows - np.arange(d)
    spread = 2 / (9 * degrees)
    squares = np.maximum(1 - spread + np.sqrt(spread) * np.diag(Z), 0.0) ** 3 * degrees
    factor = np.tril(Z, -1)
    factor[np.diag_indices(d)] = np.sqrt(squares)
    return Drawn(guess, factor / math.sqrt(rows))


class SimulatedVeil(Veil):
    """Gaussian noise of the size that a method pays for. Nothing is charged: there are no data to protect.

    Its ledger says that it is not private, so nothing that a simulated run returns can pass for a release.
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
        times: int = 1,
    ) -> Grant:
        """Noise for `releases` releases that together cost mu."""
        del what, draws, note, purpose, times
        return _SimulatedGrant(self._rng, sensitivity * math.sqrt(releases) / mu)


class _SimulatedGrant(Grant):
    """As a veil's grant, for expected numbers, which lie on no grid: `Any` says so to the type checker."""

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
class Imagined:
    """A population (`Population`) that is not there: n times what a small sample says.

    Counts and sums are expected ones, so they are floats and not whole; `Any` says so to the type checker.

    Parameters
    ----------
    shape : tuple of int
        Of a unit's tensor.
    n : int
        How many units are imagined.
    norms : callable
        From a centre, the distances of the sample's units from it.
    mean : callable
        From factors c, one per unit of the sample, the mean of c_i a_i over the imagined units.
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
        """All are good."""
        return self.n

    def slots(self) -> int:
        """All are good."""
        return self.n

    def tally(self) -> tuple[int, int]:
        """All are good."""
        return self.n, self.n

    def counts_within(self, centre: FloatArray, edges: FloatArray) -> Any:
        """How many units lie within each edge."""
        norms = np.sort(self.norms(centre))
        within = np.searchsorted(norms, edges, side="right").astype(np.float64)
        return within * (self.n / norms.size)

    def clipped_sum(self, centre: FloatArray, radius: float, exponent: int) -> Any:
        """The sum of clipped residuals (the grid is 1: `exponent` is 0)."""
        assert exponent == 0
        c = shortened(self.norms(centre), radius)
        return self.n * (self.mean(c) - float(c.mean()) * centre)

    def survey(self, centre: FloatArray, edges: FloatArray, clips: Sequence[Clip]) -> tuple[Any, list[Any]]:
        """Counts at all edges and sums at all clips."""
        sums = [self.clipped_sum(centre, clip.radius, clip.exponent) for clip in clips]
        return self.counts_within(centre, edges), sums


def shortened(norms: FloatArray, radius: float) -> FloatArray:
    """By how much clipping shortens each unit."""
    return np.minimum(1.0, radius / np.maximum(norms, np.finfo(float).tiny))


@dataclass(frozen=True, eq=False)
class ImaginedUnits:
    """What a method may ask of units (`PrivateUnits`), answered from a guess.

    Parameters
    ----------
    guess : Guess
        Spectrum, and a small sample of units.
    n : int
        How many units are imagined.
    drawn : Drawn
        Their covariance.
    budget : Budget
        What may be spent.
    rng : Generator
        For noise and the start.
    directions, factor : array of shape (d, i), float
        Units are M A_i M with M = I - (1 - factor) directions directions^T.
    passes : Passes
        None are made.
    """

    guess: Guess
    n: int
    drawn: Drawn
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
        """Plans are made for add-remove."""
        return False

    @cached_property
    def veil(self) -> Veil:
        """Where noise comes from."""
        return SimulatedVeil(self.rng)

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row."""
        return self.guess.rows_each == 1 and not self.guess.still.any()

    def left_out(self) -> None:
        """Nothing is left out of simulated units, and that is not bought: it costs too little to matter."""

    def random_start(self, columns: int) -> FloatArray:
        """Random orthonormal columns."""
        Q: FloatArray = np.linalg.qr(self.rng.standard_normal((self.d, columns)))[0]
        return Q

    def shifted(self, shift: FloatArray) -> ImaginedUnits:
        """The same: simulated rows lie around 0, and no other place is simulated."""
        if np.any(shift):
            raise InvalidInputError("simulated units lie around 0, and can be shifted by nothing else.")
        return self

    def damped(self, directions: FloatArray, factor: float) -> ImaginedUnits:
        """The units M A_i M."""
        return replace(self, directions=directions, factor=factor)

    def block(self, W: FloatArray) -> Population:
        """The population of A_i W."""
        V = self._damp(W)
        Y = self.guess.along(V)
        inner = Y @ Y.transpose(0, 2, 1)
        still = self._damp(self.guess.still[:, None] * V)
        r = self.guess.rows_each

        def norms(centre: FloatArray) -> FloatArray:
            B = still - centre
            cross = np.sum(self.guess.along(self._damp(B)) * Y, axis=(1, 2)) / r
            own = np.sum(self._gram() * inner, axis=(1, 2)) / r**2
            return _root(own + 2 * cross + float(np.sum(B**2)))

        def mean(c: FloatArray) -> FloatArray:
            shorter = self._shorter(V, Y, c)
            return float(c.mean()) * still + self._damp(self.drawn.times(V @ shorter))

        return Imagined(W.shape, self.n, norms, mean)

    def matrices(self) -> Imagined:
        """The population of A_i."""
        still, rows, r = self.guess.still, self.guess.rows, self.guess.rows_each
        squares = rows**2
        own = np.sum(self._gram() ** 2, axis=(1, 2)) / r**2
        squared = own + 2 * np.sum(squares @ still, axis=1) / r + float(still @ still)

        def norms(centre: FloatArray) -> FloatArray:
            assert not centre.any()
            return _root(squared)

        def mean(c: FloatArray) -> FloatArray:
            before = np.mean(squares, axis=(0, 1))
            after = np.mean(squares * c[:, None, None], axis=(0, 1))
            root = np.sqrt(_over(after, before))
            out: FloatArray = self.drawn.moving * np.outer(root, root)
            if not self.guess.like_normal:  # what clipping leans to, beyond a factor per direction
                flat = rows.reshape(-1, self.d)
                clipped = (flat * np.repeat(c, r)[:, None]).T @ flat / len(flat)
                if "outer" not in self._grams:
                    self._grams["outer"] = flat.T @ flat / len(flat)
                leaning = clipped - self._grams["outer"] * np.outer(root, root)  # chance is in both
                out = out + leaning - np.diag(np.diag(leaning))
            out[np.diag_indices(self.d)] += float(c.mean()) * still
            return out

        return Imagined((self.d, self.d), self.n, norms, mean, symmetric=True)

    def vectors(self) -> Population:
        """The population of rows: their lengths, and where a public sample clearly leans when it is clipped."""
        rows = self.guess.rows[:, 0]

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((rows - centre) ** 2, axis=1))

        def mean(c: FloatArray) -> FloatArray:
            if self.guess.like_normal:
                return np.zeros(self.d)
            clipped = rows * c[:, None]
            one, other = clipped[::2].mean(axis=0), clipped[1::2].mean(axis=0)
            chance = 2 * float(np.linalg.norm(clipped.T @ clipped)) / len(rows) ** 2
            return (one + other) / 2 if float(one @ other) > 3 * chance else np.zeros(self.d)

        return Imagined((self.d,), self.n, norms, mean)

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> Population:
        """The population of u_j^T A_i u_j and the rest of the trace."""
        along = np.mean(self.guess.along(U) ** 2, axis=1) + self.guess.still @ U**2
        trace = np.mean(np.sum(self.guess.rows**2, axis=2), axis=1) + float(self.guess.still.sum())
        values = np.column_stack([along, trace - along.sum(axis=1)])[:, entries]

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((values - centre) ** 2, axis=1))

        return Imagined(values.shape[1:], self.n, norms, lambda c: np.mean(values * c[:, None], axis=0))

    def _damp(self, columns: FloatArray) -> FloatArray:
        if self.directions is None:
            return columns
        return columns - (1 - self.factor) * (self.directions @ (self.directions.T @ columns))

    def _gram(self) -> FloatArray:
        """Inner products of a unit's rows with one another, for all units of the sample."""
        rows = self.guess.rows
        if "plain" not in self._grams:
            self._grams["plain"] = rows @ rows.transpose(0, 2, 1)
        if self.directions is None:
            return self._grams["plain"]
        inside = self.guess.along(self.directions)
        return self._grams["plain"] - (1 - self.factor**2) * (inside @ inside.transpose(0, 2, 1))

    def _shorter(self, V: FloatArray, Y: FloatArray, c: FloatArray) -> FloatArray:
        """E^-1 M of the module's text."""
        m = Y.shape[2]
        flat = Y.reshape(-1, m)
        before = flat.T @ flat
        after = (flat * np.repeat(c, Y.shape[1])[:, None]).T @ flat
        if not self.guess.like_normal:
            out: FloatArray = np.linalg.pinv(before, hermitian=True) @ after
            return out
        U = np.linalg.eigh(V.T @ self.drawn.times(V))[1]
        factors = _over(np.sum(U * (after @ U), axis=0), np.sum(U * (before @ U), axis=0))
        return np.asarray((U * factors) @ U.T, dtype=np.float64)


def _root(squares: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)


def _over(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
