"""Selection of columns by name, by glob or by position."""

from __future__ import annotations

import difflib
import operator
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import narwhals as nw

from eigenveil.errors import InvalidInputError

_SHOWN = 8

_INDEX = re.compile(r"__index_level_\d+__|__null_dask_index__|Unnamed: \d+")
"""Names that pandas and Dask give to a row index in files, and to a column without a name."""


def quote_some(names: Sequence[str]) -> str:
    """Return the first few names, quoted, for a message."""
    return ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")


def is_index(name: str) -> bool:
    """Return whether pandas or Dask name a row index like this."""
    return bool(_INDEX.fullmatch(name))


def has_no_name(name: str) -> bool:
    """Return whether a name shows nothing: it is empty, or consists of blanks and of signs without a shape."""
    return all(sign.isspace() or not (sign.isprintable() or "\ud800" <= sign <= "\udfff") for sign in name)


def choose_names(
    names: Sequence[str], requested: Any, *, unit: str | None = None, index: Collection[str] = ()
) -> list[int]:
    """Return the positions of the requested columns among `names`; by default all except the unit column.

    A column of `index`, which holds the names or numbers of rows, is chosen by its own name only; so is a column
    whose name consists of blanks.

    Examples
    --------
    >>> choose_names(["id", "x1", "x2", "age"], ["age", "x*"], unit="id")
    [3, 1, 2]
    """
    if unit is not None:
        find_unit(names, unit)
    if requested is None:
        chosen = [name for name in names if name != unit and name not in index]
        _refuse_unnamed(names, chosen)
    else:
        keys = [requested] if isinstance(requested, str) else [str(key) for key in requested]
        chosen = [name for key in keys for name in _matches(names, key, unit, index)]
    _refuse_no_columns(chosen)
    _refuse_duplicates(chosen, names)
    return [names.index(name) for name in chosen]


def name_of(units: Any) -> str | None:
    """Return the name of ids as text: that of their column, series or index; None if they have none.

    Column names are public.

    Examples
    --------
    >>> import pandas
    >>> name_of("patient"), name_of(pandas.Series([7, 8], name="patient")), name_of([7, 8])
    ('patient', 'patient', None)
    >>> name_of(pandas.Index([7, 8], name="patient")), name_of(pandas.DataFrame({0: [7, 8]}))
    ('patient', '0')
    """
    if isinstance(units, str):
        return units
    ids = nw.from_native(units, pass_through=True, allow_series=True)
    if isinstance(ids, nw.DataFrame):
        return str(ids.columns[0]) or None if len(ids.columns) == 1 else None
    name = getattr(ids, "name", None)
    return None if name is None else str(name) or None


def unit_among(names: Sequence[str], units: Any) -> str | None:
    """Return the unit column: the one that `units` names, or one with the same name as the ids, if any."""
    unit = name_of(units)
    return unit if isinstance(units, str) or unit in names else None


def find_unit(names: Sequence[str], unit: str, *, what: str = "unit column") -> int:
    """Return the position of the unit column, or of another column that must exist exactly once."""
    if names.count(unit) != 1:
        raise InvalidInputError(
            f"expected one {what} {unit!r}, found {names.count(unit)} of that name.",
            hint=_alternatives(names, unit),
        )
    return names.index(unit)


def choose_positions(width: int, requested: Any) -> list[int] | None:
    """Return the positions of the requested columns among `width` unnamed columns; None means all columns.

    Examples
    --------
    >>> choose_positions(5, [4, 0])
    [4, 0]
    """
    if width == 0:
        _refuse_no_columns([])
    if requested is None:
        return None
    positions = [_position(key, width) for key in ([requested] if isinstance(requested, str) else requested)]
    _refuse_no_columns(positions)
    _refuse_duplicates(positions, range(width))
    return positions


def refuse_named_unit(units: Any) -> None:
    """Refuse a unit given by name where the columns have no names."""
    if isinstance(units, str):
        raise InvalidInputError(
            f"units={units!r} names a column, but the columns of this data have no names.",
            hint="Pass the ids themselves, one per row: units=[...].",
        )


