"""Neighbouring relations: what may differ between two data sets that must look alike."""

from __future__ import annotations

from enum import Enum

from eigenveil.errors import InvalidInputError


class Relation(Enum):
    """Which pairs of data sets count as neighbours.

    Examples
    --------
    >>> Relation("replace").distance_between_sums(3.0)
    6.0
    """

    ADD_REMOVE = "add-remove"
    """One unit is in one data set and not in the other; the number of units is secret."""

    REPLACE = "replace"
    """One unit has other content. Where units have fixed places (rows, not people found by their ids) their number
    is the same and public."""

    EMPTY_SLOT = "empty-slot"
    """The same arrivals in the same order, but for one unit whose content is replaced by nothing: it adds 0 to
    every sum and count. The number of arrivals is public. Meant for streams."""

    @classmethod
    def _missing_(cls, value: object) -> Relation:
        names = " or ".join(repr(relation.value) for relation in cls)
        raise InvalidInputError(
            f"relation must be {names}, got {value!r}.",
            hint="'add-remove' hides also how many units there are; 'replace' and 'empty-slot' take their number "
            "as public.",
        )

    def distance_between_sums(self, reach: float) -> float:
        """How far sums over neighbours can lie apart when each unit adds at most `reach`.

        Adding or removing a unit moves a sum by its own contribution; replacing one takes
        a contribution away and brings another; emptying a slot only takes one away. (A *count* moves by at
        most 1 whichever way.)
        """
        return 2.0 * reach if self is Relation.REPLACE else reach

    @property
    def part_must_survive(self) -> str:
        """The event under which a unit must stay in its part for parallel composition."""
        return _EVENTS[self]


_EVENTS = {
    Relation.ADD_REMOVE: "removal",
    Relation.REPLACE: "replacement",
    Relation.EMPTY_SLOT: "emptying",
}
