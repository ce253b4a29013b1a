"""Buckets of ids, by which a cluster groups the rows of each person, and a check of the grouping.

A bucket is a function of the id and of a secret key, so the assignment of people to partitions does not depend on
anyone's values.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenveil._typing import BoolArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.people.identities import bytes_to_hash

BUCKET = "__eigenveil_bucket__"
"""Name of the column of buckets."""


@dataclass(frozen=True)
class Buckets:
    """A number of buckets, and the secret key of the hash that assigns ids to them."""

    number: int
    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    def of(self, ids: Any, *, first: bool = False) -> tuple[IntArray, BoolArray]:
        """Return the bucket of each id, and whether the id is present; a missing id has the bucket -1.

        `first`: refuse the ids if most of the first ones are odd.

        Examples
        --------
        >>> places, there = Buckets(1).of([7, None, 7.0])
        >>> places.tolist(), there.tolist()
        ([0, -1, 0], [True, False, True])
        """
        known = bytes_to_hash(ids, first=first)
        places = np.array([-1 if one is None else self._place(one) for one in known], dtype=np.int64)
        return places, places >= 0

    def _place(self, one: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(one, key=self.key, digest_size=8).digest(), "little") % self.number


def check_no_bucket_split(found: Any, cluster: str) -> None:
    """Raise an error if a bucket is in two partitions; `found` lists each bucket of every partition once."""
    buckets = np.asarray(found)
    if np.unique(buckets).size != buckets.size:
        raise InvalidInputError(
            f"{cluster}'s shuffle left rows of one person in several partitions.",
            hint="This is an error of the cluster, not of the data; nothing was released.",
        )
