"""Options of a stream, and their checks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from eigenveil._checks import whole
from eigenveil.algorithms.open_units import check_k
from eigenveil.algorithms.standard import Standard
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Ledger, Purpose

MEMORY = 50.0
"""Default of `memory`, in batches."""
ONE_SLOT = {
    "rows": "each row is a unit and takes one slot",
    "people": "only the first row of a person takes a slot that is not empty",
}
"""For each kind of unit, the reason why a unit fills at most one slot."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """Options of `TrackedStream`, checked when they are created. See there for their meaning."""

    k: int
    epsilon: float
    delta: float
    batch_size: int | None
    oversampling: int
    memory: float
    units: Literal["rows", "people"]
    ids_never_return: bool
    columns: list[str | int] | None
    random_state: int | None
    center: bool = False
    scaled: list[int] | None = None

    def __post_init__(self) -> None:
        check_k(self.k, self.k if isinstance(self.k, int) and self.k >= 1 else 1)
        if self.batch_size is not None:
            whole("batch_size", self.batch_size, least=1)
        whole("oversampling", self.oversampling, least=0)
        if not self.memory > 1:
            raise InvalidInputError(f"memory must be a number of batches above 1, got {self.memory!r}.")
        if self.units not in ONE_SLOT:
            raise InvalidInputError(
                f"units must be 'rows' or 'people', got {self.units!r}.",
                hint="Pass the ids to add(block, units=ids).",
            )
        if self.ids_never_return and self.units != "people":
            raise InvalidInputError(
                "ids_never_return needs units='people', but this stream has units='rows'.",
                hint="Leave ids_never_return=False.",
            )

    @property
    def people(self) -> bool:
        """Whether a unit is a person."""
        return self.units == "people"

    @property
    def keeps_ids(self) -> bool:
        """Whether the ids of closed batches are kept."""
        return self.people and not self.ids_never_return

    @property
    def growth(self) -> float:
        """Factor by which the variance of earlier estimates grows with every batch."""
        return 1.0 if math.isinf(self.memory) else self.memory / (self.memory - 1)

    @property
    def standard(self) -> Standard:
        """How rows are centred and scaled."""
        private = np.array([] if self.scaled is None else self.scaled, dtype=np.int64)
        return Standard(buy_mean=self.center, private=private)

    def tracked(self, d: int) -> int:
        """Return the number of tracked directions for `d` columns."""
        return int(min(self.k + self.oversampling, d))

    def to_plain(self) -> dict[str, Any]:
        """Return the options as JSON values; `memory` is text, since it may be infinite."""
        seed = None if self.random_state is None else int(self.random_state)
        return {
            **dataclasses.asdict(self),
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "memory": repr(float(self.memory)),
            "random_state": seed,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the options that `to_plain` wrote."""
        return cls(**{**plain, "memory": float(plain["memory"])})


def declare_public(ledger: Ledger, options: StreamOptions) -> None:
    """Declare in the ledger of a stream what is public, and what the caller guarantees."""
    ledger.declare(
        "number of arrivals",
        note="public: neighbours have the same slots, one of them empty",
        purpose=Purpose.COUNT,
    )
    if options.ids_never_return:
        ledger.declare(
            "the rows of one person never lie in two batches",
            note="declared by the caller",
            purpose=Purpose.BATCHES,
        )
