"""Encodings of columns that are not numeric: categories by a public list, dates by a public origin.

Every value is encoded separately: the encoding of a row is a function of that row and the declared settings alone,
to the bit. No value raises an error: a value that is not in the list becomes all zeros, and a value that is not a
date becomes missing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.guard import is_missing
from eigenveil.sources.kinds import ColumnType, Kind, is_text

_PER_DAY = {"days": 1, "hours": 24, "minutes": 1440, "seconds": 86400}
_SINCE = re.compile(rf"({'|'.join(_PER_DAY)}) since (\S.*)")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DATE = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<part>[0-9]{1,9})[0-9]*)?)?Z?)?$"
)
"""Dates in text: 2020-01-31; with a time of day, 2020-01-31 12:30 or 2020-01-31T12:30:00.5Z."""


@dataclass(frozen=True)
class Categories:
    """One-hot encoding by a public list: one column of 0 and 1 per entry; a value not in the list is all zeros.

    Parameters
    ----------
    labels : tuple of str
        The entries of the list, as text.

    Notes
    -----
    The comparison depends on the type of the column. Text is compared by its characters. Whole numbers and other
    numbers are compared by their value, so 1 and 1.0 are equal. Truth values are compared with true and false, or
    1 and 0. Categorical columns are compared by the value, not by its code. Objects in a pandas column are
    compared by the text that `text_of` returns.

    Examples
    --------
    >>> sites = Categories(("north", "south"))
    >>> [column.tolist() for column in sites.read(pa.array(["south", None, "moon", "north"]))]
    [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    """

    labels: tuple[str, ...]

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of the encoded columns."""
        return tuple(f"{column}={label}" for label in self.labels)

    @property
    def plain(self) -> list[str]:
        """The list as the user writes it."""
        return list(self.labels)

    @property
    def all_numbers(self) -> bool:
        """Whether all entries of the list can be read as numbers."""
        return all(_number(label) is not None for label in self.labels)

    def check(self, column: str, type_: ColumnType) -> None:
        """Refuse a column whose type cannot hold the entries of the list, or holds dates."""
        if type_.kind in (Kind.DATE, Kind.OTHER):
            raise InvalidInputError(
                f"expected a column of text, whole numbers or truth values for a list of values, but {column!r} "
                f"holds {type_.kind} ({type_.name}).",
                hint=f"For dates give an origin: encode={{{column!r}: 'days since 2000-01-01'}}."
                if type_.kind is Kind.DATE
                else "Write one value per row, as text.",
            )
        read = [_READERS[type_.kind](label) for label in self.labels]
        if None in read:
            wrong = self.labels[read.index(None)]
            raise InvalidInputError(
                f"column {column!r} holds {type_.kind} ({type_.name}), but the entry {wrong!r} of its list is not "
                "of that kind.",
                hint="Write the values in the list as they are in the column.",
            )
        if len(set(read)) != len(read):
            raise InvalidInputError(f"the list of column {column!r} contains a value twice.")

    def read(self, values: pa.Array) -> list[FloatArray]:
        """Return a column of 0 and 1 for every entry of the list."""
        codes = self._codes(values.dictionary_decode() if pa.types.is_dictionary(values.type) else values)
        return [(codes == place).astype(np.float64) for place in range(len(self.labels))]

    def _codes(self, values: pa.Array) -> IntArray:
        """Return the position of every value in the list, -1 if it is not in the list."""
        import pyarrow.compute as pc  # noqa: PLC0415  # heavy, and only for columns that are encoded

        kind, known = self._compared_as(values.type)
        if kind is None:
            return np.full(len(values), -1, dtype=np.int64)
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.string())
        plain = values.cast(kind, safe=False)
        if kind == pa.float64():
            plain = pc.add(plain, 0.0)  # -0.0 is 0.0
        # an entry that the type cannot hold is None in the list; a missing value must not match it
        places = pc.index_in(plain, value_set=pa.array(known, kind), skip_nulls=True).fill_null(-1)
        return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _compared_as(self, kind: pa.DataType) -> tuple[pa.DataType | None, list[Any]]:
        """Return the type in which values of a column of type `kind` are compared, and the list in that type."""
        types = pa.types
        if is_text(kind):
            return pa.large_string(), list(self.labels)
        if types.is_boolean(kind):
            return pa.bool_(), [_truth(label) for label in self.labels]
        if types.is_integer(kind):
            wide = pa.uint64() if types.is_unsigned_integer(kind) else pa.int64()
            low, high = (0, 2**64) if types.is_unsigned_integer(kind) else (-(2**63), 2**63)
            whole = [_whole(label) for label in self.labels]
            return wide, [one if one is not None and low <= one < high else None for one in whole]
        if types.is_floating(kind) or types.is_decimal(kind):
            return pa.float64(), [_number(label) for label in self.labels]
        return None, []  # a column of nulls


