"""People in memory: rows grouped by person, without a copy of all data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
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
from eigenveil.sources.kinds import is_text
from eigenveil.sources.memory.rows import Rows, RowsSource
from eigenveil.sources.people.normal_form import (
    exact_texts,
    is_blank,
    lost_digits,
    normal_text,
    normal_texts,
    number_or_text,
)
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
    numbers, text, dates, ...). Ids of lists and arrays of objects are compared by keys, one by one. Text that is a
    whole number is that number. An id that cannot be compared counts as missing. Ids are refused if most of the
    first ones are so.
    """
    listed = by_hand(units)
    if listed is None:
        plain = typed(units)
        if plain is None:
            raise _invalid_units_error(units)
        ids = exact(plain)
        refuse_odd(pc.count(plain[:HEAD]).as_py(), pc.count(ids[:HEAD]).as_py())
        return ids
    keys = [key_of(one) for one in listed]
    refuse_odd(count_present(listed[:HEAD]), sum(one is not None for one in keys[:HEAD]))
    return _arrow(keys)


def by_hand(units: Any) -> list[Any] | None:
    """Return the ids of a list or an array of objects, which are compared one by one; None for typed arrays."""
    series = _column(units)
    native = series.to_native() if isinstance(series, nw.Series) else series
    kind = getattr(native, "dtype", getattr(native, "type", None))
    untyped = kind is None or getattr(series, "dtype", None) == nw.Object
    # Arrow cannot order half floats, and refuses text with lone surrogates
    python = kind == np.dtype(object) or kind == np.dtype(np.float16) or getattr(kind, "kind", "") in ("U", "T")
    if not untyped and not python and not holds_python_text(kind):
        return None
    if isinstance(native, Mapping | AbstractSet):  # which have no order of rows
        raise _invalid_units_error(units)
    return attempt(lambda: list(native), _invalid_units_error(units), TypeError, ValueError)


def typed(units: Any) -> pa.Array | None:
    """Convert a typed array of ids to Arrow; return None if Arrow lacks the type or cannot sort it."""
    series = _column(units)
    with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        if isinstance(series, np.ndarray):  # Arrow takes only the byte order of the machine
            series = series.astype(series.dtype.newbyteorder("="))
        ids = sortable(series.to_arrow() if isinstance(series, nw.Series) else pa.array(series, from_pandas=True))
        pc.sort_indices(ids[:0])
        return ids
    return None


def _column(units: Any) -> Any:
    """Wrap a series of ids with narwhals; take the column of a frame that has only one."""
    series = nw.from_native(units, pass_through=True, allow_series=True)
    if not isinstance(series, nw.DataFrame):
        return series
    if series.shape[1] != 1:
        raise InvalidInputError(
            f"expected one id per row, got a frame of {series.shape[1]} columns.",
            hint="Pass one of its columns: units=frame['id'].",
        )
    return series[:, 0]


