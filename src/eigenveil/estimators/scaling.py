"""Sources whose columns are divided by public scales, without copying the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import to_single
from eigenveil.operators import PeopleOperator, RowsOperator
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


def check_scale(scale: Any, d: int) -> FloatArray:
    """Return the scales as an array of d finite positive numbers, or raise."""
    return _numbers("scale", scale, d, positive=True)


def check_mean(mean: Any, d: int) -> FloatArray:
    """Return a public mean as an array of d finite numbers, or raise."""
    return _numbers("center", mean, d, positive=False)


def check_bounds(bounds: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """Return midpoints and half widths of public bounds (low, high), each a number or one per column.

    Examples
    --------
    >>> check_bounds((0, [10, 4]), 2)
    (array([5., 2.]), array([5., 2.]))
    """
    if not (isinstance(bounds, tuple | list | np.ndarray) and len(bounds) == 2):
        raise InvalidInputError(
            f"bounds must be a pair (low, high), got {type(bounds).__name__}.",
            hint="bounds=(0, 255), or a pair of arrays with one number per column.",
        )
    low, high = (
        _numbers("bounds", np.broadcast_to(one, d) if np.ndim(one) == 0 else one, d, positive=False)
        for one in bounds
    )
    if not np.all(low < high):
        raise InvalidInputError("bounds must have low below high in every column.")
    middle = np.asarray(to_single((low + high) / 2), dtype=np.float64)
    return middle, np.maximum(high - middle, middle - low)


def _numbers(name: str, values: Any, d: int, *, positive: bool) -> FloatArray:
    wanted = f"{d} finite numbers{' above 0' if positive else ''}, one per column"
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.shape != (d,):
        raise InvalidInputError(
            f"{name} must hold {wanted}, got an array of dtype {array.dtype} and shape {array.shape}."
        )
    out: FloatArray = array.astype(np.float64)
    with np.errstate(over="ignore"):
        single = out.astype(np.float32)
    if not np.all(np.isfinite(single)) or (positive and not np.all(single > 0)):
        raise InvalidInputError(f"{name} must hold {wanted}, but some are not (in single precision).")
    return out
