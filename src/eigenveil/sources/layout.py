"""Layouts: which columns of a table are read, how they are encoded, and what replaces a missing value."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError, users_line
from eigenveil.sources.columns import by_column, choose_names, choose_positions, is_index, quote_some, unit_among
from eigenveil.sources.encodings import Categories, Encoding, Since, read_encoding
from eigenveil.sources.kinds import ColumnType, Kind

_SHOWN = 8

Fill = float | Mapping[str | int, float] | None


@dataclass(frozen=True)
class Layout:
    """Which columns to read, and how to read them: public settings that the user declares.

    A layout that the user writes may contain globs. `by_names` and `by_positions` resolve it for given data: they
    return a layout with exact columns, which does the same to any other data with these columns.

    Parameters
    ----------
    columns : tuple of str or int, optional
        Names or globs, or positions, in the requested order. None: all columns except the unit column.
    encode : mapping
        From columns to their encodings.
    fill : float or mapping, optional
        Replacement for a missing number: one for all columns, or one per column.

    Formal guarantees
    -----------------
    The numbers that are read from a row are a function of that row, of the types of the columns and of this
    layout, to the bit. They do not depend on other rows, on batches, or on how a batch codes its values. No value
    raises an error. So reading maps neighbouring datasets to neighbouring datasets, and costs no privacy budget.

    Examples
    --------
    >>> layout = Layout.of(columns=["site", "lab_*"], encode={"site": ["north", "south"]}, fill={"lab_*": 0})
    >>> exact = layout.by_names(["id", "lab_a", "lab_b", "site"], units="id")
    >>> exact.columns, exact.fill
    (('site', 'lab_a', 'lab_b'), {'lab_a': 0.0, 'lab_b': 0.0})
    >>> exact.names
    ('site=north', 'site=south', 'lab_a', 'lab_b')
    >>> exact.groups
    (('site', slice(0, 2, None)),)
    """

    columns: tuple[str | int, ...] | None = None
    encode: Mapping[str, Encoding] = field(default_factory=dict)
    fill: Fill = None
    truths: tuple[str, ...] = field(default=(), compare=False)
    """Columns whose type holds truth values only; set by `checked`, when types are known."""

    @classmethod
    def of(cls, columns: Any = None, encode: Any = None, fill: Any = None) -> Self:
        """Make a layout from what the user writes; refuse what is invalid for any data."""
        return cls(_read_columns(columns), _read_encode(encode), _read_fill(fill))

    def choosing(self, columns: Any) -> Self:
        """Return the same layout for other columns."""
        return replace(self, columns=_read_columns(columns))

    # -- resolving for given data ----------------------------------------------------------------

    def by_names(self, names: Sequence[str], *, units: Any, index: Collection[str] = ()) -> Layout:
        """Return the layout with exact columns, for data whose columns have these names.

        `index` names columns that hold the row index of another program, besides those that pandas and Dask name
        in their own way. They are data only if `columns` names them. Otherwise they are left out, with a warning
        that depends on the schema only. The same holds for a column that has the name of the ids (`units`), which
        were passed in as a series.
        """
        unit = unit_among(names, units)
        rows = [name for name in names if name in index or is_index(name)]
        chosen = tuple(names[position] for position in choose_names(names, self.columns, unit=unit, index=rows))
        left_out = [name for name in rows if name != unit and self.columns is None]
        if left_out:
            warnings.warn(
                f"left out {quote_some(left_out)}: the row index of the program that wrote the data.\n"
                "Hint: If it is data, name all columns: columns=[...], or --columns.",
                UserWarning,
                stacklevel=users_line(),
            )
        if unit is not None and not isinstance(units, str) and self.columns is None:
            warnings.warn(
                f"left out {unit!r}: it has the name of the ids, so it is no data.\n"
                f"Hint: If the column holds the ids, pass units={unit!r}. If it is data, rename the ids.",
                UserWarning,
                stacklevel=users_line(),
            )
        _refuse_surrogates(chosen)
        encode = _of_chosen(names, chosen, self.encode, "encode")
        fill = self.fill
        if isinstance(fill, Mapping):
            given = [name for name in fill if isinstance(encode.get(str(name)), Categories)]
            if given:
                raise InvalidInputError(
                    f"column {given[0]!r} is encoded by a list: missing values become zeros, so no fill applies.",
                    hint=f"Remove {given[0]!r} from fill={{...}}.",
                )
            found = _of_chosen(names, chosen, fill, "fill")
            fill = {name: value for name, value in found.items() if not isinstance(encode.get(name), Categories)}
        exact = Layout(chosen, encode, fill)
        _refuse_one_name_twice(exact)
        return exact

    def by_positions(self, width: int) -> Layout:
        """Return the layout with exact columns, for data whose columns have no names."""
        if self.encode:
            raise InvalidInputError(
                f"encode names column {next(iter(self.encode))!r}, but the columns of this data have no names.",
                hint="Pass a data frame, an Arrow table, or a Parquet or CSV file.",
            )
        chosen = choose_positions(width, self.columns)
        fill = self.fill
        if isinstance(fill, Mapping):
            found = by_column(None, width, fill, what="fill")
            fill = {place: value for place, value in enumerate(found) if value is not None}
            _refuse_left_out(list(fill), range(width) if chosen is None else chosen, "fill")
        return Layout(None if chosen is None else tuple(chosen), {}, fill)

    def checked(self, types: Mapping[str, ColumnType]) -> Layout:
        """Return the layout with `truths` set; refuse columns that are neither numeric nor encoded.

        The layout must have exact names.
        """
        for name, encoding in self.encode.items():
            encoding.check(name, types[name])
        chosen = [str(name) for name in self.columns or () if name not in self.encode]
        bad = [name for name in chosen if not types[name].numeric]
        if bad:
            _refuse_types(bad, [name for name in chosen if types[name].numeric], types)
        return replace(self, truths=tuple(name for name in chosen if types[name].kind is Kind.TRUTH))

    def dtype(self, types: Mapping[str, ColumnType]) -> np.dtype[Any]:
        """Return float32 if every column is float32, else float64."""
        single = not self.encode and all(types[str(name)].single for name in self.columns or ())
        return np.dtype(np.float32 if single else np.float64)

    # -- columns of the result -------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns of the result; None if columns have no names."""
        if self.columns is None or any(isinstance(column, int) for column in self.columns):
            return None
        return tuple(name for _, names in self._outputs() for name in names)

    @property
    def positions(self) -> list[int] | None:
        """Positions of the selected columns, if columns have no names; None for all columns."""
        return None if self.columns is None else [int(column) for column in self.columns]

    @property
    def groups(self) -> tuple[tuple[str, slice], ...]:
        """Columns that are encoded by a list, each with the slice of its columns of 0 and 1 in the result."""
        found, start = [], 0
        for column, names in self._outputs() if self.encode else ():
            if isinstance(self.encode.get(column), Categories):
                found.append((column, slice(start, start + len(names))))
            start += len(names)
        return tuple(found)

    @property
    def flags(self) -> list[int]:
        """Positions of the columns of the result that hold only 0 and 1, by type or by encoding."""
        found: list[int] = []
        start = 0
        for column, names in self._outputs() if self.encode or self.truths else ():
            if column in self.truths or isinstance(self.encode.get(column), Categories):
                found += range(start, start + len(names))
            start += len(names)
        return found

    @property
    def chooses(self) -> bool:
        """Whether the layout selects or encodes columns; `fill` does not count."""
        return self.columns is not None or bool(self.encode)

    @property
    def plain(self) -> dict[str, Any]:
        """The arguments of `of`, as lists, mappings, numbers and text only."""
        return {
            "columns": None if self.columns is None else list(self.columns),
            "encode": {name: encoding.plain for name, encoding in self.encode.items()} or None,
            "fill": dict(self.fill) if isinstance(self.fill, Mapping) else self.fill,
        }

    def declared(self) -> Iterator[tuple[str, str]]:
        """Yield the declarations for the ledger: what is declared, and its text."""
        if self.encode:
            each = (f"{name}: {_in_words(encoding)}" for name, encoding in self.encode.items())
            yield "encoded columns", "; ".join(each)
        if isinstance(self.fill, Mapping):
            yield (
                "missing values",
                "; ".join(f"{name}: {value:g}" for name, value in self.fill.items()),
            )
        elif self.fill is not None:
            yield "missing values", f"{self.fill:g} in all columns"

    # -- reading ---------------------------------------------------------------------------------

    def read(self, columns: Sequence[pa.Array], dtype: np.dtype[Any]) -> list[npt.NDArray[Any]]:
        """Convert the columns of a batch, in the order of this layout, to floats; missing values become nan."""
        out: list[npt.NDArray[Any]] = []
        for name, values in zip(self.columns or (), columns, strict=True):
            encoding = self.encode.get(str(name))
            fill = self.fill.get(name) if isinstance(self.fill, Mapping) else self.fill
            if encoding is None:
                out.append(_filled(floats(values, dtype), fill))
            elif isinstance(encoding, Categories):
                out += encoding.read(values)
            else:
                out += [_filled(column, fill) for column in encoding.read(values)]
        return out

    def fills(self, width: int) -> FloatArray | None:
        """Return the replacement for missing values in each selected column of an array.

        nan: missing values of that column stay missing. None: missing values of all columns stay missing.
        """
        if self.fill is None:
            return None
        chosen = range(width) if self.columns is None else self.columns
        given = self.fill
        each = [given.get(column, np.nan) if isinstance(given, Mapping) else given for column in chosen]
        return np.asarray(each, dtype=np.float64)

    def without_names(self) -> Layout:
        """Return the same layout for an array of the selected columns in order; not valid with encoded columns."""
        fill = self.fill
        if isinstance(fill, Mapping) and self.names is not None:
            fill = {place: fill[name] for place, name in enumerate(self.names) if name in fill}
        return Layout(None, {}, fill)

    def with_column(self, name: str) -> Layout:
        """Return the same layout with a numeric column at the end, which is never filled.

        The layout must have exact names.
        """
        fill = self.fill
        if fill is not None and not isinstance(fill, Mapping):
            by_list = [column for column, _ in self.groups]
            fill = {column: fill for column in self.columns or () if column not in by_list}
        return replace(self, columns=(*(self.columns or ()), name), fill=fill)

    def _outputs(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for column in map(str, self.columns or ()):
            yield column, self.encode[column].names(column) if column in self.encode else (column,)


def floats(column: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Convert a column of numbers to floats; nulls become nan. Arrow's own `to_numpy` would load pandas first."""
    kind = pa.from_numpy_dtype(dtype)
    if pa.types.is_decimal(column.type):  # by its digits: otherwise the last bit depends on the scale of the type
        column = column.cast(pa.string())
    plain = column if column.type == kind else column.cast(kind, safe=False)
    if plain.null_count:
        plain = plain.fill_null(float("nan"))
    if not len(plain):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(plain.buffers()[1], dtype=dtype, count=len(plain), offset=plain.offset * dtype.itemsize)


def _filled(values: npt.NDArray[Any], fill: float | None) -> npt.NDArray[Any]:
    return values if fill is None else np.where(np.isnan(values), values.dtype.type(fill), values)


# -- parsing what the user writes ------------------------------------------------------------------


def _read_columns(columns: Any) -> tuple[str | int, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        return (columns,)
    if isinstance(columns, Mapping) or not hasattr(columns, "__iter__"):
        raise InvalidInputError(
            f"expected names or positions of columns, got {type(columns).__name__}.",
            hint="For example columns=['age', 'lab_*']; for arrays columns=[0, 2].",
        )
    return tuple(map(_key, columns))


def _read_encode(encode: Any) -> dict[str, Encoding]:
    if encode is not None and not isinstance(encode, Mapping):
        raise InvalidInputError(
            f"expected encode to be a mapping from columns to lists of values, got {type(encode).__name__}.",
            hint="For example encode={'site': ['a', 'b'], 'visit': 'days since 2000-01-01'}.",
        )
    return {str(name): read_encoding(str(name), given) for name, given in (encode or {}).items()}


def _read_fill(fill: Any) -> Fill:
    if isinstance(fill, Mapping):
        return {_key(key): _finite(value) for key, value in fill.items()}
    return None if fill is None else _finite(fill)


def _key(key: Any) -> str | int:
    """Return a position as int, or a name as text."""
    return int(key) if hasattr(key, "__index__") and not isinstance(key, bool) else str(key)


def _finite(value: Any) -> float:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    with contextlib.suppress(OverflowError):  # of integers beyond the range of floats
        if number and math.isfinite(value):
            return float(value)
    raise InvalidInputError(
        f"expected fill to be a finite number, or a mapping from columns to finite numbers, got {value!r}.",
        hint="For example fill=0, or fill={'bmi': 25, 'lab_*': 0}. The numbers must be public.",
    )


# -- resolving for given names ---------------------------------------------------------------------


def _refuse_surrogates(names: Sequence[str]) -> None:
    """Refuse names with half of a pair of surrogates, which no file and no terminal can show."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            "expected names of columns that can be written as UTF-8, got one with a lone surrogate.",
            hint="Rename the column.",
        ) from None


def _of_chosen(names: Sequence[str], chosen: Sequence[str], given: Mapping[Any, Any], what: str) -> dict[Any, Any]:
    """Return the values that a mapping gives to the selected columns, by exact name."""
    by_name = {str(key): value for key, value in given.items()}
    _refuse_left_out([name for name in by_name if name in names], chosen, what)
    found = by_column(chosen, len(chosen), by_name, what=what)
    return {name: value for name, value in zip(chosen, found, strict=True) if value is not None}


def _refuse_left_out(given: Sequence[Any], chosen: Sequence[Any], what: str) -> None:
    left_out = [column for column in given if column not in chosen]
    if left_out:
        raise InvalidInputError(
            f"{what} names column {left_out[0]!r}, which is not among the selected columns.",
            hint=f"Add it to columns=[...], or remove it from {what}.",
        )


def _refuse_one_name_twice(exact: Layout) -> None:
    if exact.encode and exact.names is not None and len(set(exact.names)) != len(exact.names):
        twice = [name for place, name in enumerate(exact.names) if name in exact.names[:place]]
        raise InvalidInputError(
            f"expected unique names of columns after encoding, got {quote_some(twice)} more than once.",
            hint="Rename the column, or remove it from columns=[...].",
        )


def _refuse_types(bad: Sequence[str], good: Sequence[str], types: Mapping[str, ColumnType]) -> None:
    """Refuse columns that do not hold numbers, and show how to encode them."""
    listed = ", ".join(f"{name!r} ({types[name].name})" for name in bad[:_SHOWN])
    ways = {name: _example_encoding(types[name]) for name in bad[:_SHOWN] if types[name].kind is not Kind.OTHER}
    choose = f"Select columns=[...] that hold numbers ({quote_some(good)})."
    hints = [choose if good else "No column holds numbers."]
    if ways:
        hints.append(f"Or declare public encodings of other columns: encode={ways}.")
    if any(types[name].kind is Kind.TEXT for name in ways):
        hints.append("For dates in text: 'days since 2000-01-01'.")
    raise InvalidInputError(
        f"expected columns of numbers, got {listed}{', ...' if len(bad) > _SHOWN else ''}.",
        hint=" ".join(hints),
    )


def _example_encoding(type_: ColumnType) -> str | list[str]:
    return "days since 2000-01-01" if type_.kind is Kind.DATE else ["a", "b"]


def _in_words(encoding: Encoding) -> str:
    return encoding.plain if isinstance(encoding, Since) else ", ".join(encoding.labels)