@dataclass(frozen=True)
class Since:
    """Encoding of dates as the time since a public origin.

    Parameters
    ----------
    plain : str
        For example "days since 2020-01-01". The unit is days, hours, minutes or seconds; the origin may have a
        time of day.

    Notes
    -----
    Valid columns hold dates, dates with times, or text in which dates are written as 2020-01-31, 2020-01-31 12:30
    or 2020-01-31T12:30:00Z. Times with a zone are converted to UTC, and so is the origin. Text that is not such a
    date, for example 2020-02-30, becomes missing.

    Examples
    --------
    >>> Since("days since 2020-01-01").read(pa.array(["2020-01-03", "2019-12-31 12:00", "soon"]))[0].tolist()
    [2.0, -0.5, nan]
    """

    plain: str

    def __post_init__(self) -> None:
        self._parsed  # noqa: B018  # parsing checks the text

    def names(self, column: str) -> tuple[str, ...]:
        """Return the name of the column, which does not change."""
        return (column,)

    def check(self, column: str, type_: ColumnType) -> None:
        """Refuse a column whose type holds neither dates nor text."""
        if type_.kind not in (Kind.DATE, Kind.TEXT):
            raise InvalidInputError(
                f"expected a column of dates or of text for {self.plain!r}, but {column!r} holds {type_.kind} "
                f"({type_.name}).",
                hint=f"Remove {column!r} from encode={{...}} if it holds numbers.",
            )

    def read(self, values: pa.Array) -> list[FloatArray]:
        """Return one column of numbers, with nan where there is no date."""
        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        unit, origin = self._parsed
        days, seconds, there = _days_and_seconds(plain)
        first = (origin.date() - date(1970, 1, 1)).days
        rest = (origin - datetime.combine(origin.date(), datetime.min.time())).total_seconds()
        per = _PER_DAY[unit]
        with np.errstate(over="ignore"):
            passed = (days - first).astype(np.float64) * per + (seconds - rest) / (86400 / per)
        return [np.where(there, passed, np.nan)]

    @cached_property
    def _parsed(self) -> tuple[str, datetime]:
        """The unit of time, and the origin in UTC."""
        match = _SINCE.fullmatch(self.plain)
        if match is not None:
            with contextlib.suppress(ValueError, OverflowError):
                return match[1], _in_utc(datetime.fromisoformat(match[2]))
        raise InvalidInputError(
            f"expected a list of values, or an origin such as 'days since 2000-01-01', got {self.plain!r}.",
            hint=f"Units are {', '.join(_PER_DAY)}; the origin is a date, or a date and a time, as in ISO 8601.",
        )


Encoding: TypeAlias = Categories | Since


def read_encoding(column: str, given: Any) -> Encoding:
    """Parse an encoding: a list of values, or text such as "days since 2020-01-01"."""
    if isinstance(given, Categories | Since):
        return given
    if isinstance(given, str):
        return Since(given)
    listed = hasattr(given, "__len__") and hasattr(given, "__iter__")
    if not listed or isinstance(given, Mapping | AbstractSet | bytes):
        raise InvalidInputError(
            f"expected a list of values for column {column!r}, got {type(given).__name__}.",
            hint=f"For categories encode={{{column!r}: ['a', 'b']}}, for dates "
            f"encode={{{column!r}: 'days since 2000-01-01'}}.",
        )
    labels = [text_of(one) for one in given]
    if not labels or None in labels or len(set(labels)) != len(labels):
        raise InvalidInputError(
            f"expected a list of text, whole numbers or truth values for column {column!r}, each once.",
            hint="The list must be public: a list made from the data would reveal that somebody has a value.",
        )
    return Categories(tuple(label for label in labels if label is not None))


