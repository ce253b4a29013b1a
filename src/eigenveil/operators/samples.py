"""Functions that declare what a unit is: rows, people, matrices, factors, spiked.

Examples
--------
>>> import numpy as np
>>> rows(np.eye(3)).d
3
>>> people(np.eye(3), ["ann", "bob", "ann"]).d
3
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil.errors import InvalidInputError
from eigenveil.operators.matrices import MatricesOperator
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator
from eigenveil.operators.spiked import SpikedOperator
from eigenveil.sources import Block, Layout, open_source
from eigenveil.sources.columns import name_of
from eigenveil.sources.memory.arrays import numbers_in


def rows(
    data: Any,
    *,
    columns: Sequence[str | int] | None = None,
    encode: Mapping[str, Any] | None = None,
    fill: float | Mapping[Any, float] | None = None,
) -> RowsOperator:
    """One unit per row of an array, a data frame, files or blocks.

    `columns`, `encode` and `fill` are as in `eigenveil.DPPCA`.
    """
    return RowsOperator.over(open_source(data, columns=columns, encode=encode, fill=fill))


def people(
    data: Any,
    units: Any,
    *,
    columns: Sequence[str | int] | None = None,
    encode: Mapping[str, Any] | None = None,
    fill: float | Mapping[Any, float] | None = None,
) -> PeopleOperator:
    """One unit per person. `units` is one id per row, or the name of the column with the ids.

    `columns`, `encode` and `fill` are as in `eigenveil.DPPCA`.
    """
    source = open_source(data, columns=columns, units=units, encode=encode, fill=fill)
    return PeopleOperator.over(source, by=name_of(units))


def matrices(values: npt.ArrayLike) -> MatricesOperator:
    """One unit per matrix of an array of shape (n, d, d), or of a list of matrices.

    A unit with an entry that is missing, masked or not a number is invalid.
    """
    array = numbers_in(values)
    if array.ndim != 3 or array.shape[1] != array.shape[2] or not array.shape[1]:
        raise InvalidInputError(
            f"expected square matrices in an array of shape (n, d, d), got shape {array.shape}.",
            hint="Pass rows to samples.rows, and lists of factors to samples.factors.",
        )
    return MatricesOperator(array)


def factors(values: Sequence[npt.ArrayLike]) -> PeopleOperator:
    """One unit per factor F of shape (m_i, d), with A = F^T F / m_i: a person with m_i rows.

    A row with an entry that is missing, masked or not a number is excluded.
    """
    arrays = [numbers_in(value).astype(np.float64, copy=False) for value in values]
    widths = {array.shape[1] if array.ndim == 2 else None for array in arrays}
    if len(widths) != 1 or None in widths or widths == {0}:
        shapes = sorted({array.shape for array in arrays})[:3]
        raise InvalidInputError(
            f"expected factors of shape (rows, d) with one d, got shapes such as {shapes}.",
            hint="Pass in a non-empty list of 2-D arrays with the same number of columns.",
        )
    return PeopleOperator(FactorSource(tuple(arrays)))


def spiked(directions: npt.ArrayLike, eigenvalues: npt.ArrayLike, noise: Any) -> SpikedOperator:
    """One unit V diag(l) V^T + z z^T per row z of `noise`; V are `directions` (d, k), l are `eigenvalues`."""
    V, spikes = (numbers_in(given).astype(np.float64) for given in (directions, eigenvalues))
    source = open_source(noise)
    if V.ndim != 2 or V.shape != (source.n_columns, spikes.size) or spikes.ndim != 1:
        raise InvalidInputError(
            f"expected directions of shape (d, k), k eigenvalues and rows of d columns, got shapes {V.shape}, "
            f"{spikes.shape} and {source.n_columns} columns."
        )
    if not (np.all(np.isfinite(V)) and np.all(np.isfinite(spikes))):
        raise InvalidInputError("expected directions and eigenvalues that are finite numbers.")
    return SpikedOperator(RowsOperator(source), V, spikes)


@dataclass(frozen=True)
class FactorSource:
    """A list of factors as blocks of people."""

    factors: tuple[npt.NDArray[np.float64], ...]
    columns: tuple[str, ...] | None = None
    layout: Layout = field(default_factory=Layout)
    rereadable: bool = True
    fixed_places: bool = True
    sparse: bool = False

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.factors[0].shape[1])

    def partitions(self) -> Sequence[FactorSource]:
        """Return one partition, which contains all factors and is pickled with them."""
        return (self,)

    def blocks(self) -> Iterator[Block]:
        """Yield one block per thousand units."""
        for start in range(0, len(self.factors), 1000):
            taken = self.factors[start : start + 1000]
            offsets = np.cumsum([0, *(len(factor) for factor in taken)])
            yield Block(np.concatenate(taken), offsets.astype(np.int64))
