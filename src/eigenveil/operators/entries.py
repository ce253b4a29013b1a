"""Per-column numbers of units: a unit's mean, or mean square, over its rows in each column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from eigenveil._typing import BoolArray, FloatArray, IntArray
from eigenveil.operators.operator import cut
from eigenveil.operators.people import PeopleOperator
from eigenveil.operators.rows import RowsOperator
from eigenveil.sources import Block

_ENTRIES_AT_A_TIME = 1 << 18
"""Entries of people's rows that are processed at a time. It determines how many columns (at least one) are."""

_SAFE_TO_SQUARE = 1e154
"""Numbers up to this size have finite squares."""


class Entries(NamedTuple):
    """Numbers, the column of each (an array that broadcasts with the numbers), and how often each occurs."""

    numbers: FloatArray
    columns: IntArray
    times: IntArray | int = 1


def column_entries(
    operator: RowsOperator | PeopleOperator, block: Block, columns: IntArray, *, squared: bool
) -> Iterator[Entries]:
    """Yield every unit's number in each of the given columns, which are numbered by position in `columns`.

    A row is invalid if any entry, in any of the d columns, is not finite or has a square that overflows. An
    invalid row is excluded from every column, as it is from sums of whole rows. A unit with no valid row gets
    numbers that are not finite. The zeros of sparse rows are reported as a count per column; no sparse block is
    made dense as a whole.
    """
    of_people = block.offsets is not None
    thin = operator.sparse and operator.removed is None
    made = _of_people if of_people else _of_sparse_rows if thin else _of_rows
    return made(operator, block, columns, squared=squared)


def _of_rows(operator: Any, block: Block, columns: IntArray, *, squared: bool) -> Iterator[Entries]:
    each = np.arange(len(columns))
    which = slice(None) if np.array_equal(columns, np.arange(operator.d)) else columns
    for where in cut(block.units, 64 * operator.d):  # 128 kB; larger pieces would allocate new memory
        rows = operator.dense(block.values[where])
        good = _with_finite_squares(rows)
        numbers = rows[:, which]
        with np.errstate(all="ignore"):
            numbers = numbers * numbers if squared else numbers
        yield Entries(numbers if good is None else np.where(good[:, None], numbers, np.nan), each)


def _of_sparse_rows(operator: Any, block: Block, columns: IntArray, *, squared: bool) -> Iterator[Entries]:
    values: Any = block.values
    place = np.full(operator.d, -1)
    place[columns] = np.arange(len(columns))
    shift = np.zeros(operator.d) if operator.shift is None else operator.shift
    good = _valid_sparse_rows(values, shift)
    column = place[values.indices]
    there = (column >= 0) & good[np.repeat(np.arange(block.units), np.diff(values.indptr))]
    column = column[there]
    absent = int(good.sum()) - np.bincount(column, minlength=len(columns))
    present = values.data[there].astype(np.float64) - shift[columns][column]
    zero = 0.0 - shift[columns]
    yield Entries(present * present if squared else present, column)
    yield Entries(zero * zero if squared else zero, np.arange(len(columns)), absent)


def _valid_sparse_rows(values: Any, shift: FloatArray) -> BoolArray:
    """Return which rows of a CSR array have finite squares only; entries that are not stored are zeros."""
    with np.errstate(all="ignore"):
        away = values.data.astype(np.float64) - shift[values.indices]
        bad = ~np.isfinite(away * away)
    good = np.ones(values.shape[0], dtype=bool)
    good[np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))[bad]] = False
    return good


def _of_people(operator: Any, block: Block, columns: IntArray, *, squared: bool) -> Iterator[Entries]:
    assert block.offsets is not None, "people have offsets"
    thin, values = bool(sparse.issparse(block.values)), cast("Any", block.values)
    person = np.repeat(np.arange(block.units), np.diff(block.offsets))
    good = _valid_rows(operator, values)
    if not good.all():
        values, person = (values if thin else np.asarray(values))[good], person[good]
    counts = np.bincount(person, minlength=block.units)
    values = values.tocsc() if thin else np.asarray(values)
    width = max(1, _ENTRIES_AT_A_TIME // max(1, person.size))
    for start in range(0, len(columns), width):
        some = columns[start : start + width]
        plain: Any = values[:, some]
        rows = np.asarray(plain.toarray() if thin else plain, dtype=np.float64)
        rows = rows if operator.shift is None else rows - operator.shift[some]
        sums = _sums(rows * rows if squared else rows, person, block.units)
        with np.errstate(invalid="ignore"):
            yield Entries(sums / counts[:, None], np.arange(start, start + len(some)))


def _valid_rows(operator: Any, values: Any) -> BoolArray:
    if sparse.issparse(values):
        return _valid_sparse_rows(values, np.zeros(operator.d) if operator.shift is None else operator.shift)
    good = np.ones(values.shape[0], dtype=bool)
    for where in cut(values.shape[0], 16 * operator.d):
        some = _with_finite_squares(operator.dense(values[where]))
        if some is not None:
            good[where] = some
    return good


def _with_finite_squares(rows: FloatArray) -> BoolArray | None:
    """Return which rows have finite squares only, or None if all rows do."""
    with np.errstate(all="ignore"):
        if np.min(rows, initial=0.0) >= -_SAFE_TO_SQUARE and np.max(rows, initial=0.0) <= _SAFE_TO_SQUARE:
            return None
        good: BoolArray = np.all(np.isfinite(rows * rows), axis=1)
        return good


def _sums(numbers: FloatArray, person: IntArray, units: int) -> FloatArray:
    """Return the sum over each person's rows, per column; rows are added in order."""
    width = numbers.shape[1]
    key = (person[:, None] * width + np.arange(width)).ravel()
    sums = np.bincount(key, weights=numbers.ravel(), minlength=units * width)
    return sums.reshape(units, width).astype(np.float64, copy=False)
