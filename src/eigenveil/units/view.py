"""The interface of units that algorithms use, for real units and for units that are simulated by the planner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

from eigenveil._typing import FloatArray, IntArray
from eigenveil.engines import LeftOut, Population
from eigenveil.engines.sampled import Passes
from eigenveil.mechanisms.columns import NumbersByColumn
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.privacy.budget import Budget


class PrivateUnits(Protocol):
    """Units with a d x d matrix A_i each, accessible only through a veil and within a privacy budget.

    `Units` are real. The units of the planner are simulated, so that the planner can run the code of an algorithm
    itself to predict its accuracy.
    """

    @property
    def d(self) -> int:
        """Number of columns."""

    @property
    def budget(self) -> Budget:
        """Privacy budget for these units."""

    @property
    def veil(self) -> Veil:
        """Charges the ledger for releases, and draws noise."""

    @property
    def number_is_public(self) -> bool:
        """Whether neighbouring datasets have the same number of units, each in a fixed place."""

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row; this is public."""

    @property
    def passes(self) -> Passes:
        """Number of passes over these units and over all units derived from them."""

    def block(self, W: FloatArray) -> Population:
        """Return the population of the products A_i W."""

    def matrices(self) -> Population:
        """Return the population of the matrices A_i (their symmetric part)."""

    def vectors(self) -> Population:
        """Return the population of the mean rows of units."""

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> Population:
        """Return the population of u_j^T A_i u_j and, as the last entry, the rest of the trace.

        `entries` selects some of these entries.
        """

    def left_out(self) -> LeftOut | None:
        """Return what is excluded from units.

        None if, by schema, nothing can be excluded: for single rows without groups of columns.
        """

    def shifted(self, shift: FloatArray) -> Self:
        """Return these units with `shift` subtracted from every row."""

    def rescaled(self, scale: FloatArray) -> Self:
        """Return these units with every column divided by its scale."""

    def sampled(self, rate: float) -> Iterator[Self]:
        """Yield a fresh Poisson sample of these units for every round."""

    def columns(self, columns: IntArray, *, squared: bool = False) -> NumbersByColumn:
        """Return some columns of the mean rows of units, or of the means of their squared rows, as populations."""

    def squares(self, columns: IntArray, weights: FloatArray, most: float) -> Population:
        """Return the population of the mean squares of units in some columns, weighted and clipped at `most`."""

    def damped(self, directions: FloatArray, factor: float) -> Self:
        """Return the units M A_i M, M = I - (1 - factor) D D^T, D orthonormal."""

    def random_start(self, columns: int) -> FloatArray:
        """Return a random d x columns matrix with orthonormal columns, independent of the data."""