def text_of(one: Any) -> str | None:
    """Convert one object to text; return None if it is missing or cannot be converted.

    Text stays as it is, numbers are written in digits (1 and 1.0 give the same text), truth values as True and
    False, dates as in ISO 8601.

    Examples
    --------
    >>> [text_of(one) for one in ("a", 1, 1.0, 2.5, True, date(2020, 1, 31), None, [1])]
    ['a', '1', '1', '2.5', 'True', '2020-01-31', None, None]
    """
    with contextlib.suppress(Exception):  # comparing an object may raise any exception
        if not is_missing(one):
            return next((write(one) for types, write in _WRITERS if isinstance(one, types)), None)
    return None


def _digits(number: float) -> str | None:
    if not np.isfinite(number):
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def _in_utc(time: datetime) -> datetime:
    """Convert a time to UTC and drop its zone; a time without a zone stays unchanged."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


_WRITERS: tuple[tuple[Any, Callable[[Any], str | None]], ...] = (
    (str, lambda one: one.encode().decode()),  # a lone surrogate cannot be encoded
    (bool | np.bool_, lambda one: str(bool(one))),
    (int | np.integer, lambda one: str(int(one))),
    (float | np.floating | Decimal, lambda one: _digits(float(one))),
    (datetime, lambda one: _in_utc(one).isoformat()),
    (date, lambda one: one.isoformat()),
)
"""Functions that write objects of some types as text; the first matching type is used."""


def _whole(label: str) -> int | None:
    return int(label) if re.fullmatch(r"[+-]?[0-9]{1,30}", label) else None


def _number(label: str) -> float | None:
    with contextlib.suppress(ValueError):
        number = float(label)
        return number + 0.0 if np.isfinite(number) else None
    return None


def _truth(label: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(label.lower())


_READERS: dict[Kind, Any] = {Kind.TEXT: str, Kind.WHOLE: _whole, Kind.NUMBER: _number, Kind.TRUTH: _truth}


# -- dates -----------------------------------------------------------------------------------------


def _days_and_seconds(values: pa.Array) -> tuple[IntArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return days since 1970-01-01, seconds of the day, and whether there is a date at all."""
    if is_text(values.type):
        return _days_in_text(values)
    there = ~_mask(values.is_null())
    if pa.types.is_date32(values.type):
        days = _integers(values.cast(pa.int32()))
        return days, np.zeros(len(days)), there
    if pa.types.is_date64(values.type) or pa.types.is_timestamp(values.type):
        unit = "ms" if pa.types.is_date64(values.type) else values.type.unit
        days, rest = np.divmod(_integers(values.cast(pa.int64())), 86400 * _PER_SECOND[unit])
        return days, rest / _PER_SECOND[unit], there
    return np.zeros(len(values), np.int64), np.zeros(len(values)), np.zeros(len(values), bool)  # a column of nulls


def _days_in_text(texts: pa.Array) -> tuple[IntArray, FloatArray, npt.NDArray[np.bool_]]:
    import pyarrow.compute as pc  # noqa: PLC0415

    found = pc.extract_regex(pc.ascii_trim_whitespace(texts.cast(pa.large_string())), pattern=DATE)
    there = ~_mask(found.is_null())
    fields = dict(zip((field.name for field in found.type), found.flatten(), strict=True))

    def number(name: str) -> IntArray:
        text = fields[name].fill_null("0")
        return _integers(pc.if_else(pc.equal(text, ""), "0", text).cast(pa.int64()))

    year, month, day, hour, minute, second = map(number, ("year", "month", "day", "hour", "minute", "second"))
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    length = (months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")
    fits = (month >= 1) & (month <= 12) & (day >= 1) & (day <= length.astype(np.int64))
    fits &= (hour < 24) & (minute < 60) & (second < 60)
    digits = pc.utf8_rpad(fields["part"].fill_null(""), 9, "0")
    part = _integers(digits.cast(pa.int64())) / 1e9
    seconds = (hour * 60 + minute) * 60 + second + part
    return days.astype(np.int64), seconds, there & fits


def _integers(values: pa.Array) -> IntArray:
    return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _mask(values: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
