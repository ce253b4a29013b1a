"""The columns of units one by one: a unit has a number in each, the mean of its rows there or of their squares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from eigenveil._typing import FloatArray, IntArray
from eigenveil.operators.operator import cut
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator
from eigenveil.sources import Block

_MANY = 1 << 18
"""Entries of rows of people that are handled at a time: as many columns as that makes, at least one."""


class Entries(NamedTuple):
    """Numbers, the columns that they are of (an array that broadcasts with them), and how often each is there."""

    numbers: FloatArray
    columns: IntArray
    times: IntArray | int = 1


def column_entries(
    operator: RowsOperator | PeopleOperator, block: Block, columns: slice, *, squared: bool
) -> Iterator[Entries]:
    """Every unit's number in each of some columns, which are counted from the first of them.

    A row that is bad in one column, not finite or with a square that overflows, is left out there and nowhere
    else. A unit with no row left in a column comes out as a number that is not finite. The zeros of sparse rows
    are told by how many there are; no block of them is made dense as a whole.
    """
    of_people = block.offsets is not None
    thin = operator.sparse and operator.removed is None
    made = _of_people if of_people else _of_sparse_rows if thin else _of_rows
    return made(operator, block, range(operator.d)[columns], squared=squared)


def _of_rows(operator: Any, block: Block, columns: range, *, squared: bool) -> Iterator[Entries]:
    each = np.arange(len(columns))
    for where in cut(block.units, 64 * len(columns)):  # pieces of 128 kB: larger ones get fresh memory each time
        rows = _less_shift(operator, block.values[where], columns)
        yield Entries(_square(rows) if squared else rows, each)


def _of_sparse_rows(operator: Any, block: Block, columns: range, *, squared: bool) -> Iterator[Entries]:
    values: Any = block.values
    there = (values.indices >= columns.start) & (values.indices < columns.stop)
    each, column = np.arange(len(columns)), values.indices[there].astype(np.int64) - columns.start
    shift = np.zeros(len(columns)) if operator.shift is None else operator.shift[columns.start : columns.stop]
    absent = block.units - np.bincount(column, minlength=len(columns))
    with np.errstate(invalid="ignore", over="ignore"):
        present, zero = values.data[there].astype(np.float64) - shift[column], 0.0 - shift
    yield Entries(_square(present) if squared else present, column)
    yield Entries(_square(zero) if squared else zero, each, absent)


def _of_people(operator: Any, block: Block, columns: range, *, squared: bool) -> Iterator[Entries]:
    assert block.offsets is not None, "people have offsets"
    thin, values = bool(sparse.issparse(block.values)), cast("Any", block.values)
    values = values.tocsc() if thin else np.asarray(values)
    person = np.repeat(np.arange(block.units), np.diff(block.offsets))
    width = max(1, _MANY // max(1, person.size))
    for start in range(0, len(columns), width):
        some = columns[start : start + width]
        rows = _less_shift(operator, values, some)
        yield Entries(_means(rows, person, block.units, squared=squared), np.arange(start, start + len(some)))


def _means(rows: FloatArray, person: IntArray, units: int, *, squared: bool) -> FloatArray:
    """The mean of each person's good rows, or of their squares, by column; rows are added in their order."""
    squares, width = _square(rows), rows.shape[1]
    good = np.isfinite(squares)
    key = (person[:, None] * width + np.arange(width)).ravel()
    numbers = np.where(good, squares if squared else rows, 0.0)
    sums, counts = (
        np.bincount(key, weights=weights.ravel(), minlength=units * width).reshape(units, width)
        for weights in (numbers, good)
    )
    with np.errstate(invalid="ignore"):
        means: FloatArray = sums / counts
    return means


def _less_shift(operator: Any, values: Any, columns: range) -> FloatArray:
    """Some columns of rows, dense and less the shift."""
    where = slice(columns.start, columns.stop)
    if operator.removed is not None:
        projected: FloatArray = operator.dense(values)[:, where]
        return projected
    thin = bool(sparse.issparse(values))
    plain = values[:, where].toarray() if thin else np.asarray(values)[:, where]
    with np.errstate(invalid="ignore", over="ignore"):
        rows: FloatArray = np.asarray(plain, dtype=np.float64)
        return rows if operator.shift is None else rows - operator.shift[where]


def _square(numbers: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        return numbers * numbers
