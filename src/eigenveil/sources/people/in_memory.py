"""People in memory: the rows of one person brought together, without copying the data as a whole."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eigenveil._typing import IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.guard import attempt, holds_python_text, is_missing
from eigenveil.sources.memory.rows import Rows, RowsSource
from eigenveil.sources.source import Block, Values, rows_per_block


@dataclass(frozen=True, repr=False, eq=False)
class PeopleSource(RowsSource):
    """A source in which a person is a unit: all rows with the same id, in their original order.

    People come in ascending order of their ids, so a person's place depends on the ids of others. Rows without an
    id are left out. All people are one partition; a distributed form would first bring the rows of each person
    together in one place (a shuffle by a keyed hash of the id).
    """

    fixed_places: ClassVar[bool] = False
    order: IntArray
    bounds: IntArray

    def blocks(self) -> Iterator[Block]:
        """Whole people, as many as fit in a block and at least one."""
        height = rows_per_block(self.rows.row_bytes)
        first, end = 0, len(self.bounds) - 1
        while first < end:
            fitting = np.searchsorted(self.bounds, self.bounds[first] + height, side="right") - 1
            last = max(first + 1, int(fitting))
            offsets = self.bounds[first : last + 1]
            yield Block(self._at(self.order[offsets[0] : offsets[-1]]), offsets - offsets[0])
            first = last

    def _at(self, index: IntArray) -> Values:
        """Rows at these positions; where they follow each other nothing need be gathered."""
        follow = index.size > 0 and bool(np.all(np.diff(index) == 1))
        return self.rows.between(int(index[0]), int(index[-1]) + 1) if follow else self.rows.at(index)


def group(rows: Rows, units: Any) -> PeopleSource:
    """Bring together the rows of each person, by ids or by the name of the unit column."""
    ids = to_ids(rows.ids(units))
    check_length(ids, rows.n_rows)
    order = pc.sort_indices(ids).to_numpy().astype(np.int64)[: len(ids) - ids.null_count]
    fresh = starts(ids.take(pa.array(order)), previous=None)
    return PeopleSource(rows, order, np.append(np.flatnonzero(fresh), len(order)).astype(np.int64))


def check_length(ids: pa.Array, n_rows: int) -> None:
    """Refuse ids that are not one per row."""
    if len(ids) != n_rows:
        raise InvalidInputError(
            f"expected one id per row, got {len(ids)} ids for {n_rows} rows.",
            hint="units=[...] holds the id of each row's person, in the order of the rows.",
        )


def starts(ids: pa.Array, *, previous: pa.Scalar | None) -> npt.NDArray[np.bool_]:
    """Whether each of the sorted ids is another one than that before it."""
    fresh = np.ones(len(ids), dtype=bool)
    if len(ids) > 0:
        fresh[0] = previous is None or bool(pc.not_equal(ids[0], previous).as_py())
        fresh[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return fresh


def to_ids(units: Any) -> pa.Array:
    """Ids as an Arrow array that can be sorted; ids that are missing become null.

    Which ids are the same does not depend on any other id. Arrays of one type (whole numbers, text, dates, ...)
    are compared as Arrow does, and lists and arrays of objects one by one, as Python does.
    """
    keys = keys_of(units)
    ids = typed(units) if keys is None else _arrow(keys)
    if ids is None:
        raise _unfit(units)
    return exact(ids)


def keys_of(units: Any) -> list[Any] | None:
    """What each id of a list, or of an array of objects, is compared by; None for arrays that have a type."""
    series = nw.from_native(units, pass_through=True, allow_series=True)
    native = series.to_native() if isinstance(series, nw.Series) else series
    kind = getattr(native, "dtype", getattr(native, "type", None))
    untyped = kind is None or getattr(series, "dtype", None) == nw.Object
    by_hand = [np.dtype(object), np.dtype(np.float16)]  # Arrow cannot order half floats
    if not untyped and not any(kind == one for one in by_hand) and not holds_python_text(kind):
        return None
    ids = attempt(lambda: list(native), _unfit(units), TypeError, ValueError)
    keys = [_key(one) for one in ids]
    if not all(map(is_missing, ids)) and all(one is None for one in keys):
        raise _unfit(units)
    return keys


def typed(units: Any) -> pa.Array | None:
    """Ids that have a type, as Arrow has them; None where it has no such type or no order for it."""
    series = nw.from_native(units, pass_through=True, allow_series=True)
    with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        ids = sortable(series.to_arrow() if isinstance(series, nw.Series) else pa.array(series, from_pandas=True))
        pc.sort_indices(ids[:0])
        return ids
    return None


def sortable(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Ids in one piece and of a type with an order; ids that are missing become null."""
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if isinstance(ids.type, pa.BaseExtensionType):
        ids = ids.storage
    if pa.types.is_null(ids.type):
        ids = ids.cast(pa.string())
    if pa.types.is_floating(ids.type):
        ids = pc.if_else(pc.is_finite(ids), ids, pa.scalar(None, ids.type))
    return ids


