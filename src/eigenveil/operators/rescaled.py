"""Operators whose columns are divided by public scales, without copying the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.kernels import to_single
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator
from eigenveil.sources import Block, Partition
from eigenveil.sources.wrapped import SameRows, WrappedPartition

RowsLike = TypeVar("RowsLike", bound=RowsOperator | PeopleOperator)


def rescaled(operator: RowsLike, scale: FloatArray) -> RowsLike:
    """Return the operator of the same rows with every column, and the shift, divided by its scale.

    Numbers are divided one by one, so the result for a unit is still a function of that unit and of public
    numbers, to the bit. A row that overflows by the division is invalid.

    Examples
    --------
    >>> from eigenveil.operators import samples
    >>> halved = rescaled(samples.rows(np.array([[2.0, 3.0]])), np.array([2.0, 1.0]))
    >>> next(halved.source.blocks()).values.tolist()
    [[1.0, 3.0]]
    """
    shift = None if operator.shift is None else operator.shift / scale
    plain = replace(operator, source=RescaledSource(operator.source, scale), shift=None)
    return replace(plain, shift=None if shift is None else to_single(shift))


@dataclass(frozen=True, repr=False, eq=False)
class RescaledSource(SameRows):
    """The rows of another source, with every column divided by its scale."""

    scale: FloatArray

    def over(self, partition: Partition, number: int) -> Partition:  # noqa: ARG002
        """Yield the divided blocks."""
        return RescaledPartition(partition, self.scale)


@dataclass(frozen=True, repr=False, eq=False)
class RescaledPartition(WrappedPartition):
    """The blocks of another partition, divided column by column; single precision is kept."""

    scale: FloatArray

    def blocks(self) -> Iterator[Block]:
        """Yield the divided blocks."""
        for block in self.partition.blocks():
            yield Block(divided(block.values, self.scale), block.offsets)


def dense(values: Any) -> Any:
    """Return rows as a dense array."""
    thin = bool(sparse.issparse(values))
    return values.toarray() if thin else np.asarray(values)


def divided(values: Any, scale: FloatArray) -> Any:
    """Divide every column of dense or sparse (CSR) rows by its scale."""
    thin = bool(sparse.issparse(values))
    rows: Any = values if thin else np.asarray(values)
    by = scale.astype(rows.dtype)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # a warning would depend on the values
        if not thin:
            return np.ascontiguousarray(rows / by)
        return sparse.csr_array((rows.data / by[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