def _refuse_unnamed(names: Sequence[str], chosen: Sequence[str]) -> None:
    """Refuse a column without a name, unless columns are chosen: it is mostly the row index of another program."""
    unnamed = next(filter(has_no_name, chosen), None)
    if unnamed is not None:
        raise InvalidInputError(
            f"expected a name for every column, but column {names.index(unnamed) + 1} of {len(names)} has none. "
            "Many programs write the names or numbers of rows in such a column.",
            hint="Choose the columns that have names: columns='?*', or --columns '?*'. Or write the file again "
            "without row names (pandas: to_csv(path, index=False); R: row.names = FALSE). Delete a title above "
            "the names of columns.",
        )


def _matches(names: Sequence[str], key: str, unit: str | None, index: Collection[str] = ()) -> list[str]:
    if key == unit:
        raise InvalidInputError(
            f"column {key!r} holds the ids of the units and cannot be data as well.",
            hint="Remove it from columns=[...], or give ids that are not this column another name.",
        )
    data = (name for name in names if name != unit and name not in index and not (name and has_no_name(name)))
    found = [key] if key in names else [name for name in data if fnmatchcase(name, key)]
    if not found:
        raise InvalidInputError(f"there is no column {key!r}.", hint=_alternatives(names, key))
    return found


def _alternatives(names: Sequence[str], key: str) -> str:
    close = difflib.get_close_matches(key, names)
    return f"Did you mean {quote_some(close)}?" if close else f"The columns are {quote_some(list(names))}."


def _position(key: Any, width: int) -> int:
    if not isinstance(key, (str, bool)) and hasattr(key, "__index__"):
        position = operator.index(key)
        if 0 <= position < width:
            return position
    raise InvalidInputError(
        f"expected a column number from 0 to {width - 1}, got {key!r}.",
        hint="The columns of this data have no names; columns=[0, 2] selects the first and the third.",
    )


def _refuse_no_columns(chosen: Sequence[object]) -> None:
    if not chosen:
        raise InvalidInputError("expected at least one column of numbers, got none.", hint="Check columns=[...].")


def _refuse_duplicates(chosen: Sequence[str] | Sequence[int], names: Sequence[str] | range) -> None:
    count = Counter(names)
    twice = [str(name) for name, times in Counter(chosen).items() if times > 1 or count[name] > 1]
    if twice:
        raise InvalidInputError(
            f"expected every column once, got {quote_some(twice)} more than once.",
            hint="Give each selected column a unique name and select it once; check whether globs overlap.",
        )


def by_column(names: Sequence[str] | None, width: int, given: Mapping[Any, Any], *, what: str) -> list[Any]:
    """Return the value that a mapping gives to each column, in the order of the columns; None where it gives none.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the columns, if they have names.
    width : int
        Number of columns.
    given : mapping
        From names or globs to values, or from positions to values if columns have no names. A name takes
        precedence over a glob. Refused: a column that matches two globs with different values, and a key that
        matches no column.
    what : str
        Name of the parameter, for messages.

    Examples
    --------
    >>> by_column(["age", "lab_a", "lab_b"], 3, {"lab_*": "private", "lab_b": 2.0}, what="scale")
    [None, 'private', 2.0]
    >>> by_column(None, 3, {0: 10.0}, what="scale")
    [10.0, None, None]
    """
    exact: dict[int, Any] = {}
    matched: dict[int, Any] = {}
    for key, value in given.items():
        if names is None:
            exact[_position(key, width)] = value
        elif key in names:
            exact[names.index(key)] = value
        else:
            for name in _matches(names, str(key), None):
                position = names.index(name)
                if position in matched and matched[position] != value:
                    raise InvalidInputError(
                        f"{what} has two patterns with different values for column {name!r}.",
                        hint=f"Name the column itself: {what}={{{name!r}: ...}} takes precedence over patterns.",
                    )
                matched[position] = value
    return [exact.get(column, matched.get(column)) for column in range(width)]
