"""Simulated units. They answer a method's queries from a guess, so that its code can run without data.

Rows are in the basis of the true components, or in the columns of a table (`table`). An answer has three parts:

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
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines import Population
from eigenveil.engines.sampled import Passes
from eigenveil.mechanisms import Veil
from eigenveil.mechanisms.columns import NumbersByColumn
from eigenveil.planner.answers import SimulatedColumns, SimulatedPopulation, SimulatedVeil
from eigenveil.planner.guess import Guess
from eigenveil.planner.table import Place
from eigenveil.privacy import Budget


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
    place : Place, optional
        Where rows lie in a table. None: in the basis of the components, around 0.
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
    place: Place | None = None
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

    @cached_property
    def at(self) -> Place:
        """Where rows lie."""
        return Place.of(self.guess) if self.place is None else self.place

    def shifted(self, shift: FloatArray) -> SimulatedUnits:
        """Return these units with `shift` subtracted from every row."""
        return replace(self, place=self.at.shifted(shift), _grams={})

    def rescaled(self, scale: FloatArray) -> SimulatedUnits:
        """Return these units with every column divided by its scale."""
        return replace(self, place=self.at.rescaled(scale), _grams={})

    def sampled(self, rate: float) -> Iterator[SimulatedUnits]:
        """Yield fewer units. The error of a sample is neglected."""
        while True:
            yield replace(self, n=max(round(rate * self.n), 1))

    def columns(self, columns: IntArray, *, squared: bool = False) -> NumbersByColumn:
        """Return some columns of the mean rows of units, or of the means of their squared rows."""
        values = self._squares(columns) if squared else self.at.rows[:, :, columns].mean(axis=1)
        return SimulatedColumns(columns, self.n, values)

    def squares(self, columns: IntArray, weights: FloatArray, most: float) -> Population:
        """Return the population of the mean squares of units in some columns, weighted and clipped at `most`.

        Their mean is that of the guess: the sampling error of n units is neglected.
        """
        values = self._squares(columns)
        expected = self.at.diagonal(self.guess.eigenvalues)[columns]
        values = np.minimum(_over(values * expected, values.mean(axis=0)) * weights, most)

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((values - centre) ** 2, axis=1))

        return SimulatedPopulation(columns.shape, self.n, norms, lambda c: np.mean(values * c[:, None], axis=0))

    def _squares(self, columns: IntArray) -> FloatArray:
        """Return the mean squares of the sample's units in some columns."""
        constant = self.at.diagonal(self.guess.constant) - self.at.offset**2
        return np.asarray(np.mean(self.at.rows[:, :, columns] ** 2, axis=1) + constant[columns])

    def damped(self, directions: FloatArray, factor: float) -> SimulatedUnits:
        """Return the units M A_i M."""
        return replace(self, directions=directions, factor=factor)

    def block(self, W: FloatArray) -> Population:
        """Return the population of A_i W."""
        V = self._damp(W)
        Y = self.at.along(V)
        inner = Y @ Y.transpose(0, 2, 1)
        constant = self._damp(self._constant(V))
        r = self.guess.rows_each

        def norms(centre: FloatArray) -> FloatArray:
            B = constant - centre
            cross = np.sum(self.at.along(self._damp(B)) * Y, axis=(1, 2)) / r
            own = np.sum(self._gram() * inner, axis=(1, 2)) / r**2
            return _root(own + 2 * cross + float(np.sum(B**2)))

        def mean(c: FloatArray) -> FloatArray:
            effect = self._clipping_effect(V, Y, c)
            return float(c.mean()) * constant + self._damp(self._varying(V @ effect))

        return SimulatedPopulation(W.shape, self.n, norms, mean)

    def matrices(self) -> SimulatedPopulation:
        """Return the population of A_i."""
        at, constant, rows, r = self.at, self.guess.constant, self.guess.rows, self.guess.rows_each
        squares = rows**2
        own = np.sum(self._gram() ** 2, axis=(1, 2)) / r**2
        if constant.any():
            whole = at.into(at.out(np.diag(constant)))  # B^T B K, of which the trace of the square is a norm
            own += 2 * np.sum(at.along(self._constant(np.eye(self.d))) * at.rows, axis=(1, 2)) / r
            own += float(np.sum(whole * whole.T))

        def norms(centre: FloatArray) -> FloatArray:
            assert not centre.any()
            return _root(own)

        def mean(c: FloatArray) -> FloatArray:
            before = np.mean(squares, axis=(0, 1))
            after = np.mean(squares * c[:, None, None], axis=(0, 1))
            root = np.sqrt(_over(after, before))
            out: FloatArray = self.drawn.varying * np.outer(root, root)
            flat, each = rows.reshape(-1, self.d), np.repeat(c, r)
            if not self.guess.sign_symmetric:  # bias from clipping beyond one factor per direction
                clipped = (flat * each[:, None]).T @ flat / len(flat)
                if "outer" not in self._grams:
                    self._grams["outer"] = flat.T @ flat / len(flat)
                bias = clipped - self._grams["outer"] * np.outer(root, root)  # sampling error is in both
                out = out + bias - np.diag(np.diag(bias))
            out[np.diag_indices(self.d)] += float(c.mean()) * constant
            out = at.out(at.out(out).T)
            if at.offset.any():
                beside = np.outer(at.out(each @ flat / len(flat)), at.offset)
                out = out + beside + beside.T + float(c.mean()) * np.outer(at.offset, at.offset)
            return out

        return SimulatedPopulation((self.d, self.d), self.n, norms, mean, symmetric=True)

    def vectors(self) -> Population:
        """Return the population of rows: their norms, and the mean of a public sample's clipped rows.

        Around 0, it is set to 0 unless it clearly exceeds the sampling error of the sample. In a table, the sample
        has the table's means exactly.
        """
        rows = self.at.rows.mean(axis=1)

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((rows - centre) ** 2, axis=1))

        def mean(c: FloatArray) -> FloatArray:
            if self.place is not None:
                return np.asarray(np.mean(rows * c[:, None], axis=0), dtype=np.float64)
            if self.guess.sign_symmetric:
                return np.zeros(self.d)
            clipped = rows * c[:, None]
            one, other = clipped[::2].mean(axis=0), clipped[1::2].mean(axis=0)
            chance = 2 * float(np.linalg.norm(clipped.T @ clipped)) / len(rows) ** 2
            return (one + other) / 2 if float(one @ other) > 3 * chance else np.zeros(self.d)

        return SimulatedPopulation((self.d,), self.n, norms, mean)

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> Population:
        """Return the population of u_j^T A_i u_j and the rest of the trace."""
        along = np.mean(self.at.along(U) ** 2, axis=1) + np.sum(U * self._constant(U), axis=0)
        constant = float(np.trace(self._constant(np.eye(self.d)))) if self.guess.constant.any() else 0.0
        trace = np.mean(np.sum(self.at.rows**2, axis=2), axis=1) + constant
        values = np.column_stack([along, trace - along.sum(axis=1)])[:, entries]

        def norms(centre: FloatArray) -> FloatArray:
            return _root(np.sum((values - centre) ** 2, axis=1))

        return SimulatedPopulation(values.shape[1:], self.n, norms, lambda c: np.mean(values * c[:, None], axis=0))

    def _constant(self, V: FloatArray) -> FloatArray:
        """Return the part common to all units, times the columns V."""
        if not self.guess.constant.any():
            return np.zeros_like(V)
        out: FloatArray = self.at.out(self.guess.constant[:, None] * self.at.into(V))
        return out

    def _varying(self, V: FloatArray) -> FloatArray:
        """Return the mean of the rest over all units, times the columns V."""
        out = self.at.out(self.drawn.times(self.at.into(V)))
        return out + np.outer(self.at.offset, self.at.offset @ V) if self.at.offset.any() else out

    def _damp(self, columns: FloatArray) -> FloatArray:
        if self.directions is None:
            return columns
        return columns - (1 - self.factor) * (self.directions @ (self.directions.T @ columns))

    def _gram(self) -> FloatArray:
        """Return the inner products of the rows of each unit, for all units of the sample."""
        rows = self.at.rows
        if "plain" not in self._grams:
            self._grams["plain"] = rows @ rows.transpose(0, 2, 1)
        if self.directions is None:
            return self._grams["plain"]
        inside = self.at.along(self.directions)
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
        U = np.linalg.eigh(V.T @ self._varying(V))[1]
        factors = _over(np.sum(U * (after @ U), axis=0), np.sum(U * (before @ U), axis=0))
        return np.asarray((U * factors) @ U.T, dtype=np.float64)


def _root(squares: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)


def _over(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
