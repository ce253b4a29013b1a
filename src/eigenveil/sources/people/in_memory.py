"""People in memory: rows grouped by person, without a copy of all data."""

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
    """A source of people: a unit is all rows with the same id, in their original order.

    People are in ascending order of their ids, so the position of a person depends on the ids of others. Rows
    without an id are excluded. All people are one partition; a distributed version would first move the rows of
    each person to one place (a shuffle by a keyed hash of the id).
    """

    fixed_places: ClassVar[bool] = False
    order: IntArray
    bounds: IntArray

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of whole people: as many as fit in a block, and at least one."""
        height = rows_per_block(self.rows.row_bytes)
        first, end = 0, len(self.bounds) - 1
        while first < end:
            fitting = np.searchsorted(self.bounds, self.bounds[first] + height, side="right") - 1
            last = max(first + 1, int(fitting))
            offsets = self.bounds[first : last + 1]
            yield Block(self._at(self.order[offsets[0] : offsets[-1]]), offsets - offsets[0])
            first = last

    def _at(self, index: IntArray) -> Values:
        """Return the rows at these positions; consecutive rows are read as a slice."""
        follow = index.size > 0 and bool(np.all(np.diff(index) == 1))
        return self.rows.between(int(index[0]), int(index[-1]) + 1) if follow else self.rows.at(index)


def name_of(units: Any) -> str | None:
    """Return the name of ids, that of their column or series; None if they have none. Column names are public.

    Examples
    --------
    >>> import pandas
    >>> name_of("patient"), name_of(pandas.Series([7, 8], name="patient")), name_of(np.array([7, 8]))
    ('patient', 'patient', None)
    """
    if isinstance(units, str):
        return units
    series = nw.from_native(units, pass_through=True, allow_series=True)
    name = series.name if isinstance(series, nw.Series) else None
    return name if isinstance(name, str) and name else None


def group(rows: Rows, units: Any) -> PeopleSource:
    """Group rows by person, with the ids or the name of the unit column."""
    ids = to_ids(rows.ids(units))
    check_length(ids, rows.n_rows)
    order = pc.sort_indices(ids).to_numpy().astype(np.int64)[: len(ids) - ids.null_count]
    fresh = starts(ids.take(pa.array(order)), previous=None)
    return PeopleSource(rows, order, np.append(np.flatnonzero(fresh), len(order)).astype(np.int64))


def check_length(ids: pa.Array, n_rows: int) -> None:
    """Refuse ids unless there is one id per row."""
    if len(ids) != n_rows:
        raise InvalidInputError(
            f"expected one id per row, got {len(ids)} ids for {n_rows} rows.",
            hint="units=[...] must contain the id of each row's person, in the order of the rows.",
        )


def starts(ids: pa.Array, *, previous: pa.Scalar | None) -> npt.NDArray[np.bool_]:
    """Return for each of the sorted ids whether it differs from the id before it."""
    fresh = np.ones(len(ids), dtype=bool)
    if len(ids) > 0:
        fresh[0] = previous is None or bool(pc.not_equal(ids[0], previous).as_py())
        fresh[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return fresh


def to_ids(units: Any) -> pa.Array:
    """Convert ids to an Arrow array that can be sorted; missing ids become null.

    Whether two ids are equal does not depend on any other id. Arrow compares the ids of arrays of one type (whole
    numbers, text, dates, ...). Python compares the ids of lists and arrays of objects, one by one.
    """
    keys = keys_of(units)
    ids = typed(units) if keys is None else _arrow(keys)
    if ids is None:
        raise _invalid_units_error(units)
    return exact(ids)


def keys_of(units: Any) -> list[Any] | None:
    """Return the keys by which the ids of a list or an array of objects are compared; None for typed arrays."""
    series = nw.from_native(units, pass_through=True, allow_series=True)
    native = series.to_native() if isinstance(series, nw.Series) else series
    kind = getattr(native, "dtype", getattr(native, "type", None))
    untyped = kind is None or getattr(series, "dtype", None) == nw.Object
    by_hand = [np.dtype(object), np.dtype(np.float16)]  # Arrow cannot order half floats
    if not untyped and not any(kind == one for one in by_hand) and not holds_python_text(kind):
        return None
    ids = attempt(lambda: list(native), _invalid_units_error(units), TypeError, ValueError)
    keys = [_key(one) for one in ids]
    if not all(map(is_missing, ids)) and all(one is None for one in keys):
        raise _invalid_units_error(units)
    return keys


def typed(units: Any) -> pa.Array | None:
    """Convert a typed array of ids to Arrow; return None if Arrow lacks the type or cannot sort it."""
    series = nw.from_native(units, pass_through=True, allow_series=True)
    with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        ids = sortable(series.to_arrow() if isinstance(series, nw.Series) else pa.array(series, from_pandas=True))
        pc.sort_indices(ids[:0])
        return ids
    return None


def sortable(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Convert ids to one array of a type that can be sorted; missing ids become null."""
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
    """Return the ids; refuse floats so large that two whole numbers may be the same float.

    `kind` is the type to which the ids will be converted. pandas converts a column of whole numbers to floats if
    one id is missing, and people whose ids differ in the last digits would become one person.
    """
    kind = ids.type if kind is None else kind
    if pa.types.is_floating(kind) and len(ids):
        limit = _WHOLE_BELOW[kind.bit_width]
        largest = pc.max(pc.abs(ids.cast(pa.float64(), safe=False))).as_py()
        if largest is not None and largest >= limit:
            raise _lost_digits_error(limit)
    return ids


_WHOLE_BELOW = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}
"""By the number of bits of a float: below this limit, no two whole numbers are the same float."""


def whole_below(floats: Any) -> float:
    """Return the limit below which no two whole numbers are the same float of this type.

    A plain Python float has 64 bits.
    """
    return _WHOLE_BELOW.get(8 * getattr(floats, "itemsize", 8), _WHOLE_BELOW[64])


def _lost_digits_error(limit: float) -> InvalidInputError:
    return InvalidInputError(
        f"expected ids with all their digits, got floats of {limit:.0f} or more: different ids may have "
        "become equal.",
        hint="Read or cast ids as text, or as nullable whole numbers (pandas: dtype 'Int64').",
    )


def _invalid_units_error(units: Any) -> InvalidInputError:
    return InvalidInputError(
        f"expected units to be None, the name of a column, or one id per row; got {type(units).__name__}.",
        hint="Pass a 1-D array, list or series of whole numbers or text.",
    )


def _arrow(keys: list[Any]) -> pa.Array:
    """Convert keys to whole numbers or text if all are, else to numbers in the order of first appearance."""
    there = [one for one in keys if one is not None]
    with contextlib.suppress(pa.ArrowException, OverflowError, ValueError):
        if all(type(one) is int for one in there):
            return pa.array(keys, pa.int64())
        if all(type(one) is str for one in there):
            return pa.array(keys, pa.string())
    numbers: dict[Any, int] = {}
    return pa.array([None if one is None else numbers.setdefault(one, len(numbers)) for one in keys], pa.int64())


def _key(one: Any) -> Any:
    """Return the key by which an id is compared; None if the id is missing.

    Keys of equal ids are equal, and a key is a function of its id alone. An id that cannot be compared, such as a
    list or a complex number, counts as missing.
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
        raise _lost_digits_error(limit)
    return int(one) if one.is_integer() else one