def exact(ids: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    """The ids, if none is so large that two whole numbers may share a float; `kind` is the type they are to get.

    A column of whole numbers becomes one of floats as soon as pandas finds a missing id in it, and people whose
    ids differ in the last digits would become one.
    """
    kind = ids.type if kind is None else kind
    if pa.types.is_floating(kind) and len(ids):
        limit = _WHOLE_BELOW[kind.bit_width]
        largest = pc.max(pc.abs(ids.cast(pa.float64(), safe=False))).as_py()
        if largest is not None and largest >= limit:
            raise _lost_digits(limit)
    return ids


_WHOLE_BELOW = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}
"""By the bits of a float: below this, no two whole numbers share a float."""


def whole_below(floats: Any) -> float:
    """Below this, no two whole numbers share a float of this type; a plain Python float has 64 bits."""
    return _WHOLE_BELOW.get(8 * getattr(floats, "itemsize", 8), _WHOLE_BELOW[64])


def _lost_digits(limit: float) -> InvalidInputError:
    return InvalidInputError(
        f"expected ids that keep all their digits, got floats of {limit:.0f} or more: different ids may have "
        "become one.",
        hint="Read or cast ids as text, or as whole numbers that may be missing (pandas: dtype 'Int64').",
    )


def _unfit(units: Any) -> InvalidInputError:
    return InvalidInputError(
        f"expected units to be None, the name of a column, or one id per row; got {type(units).__name__}.",
        hint="Pass a 1-D array, list or series of whole numbers or text.",
    )


def _arrow(keys: list[Any]) -> pa.Array:
    """Keys as whole numbers or text where all are, else numbered as they first appear."""
    there = [one for one in keys if one is not None]
    with contextlib.suppress(pa.ArrowException, OverflowError, ValueError):
        if all(type(one) is int for one in there):
            return pa.array(keys, pa.int64())
        if all(type(one) is str for one in there):
            return pa.array(keys, pa.string())
    numbers: dict[Any, int] = {}
    return pa.array([None if one is None else numbers.setdefault(one, len(numbers)) for one in keys], pa.int64())


def _key(one: Any) -> Any:
    """What an id is compared by: equal for equal ids, and a function of this id alone; None if it is missing.

    What cannot be compared, as a list or a complex number, counts as missing.
    """
    if is_missing(one) or isinstance(one, complex | np.complexfloating):
        return None
    if isinstance(one, str):
        return str(one)
    if isinstance(one, int | np.integer | np.bool_):
        return int(one)
    if isinstance(one, float | np.floating):
        return _key_of_float(float(one), whole_below(one))
    with contextlib.suppress(TypeError, ValueError, ArithmeticError):
        hash(one)
        return one
    return None


def _key_of_float(one: float, limit: float) -> int | float | None:
    if math.isinf(one):
        return None
    if abs(one) >= limit:
        raise _lost_digits(limit)
    return int(one) if one.is_integer() else one
