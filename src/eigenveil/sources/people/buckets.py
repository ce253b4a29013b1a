"""How a cluster brings the rows of a person together: by buckets, into which ids fall, and which are checked.

A bucket is a function of the id and of a secret key, so who shares a partition with whom depends on nobody's
values.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenveil._typing import BoolArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.sources.people.identities import marks

BUCKET = "__eigenveil_bucket__"
"""Name of the column that holds buckets."""


@dataclass(frozen=True)
class Buckets:
    """A number of buckets, and the key by which ids fall into them."""

    number: int
    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    def of(self, ids: Any) -> tuple[IntArray, BoolArray]:
        """The bucket of each id, and which ids are there; a missing one falls into none.

        Examples
        --------
        >>> places, there = Buckets(1).of([7, None, 7.0])
        >>> places.tolist(), there.tolist()
        ([0, -1, 0], [True, False, True])
        """
        places = np.array([-1 if one is None else self._place(one) for one in marks(ids)], dtype=np.int64)
        return places, places >= 0

    def _place(self, one: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(one, key=self.key, digest_size=8).digest(), "little") % self.number


def check_whole(found: Any, cluster: str) -> None:
    """Raise unless no bucket was found in two partitions; `found` has each bucket of every partition once."""
    buckets = np.asarray(found)
    if np.unique(buckets).size != buckets.size:
        raise InvalidInputError(
            f"{cluster}'s shuffle left rows of one person in several partitions.",
            hint="This is a fault of the cluster, not of the data; nothing was released.",
        )
