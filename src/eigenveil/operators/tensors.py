"""Which tensor of a unit is meant: A_i W, A_i itself, its mean row, its variances along directions or columns."""

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
    """A_i W, W a public d x m matrix."""

    W: FloatArray
    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:  # noqa: ARG002
        """As W."""
        return self.W.shape

    def checked(self, d: int) -> Products:
        """With W as a C-contiguous array of finite numbers."""
        return Products(_checked_columns("W", self.W, d))

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """The products."""
        return operator.products(block, self.W)


@dataclass(frozen=True)
class Matrices:
    """The symmetric part of A_i, as a d x d matrix: for small d."""

    symmetric = True

    def shape(self, d: int) -> tuple[int, ...]:
        """Square."""
        return (d, d)

    def checked(self, d: int) -> Matrices:  # noqa: ARG002
        """As it is."""
        return self

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """The matrices."""
        return symmetric_part(operator.products(block, np.eye(operator.d)))


@dataclass(frozen=True)
class MeanRows:
    """The mean row of a unit: what the private mean is made of."""

    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:
        """A row."""
        return (d,)

    def checked(self, d: int) -> MeanRows:  # noqa: ARG002
        """As it is."""
        return self

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """The mean rows; refused where units have no rows."""
        return operator.vectors(block)


@dataclass(frozen=True, eq=False)
class Variances:
    """u_j^T A_i u_j for the columns u_j of a public U (d, k), and last the rest of the trace of A_i.

    Parameters
    ----------
    U : array of shape (d, k)
        Orthonormal columns.
    entries : slice
        Which of the k + 1 numbers are meant: all by default.
    """

    U: FloatArray
    entries: slice = field(default_factory=partial(slice, None))
    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:  # noqa: ARG002
        """As many numbers as are meant."""
        return (len(range(self.U.shape[1] + 1)[self.entries]),)

    def checked(self, d: int) -> Variances:
        """With U as a C-contiguous array of finite numbers, and at least one number meant."""
        U = _checked_columns("U", self.U, d)
        if not len(range(U.shape[1] + 1)[self.entries]):
            raise InvalidInputError(f"none of the {U.shape[1] + 1} numbers of a unit is among {self.entries!r}.")
        return Variances(U, self.entries)

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """These numbers."""
        return operator.variances(block, self.U)[:, self.entries]


@dataclass(frozen=True, eq=False)
class Squares:
    """The diagonal of A_i in some columns, the mean of a unit's squares there: weighted, and cut at a number.

    Parameters
    ----------
    columns : array of int
        Which columns.
    weights : array
        What the squares of each are multiplied by, above 0.
    most : float
        What a weighted number is at most.
    """

    columns: IntArray
    weights: FloatArray
    most: float
    symmetric = False

    def shape(self, d: int) -> tuple[int, ...]:  # noqa: ARG002
        """A number per column."""
        return self.columns.shape

    def checked(self, d: int) -> Squares:
        """As it is, if columns and weights go together and all of it is finite and above 0."""
        good = self.columns.size and self.columns.min() >= 0 and self.columns.max() < d and self.most > 0
        if not (good and self.weights.shape == self.columns.shape and np.all(self.weights > 0)):
            raise InvalidInputError("squares need columns that are there, and a weight above 0 for each.")
        return self

    def of(self, operator: Operator, block: Block) -> FloatArray:
        """These numbers; all of a bad unit are nan."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return np.minimum(operator.squares(block, self.columns) * self.weights, self.most)


Tensor: TypeAlias = Products | Matrices | MeanRows | Variances | Squares
"""Public and small, and without any data, so that it can travel."""


def _checked_columns(name: str, matrix: FloatArray, d: int) -> FloatArray:
    """The matrix, if it is finite and has d rows and a column at least."""
    out = np.ascontiguousarray(matrix, dtype=np.float64)
    if out.ndim != 2 or out.shape[0] != d or not out.shape[1]:
        raise InvalidInputError(f"{name} must have shape ({d}, m), got {np.shape(matrix)}.")
    if not np.all(np.isfinite(out)):
        raise InvalidInputError(f"{name} must be finite.")
    return out