def sortable(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Convert ids to one array of a type that can be sorted; missing ids become null."""
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if isinstance(ids.type, pa.BaseExtensionType):
        ids = ids.storage
    if pa.types.is_null(ids.type) or pa.types.is_string_view(ids.type):
        ids = ids.cast(pa.large_string())
    if is_text(ids.type):
        ids = normal_texts(ids)
    if pa.types.is_floating(ids.type):
        ids = pc.if_else(pc.is_finite(ids), ids, pa.scalar(None, ids.type))
    return ids


def exact(ids: pa.Array, kind: pa.DataType | None = None) -> pa.Array:
    """Return the ids; floats so large that two whole numbers may be the same float become null, also as text.

    `kind` is the type to which the ids will be converted. pandas converts a column of whole numbers to floats if
    one id is missing, and people whose ids differ in the last digits would become one person.
    """
    if is_text(ids.type):
        return exact_texts(ids)
    kind = ids.type if kind is None else kind
    if not pa.types.is_floating(kind):
        return ids
    size = pc.abs(ids.cast(pa.float64(), safe=False))
    return pc.if_else(pc.less(size, _WHOLE_BELOW[kind.bit_width]), ids, pa.scalar(None, ids.type))


HEAD = 2000
"""Number of first ids that decide whether ids are refused as a whole."""


def refuse_odd(there: int, usable: int) -> None:
    """Refuse ids unless most of the first ones, missing ones excluded, can be used."""
    if there and 2 * usable <= there:
        raise InvalidInputError(
            "expected ids that can be compared, such as text, or whole numbers with all their digits; most of the "
            "first ids are something else, or floats so large that different ids may have become equal.",
            hint="Read ids as text or as nullable whole numbers when the file is read (pandas: read_csv(path, "
            "dtype={'id': str}), or 'Int64'). Converting floats does not bring lost digits back: a file that has "
            "floats must be written again from its origin. Write other ids as text, in one way everywhere.",
        )


def count_present(ids: list[Any]) -> int:
    """Return how many ids of a list are not missing."""
    return sum(not (is_missing(one) or (isinstance(one, str) and is_blank(one))) for one in ids)


_WHOLE_BELOW = {16: 2.0**11, 32: 2.0**24, 64: 2.0**53}
"""By the number of bits of a float: below this limit, no two whole numbers are the same float."""


def whole_below(floats: Any) -> float:
    """Return the limit below which no two whole numbers are the same float of this type.

    A plain Python float has 64 bits.
    """
    return _WHOLE_BELOW.get(8 * getattr(floats, "itemsize", 8), _WHOLE_BELOW[64])


def _invalid_units_error(units: Any) -> InvalidInputError:
    return InvalidInputError(
        f"expected units to be None, the name of a column, or one id per row; got {type(units).__name__}.",
        hint="Pass a 1-D array, list or series of whole numbers or text.",
    )


def _arrow(keys: list[Any]) -> pa.Array:
    """Convert keys to whole numbers: numbers in their order, then text, then others as they first appear."""
    fresh = dict.fromkeys(one for one in keys if one is not None)
    parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for one in fresh:
        parts[0 if isinstance(one, int | float) else 1 if isinstance(one, str) else 2].append(one)
    places = {one: place for place, one in enumerate([*sorted(parts[0]), *sorted(parts[1]), *parts[2]])}
    return pa.array([None if one is None else places[one] for one in keys], pa.int64())


def key_of(one: Any) -> Any:
    """Return the key by which an id is compared; None if the id is missing.

    Keys of equal ids are equal, and a key is a function of its id alone. An id that cannot be compared counts as
    missing: a list, a complex number, a float that may have lost digits, a tuple with a missing part.
    """
    with contextlib.suppress(Exception):  # an object may raise anything
        if not is_missing(one):
            return next(make(one) for types, make in _KEYS if isinstance(one, types))
    return None


def _key_of_text(one: Any) -> int | str | bytes | None:
    text = str(one)
    return None if is_blank(text) or lost_digits(text) else number_or_text(normal_text(text))


def _key_of_float(one: Any) -> int | float | None:
    number = float(one)
    if not abs(number) < whole_below(one):
        return None
    return int(number) if number.is_integer() else number


def _key_of_tuple(one: tuple[Any, ...]) -> tuple[Any, ...] | None:
    parts = tuple(map(key_of, one))  # Python finds nan in two tuples equal only if it is one object
    return None if None in parts else parts


def _key_of_object(one: Any) -> Any:
    hash(one)
    return one


_KEYS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, _key_of_text),
    (np.datetime64 | np.timedelta64, lambda one: (one.dtype.str, int(one.astype(np.int64)))),  # some equal numbers
    (int | np.integer | np.bool_, int),
    (float | np.floating, _key_of_float),
    (complex | np.complexfloating, lambda _: None),
    (tuple, _key_of_tuple),
    (object, _key_of_object),
)
"""Functions that make the key of an id of some types; the first matching type is used."""
