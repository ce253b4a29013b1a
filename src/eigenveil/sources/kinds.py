"""Kinds of columns (numbers, text, dates, ...), from the types of Arrow and of data frames alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import narwhals as nw
import pyarrow as pa


class Kind(StrEnum):
    """Kind of values in a column, as far as its type determines it."""

    WHOLE = "whole numbers"
    NUMBER = "numbers"
    TRUTH = "truth values"
    TEXT = "text"
    DATE = "dates"
    OTHER = "something else"


@dataclass(frozen=True)
class ColumnType:
    """Type of a column.

    Parameters
    ----------
    name : str
        Name of the type, for messages.
    kind : Kind
        Kind of the values.
    coded : bool
        Whether the values are dictionary-encoded.
    single : bool
        Whether the values are float32.

    Examples
    --------
    >>> arrow_type(pa.dictionary(pa.int8(), pa.int64())).numeric, arrow_type(pa.bool_()).numeric
    (False, True)
    """

    name: str
    kind: Kind
    coded: bool = False
    single: bool = False

    @property
    def numeric(self) -> bool:
        """Whether values are numbers without encoding: truth values are (0 and 1), category codes are not."""
        return self.kind in (Kind.WHOLE, Kind.NUMBER, Kind.TRUTH) and not self.coded


def arrow_type(kind: pa.DataType) -> ColumnType:
    """Return the type of a column, from its Arrow type."""
    if pa.types.is_dictionary(kind):
        return ColumnType(str(kind), arrow_type(kind.value_type).kind, coded=True)
    return ColumnType(str(kind), _arrow_kind(kind), single=kind == pa.float32())


def is_text(kind: pa.DataType) -> bool:
    """Return whether this Arrow type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def frame_type(kind: Any, *, objects: bool) -> ColumnType:
    """Return the type of a column, from its narwhals type.

    `objects` is True if Python objects can be read one by one.
    """
    if kind in (nw.Categorical, nw.Enum):  # their repr may list values
        return ColumnType("Enum" if kind == nw.Enum else "Categorical", Kind.TEXT, coded=True)
    name = str(kind)
    if kind == nw.Object:
        return ColumnType(name, Kind.TEXT if objects else Kind.OTHER)
    return ColumnType(name, _frame_kind(kind), single=kind == nw.Float32)


def _arrow_kind(kind: pa.DataType) -> Kind:
    types = pa.types
    if types.is_boolean(kind):
        return Kind.TRUTH
    if types.is_integer(kind):
        return Kind.WHOLE
    if types.is_floating(kind) or types.is_decimal(kind):
        return Kind.NUMBER
    if is_text(kind) or types.is_null(kind):
        return Kind.TEXT
    return Kind.DATE if types.is_date(kind) or types.is_timestamp(kind) else Kind.OTHER


def _frame_kind(kind: Any) -> Kind:
    if kind.is_boolean():
        return Kind.TRUTH
    if kind.is_integer():
        return Kind.OTHER if kind in (nw.Int128, nw.UInt128) else Kind.WHOLE  # Arrow has no 128-bit integers
    if kind.is_numeric():
        return Kind.NUMBER
    if kind == nw.String:
        return Kind.TEXT
    return Kind.DATE if kind in (nw.Date, nw.Datetime) else Kind.OTHER
