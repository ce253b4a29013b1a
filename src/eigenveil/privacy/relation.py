"""Neighbouring relations: how two neighbouring datasets may differ."""

from __future__ import annotations

import math
from enum import Enum

from eigenveil.errors import InvalidInputError


class Relation(Enum):
    """Neighbouring relation: which pairs of datasets are neighbours.

    Examples
    --------
    >>> Relation("replace").distance_between_sums(3.0)
    6.0
    """

    ADD_REMOVE = "add-remove"
    """One dataset has one unit more than the other. The number of units is secret."""

    REPLACE = "replace"
    """The content of one unit differs. Where units have fixed places (rows, but not people found by their ids),
    the number of units is the same in both datasets, and public."""

    EMPTY_SLOT = "empty-slot"
    """The same arrivals in the same order, except that the content of one unit is replaced by nothing: that unit
    adds 0 to every sum and count. The number of arrivals is public. Intended for streams."""

    @classmethod
    def _missing_(cls, value: object) -> Relation:
        names = " or ".join(repr(relation.value) for relation in cls)
        raise InvalidInputError(
            f"relation must be {names}, got {value!r}.",
            hint="'add-remove' also hides the number of units; 'replace' and 'empty-slot' treat this number as "
            "public.",
        )

    def distance_between_sums(self, reach: float) -> float:
        """Largest distance between sums over neighbouring datasets if each unit adds at most `reach`.

        Adding or removing a unit changes a sum by the contribution of that unit. Replacing a unit removes one
        contribution and adds another. Emptying a slot only removes a contribution. (A *count* changes by at most 1
        under every relation.)
        """
        return 2.0 * reach if self is Relation.REPLACE else reach

    @property
    def distance_between_histograms(self) -> float:
        """Largest L2 distance between histograms of neighbouring datasets if each unit is in at most one bin.

        Adding, removing or emptying a unit changes one bin by 1. Replacing a unit changes two bins by 1: the
        distance is sqrt(2), rounded up.
        """
        return math.nextafter(math.sqrt(2.0), 2.0) if self is Relation.REPLACE else 1.0

    @property
    def part_must_survive(self) -> str:
        """The event under which all units must stay in their parts for parallel composition."""
        return _EVENTS[self]


_EVENTS = {
    Relation.ADD_REMOVE: "removal",
    Relation.REPLACE: "replacement",
    Relation.EMPTY_SLOT: "emptying",
}
