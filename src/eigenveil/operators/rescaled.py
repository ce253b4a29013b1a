"""Operators whose columns are divided by public scales, without copying the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.kernels import Columns, Rescaled, to_single
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator
from eigenveil.sources import Block, Partition
from eigenveil.sources.wrapped import SameRows, WrappedPartition

RowsLike = TypeVar("RowsLike", bound=RowsOperator | PeopleOperator)

_SMALLEST = 2.0**-1000
"""Products of scales are used if they lie between this number and its inverse."""


def rescaled(operator: RowsLike, scale: FloatArray) -> RowsLike:
    """Return the operator of the same rows with every column, and the shift, divided by its scale.

    Numbers are divided one by one, so the result for a unit is still a function of that unit and of public
    numbers, to the bit. Numbers of dense rows are multiplied by 1/scale as computed, because a division takes much
    longer. A row that overflows is invalid; all are if a scale is below 2^-1024. If rows are rescaled twice, they
    are multiplied once, by the inverse of the product of both scales.

    Examples
    --------
    >>> from eigenveil.operators import samples
    >>> halved = rescaled(samples.rows(np.array([[2.0, 3.0]])), np.array([2.0, 1.0]))
    >>> np.asarray(next(halved.source.blocks()).values).tolist()
    [[1.0, 3.0]]
    """
    shift = None if operator.shift is None else operator.shift / scale
    source, whole = operator.source, scale
    if isinstance(source, RescaledSource):
        with np.errstate(over="ignore", under="ignore"):
            product = source.scale * scale
        if np.all((product >= _SMALLEST) & (product <= 1 / _SMALLEST)):
            source, whole = source.source, product
    plain = replace(operator, source=RescaledSource(source, whole), shift=None)
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
    """The blocks of another partition, divided column by column; single precision is kept.

    Dense rows are divided by the loops that take them, a few rows at a time.
    """

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
    """Divide every column of dense or sparse (CSR) rows by its scale; dense rows are `Rescaled`."""
    rows: Any = values
    with np.errstate(all="ignore"):  # a warning would depend on the values
        if not sparse.issparse(values):
            return Rescaled(rows if isinstance(rows, Columns) else np.asarray(rows), 1 / scale)
        data = (rows.data / scale[rows.indices]).astype(rows.dtype, copy=False)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
