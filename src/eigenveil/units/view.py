"""What an algorithm may ask of units, whether they are there or only simulated for a plan."""

from __future__ import annotations

from typing import Protocol, Self

from eigenveil._typing import FloatArray
from eigenveil.engines import LeftOut, Population
from eigenveil.engines.sampled import Passes
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.budget import Budget


class PrivateUnits(Protocol):
    """Units with a d x d matrix A_i each, seen only through a veil and within a budget.

    `Units` are real ones; the planner's are simulated, so that a method's own code tells what to expect of it.
    """

    @property
    def d(self) -> int:
        """Number of columns."""

    @property
    def budget(self) -> Budget:
        """What may be spent on these units."""

    @property
    def veil(self) -> Veil:
        """Charges what is released, and draws noise."""

    @property
    def number_is_public(self) -> bool:
        """Whether neighbours have the same number of units, each in a place of its own."""

    @property
    def single_rows(self) -> bool:
        """Whether every unit is one row, which is public."""

    @property
    def passes(self) -> Passes:
        """How often these units, and all that were made of them, have been read."""

    def block(self, W: FloatArray) -> Population:
        """The population of A_i W."""

    def matrices(self) -> Population:
        """The population of A_i (their symmetric part)."""

    def vectors(self) -> Population:
        """The population of the units' mean rows."""

    def variances(self, U: FloatArray, *, entries: slice = slice(None)) -> Population:
        """The population of u_j^T A_i u_j and, last, the rest of the trace; `entries` says which of them."""

    def left_out(self) -> LeftOut | None:
        """What is left out of the units; None where nothing can be (by schema): single rows without groups."""

    def shifted(self, shift: FloatArray) -> Self:
        """The same with `shift` subtracted from every row."""

    def damped(self, directions: FloatArray, factor: float) -> Self:
        """The units M A_i M, M = I - (1 - factor) D D^T, D orthonormal."""

    def random_start(self, columns: int) -> FloatArray:
        """A random d x columns matrix with orthonormal columns; it depends on no data."""
