"""Tensors of a unit: A_i W, A_i, its mean row, its variances along directions or in columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import symmetric_part
from eigenveil.sources import Block

if TYPE_CHECKING:
    from eigenveil.operators.operator import Operator


@dataclass(frozen=True, eq=False)
class Products:
    """A_i W, for a public d x m matrix W."""

    W: FloatArray
    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return the shape of W."""
        return self.W.shape

    def checked(self, d: int) -> Products:
        """Return the same with W checked: a C-contiguous array of finite numbers."""
        return Products(_checked_columns("W", self.W, d))

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """Return the products."""
        return operator.products(block, self.W)


@dataclass(frozen=True)
class Matrices:
    """The symmetric part of A_i, as a d x d matrix; suited to small d."""

    symmetric = True

    def shape(self, d: int) -> tuple[int, ...]:
        """Return (d, d)."""
        return (d, d)

    def checked(self, d: int) -> Matrices:  # noqa: ARG002
        """Return the tensor unchanged."""
        return self

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """Return the matrices."""
        return symmetric_part(operator.products(block, np.eye(operator.d)))


@dataclass(frozen=True)
class MeanRows:
    """The mean row of a unit, from which the private mean is computed."""

    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:
        """Return (d,)."""
        return (d,)

    def checked(self, d: int) -> MeanRows:  # noqa: ARG002
        """Return the tensor unchanged."""
        return self

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """Return the mean rows. Raises an error if units have no rows."""
        return operator.vectors(block)


@dataclass(frozen=True, eq=False)
class Variances:
    """u_j^T A_i u_j for the columns u_j of a public matrix U, and last the rest of the trace of A_i.

    Parameters
    ----------
    U : array of shape (d, k)
        Orthonormal columns.
    entries : slice
        Which of the k + 1 numbers to compute; all by default.
    """

    U: FloatArray
    entries: slice = field(default_factory=partial(slice, None))
    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return the number of selected entries, as a tuple."""
        return (len(range(self.U.shape[1] + 1)[self.entries]),)

    def checked(self, d: int) -> Variances:
        """Return the same with U as a C-contiguous array of finite numbers, if an entry is selected at all."""
        U = _checked_columns("U", self.U, d)
        if not len(range(U.shape[1] + 1)[self.entries]):
            raise InvalidInputError(f"{self.entries!r} selects none of the {U.shape[1] + 1} numbers of a unit.")
        return Variances(U, self.entries)

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """Return the selected numbers."""
        return operator.variances(block, self.U)[:, self.entries]


@dataclass(frozen=True, eq=False)
class Squares:
    """The diagonal of A_i in some columns (the unit's mean squares), weighted and truncated at a number.

    Parameters
    ----------
    columns : array of int
        The columns.
    weights : array
        Factor for the squares of each column, above 0.
    most : float
        Upper limit of a weighted number.
    """

    columns: IntArray
    weights: FloatArray
    most: float
    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return the number of columns, as a tuple."""
        return self.columns.shape

    def checked(self, d: int) -> Squares:
        """Return the tensor unchanged if columns exist, weights match them, and weights and limit are above 0."""
        good = self.columns.size and self.columns.min() >= 0 and self.columns.max() < d and self.most > 0
        if not (good and self.weights.shape == self.columns.shape and np.all(self.weights > 0)):
            raise InvalidInputError(
                f"expected column numbers from 0 to {d - 1}, one weight above 0 for each, and a limit above 0."
            )
        return self

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """Return the numbers; all numbers of an invalid unit are nan."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return np.minimum(operator.squares(block, self.columns) * self.weights, self.most)


Tensor: TypeAlias = Products | Matrices | MeanRows | Variances | Squares
"""A tensor's description is public, small and contains no data, so it can be sent to workers."""


def _checked_columns(name: str, matrix: FloatArray, d: int) -> FloatArray:
    """Return the matrix as a C-contiguous array, if it is finite and has d rows and at least one column."""
    out = np.ascontiguousarray(matrix, dtype=np.float64)
    if out.ndim != 2 or out.shape[0] != d or not out.shape[1]:
        raise InvalidInputError(f"{name} must have shape ({d}, m), got {np.shape(matrix)}.")
    if not np.all(np.isfinite(out)):
        raise InvalidInputError(f"{name} must be finite.")
    return out
