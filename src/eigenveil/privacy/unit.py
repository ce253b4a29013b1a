"""Whom a guarantee protects: the unit of an account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from eigenveil.errors import InvalidInputError
from eigenveil.privacy.ownership import Ownership

Kind = Literal["row", "person", "matrix"]


@dataclass(frozen=True)
class Unit:
    """What one unit is: one row, one person with all their rows, or one matrix.

    Parameters
    ----------
    kind : {"row", "person", "matrix"}
        Kind of unit.
    by : str, optional
        For people, the name of their ids: that of a column or series. None if the ids had no name, as in an array,
        or if every person was given as an array of their own.

    Formal guarantees
    -----------------
    Costs add up to a guarantee only if all of them are about the same unit: a person with m rows can change what
    is released about rows by m times as much. So a ledger accepts one unit, and two units are the same only if
    they are equal. Ids with a name are those of that name: the account claims that the name means the same people
    wherever the caller uses it. Ids without a name could be anybody's. They equal other ids without a name: the
    account claims that the caller always passed ids of the same people. They do not equal ids with a name. Who
    knows that both are the same people says so, by giving them the name.

    A model or a stream knows its people. To it, ids without a name are those of its people (`of_ids`).

    Examples
    --------
    >>> for unit in (Unit("row"), Unit("person", by="patient"), Unit("person")):
    ...     print(unit)
    one row
    one person (all rows with the same patient)
    one person (ids without a name, or one array of rows each)
    """

    kind: Kind
    by: str | None = None

    def __post_init__(self) -> None:
        known = self.kind in get_args(Kind) and (self.by is None or (self.by and self.kind == "person"))
        if not known or not isinstance(self.by, str | None):
            raise InvalidInputError(
                "expected a row, a person with the name of their ids, or a matrix as the unit."
            )

    @classmethod
    def of_ids(cls, name: str | None, *, known: Unit | None) -> Unit:
        """Return the unit of people with ids of this name, for a model or stream that may know its people."""
        return known if name is None and known is not None and known.kind == "person" else cls("person", by=name)

    def __str__(self) -> str:
        if self.kind != "person":
            return f"one {self.kind}"
        how = (
            "ids without a name, or one array of rows each"
            if self.by is None
            else f"all rows with the same {self.by}"
        )
        return f"one person ({how})"

    def to_plain(self) -> dict[str, Any]:
        """Return the unit as JSON values."""
        return {"kind": self.kind, "by": self.by}

    def other(self, run: Unit) -> InvalidInputError:
        """Return the error for a run about another unit, on an account about this one."""
        return InvalidInputError(
            f"the ledger is about {self}, but this run is about {run}; nothing was charged or drawn.",
            hint=self._hint(run),
        )

    def _hint(self, run: Unit) -> str:
        another = "use another ledger, which does not add up with this one."
        if self.kind != "person":
            return f"Run with the same unit as before, or {another}"
        if run.kind != "person":
            ids = "the ids of the people" if self.by is None else repr(self.by)
            return f"Pass {ids} as units, or {another}"
        if run.by is None:
            named = f"units=pandas.Series(ids, index=X.index, name={self.by!r}) (without index if X has none)"
            return f"If these are ids of {self.by!r}, say so: {named}. Else {another}"
        if self.by is None:
            return f"If they are the same people, pass the ids without their name: an array. Else {another}"
        return f"Pass {self.by!r} as units, or {another}"


class AboutOneUnit(Ownership):
    """Mix-in of `Ledger`: an account is about one unit, that of its first run."""

    _unit: Unit | None

    @property
    def unit(self) -> Unit | None:
        """Whom the guarantee protects: the unit of all runs on this ledger. None before the first run."""
        return self._root._unit

    def bind(self, unit: Unit) -> None:
        """Make this the unit of the account, before a run charges anything. Raise if it has another."""
        self.refuse_copy()
        root = self._root
        with root._lock:
            root.check_unit(unit)
            if root._unit is not None:
                return
            root._unit = unit
        for keep in tuple(root._keepers):
            keep()

    def check_unit(self, unit: Unit) -> None:
        """Raise if the account is about another unit."""
        known = self.unit
        if known not in (None, unit):
            raise known.other(unit)
