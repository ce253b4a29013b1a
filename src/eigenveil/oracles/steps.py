"""What oracles share: what they answer, their learning rates, and Oja's step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.units import Units

Rates = Callable[[int], float] | Sequence[float]
"""Learning rates: a function of the step t = 1, 2, ..., or a list that begins with that of step 1."""


@dataclass(frozen=True)
class Answer:
    """A direction, and what the run has to tell; all of it releases, or functions of releases.

    An oracle may as well return the direction alone.
    """

    direction: FloatArray
    diagnostics: Mapping[str, object] = field(default_factory=dict)


def rate_at(rates: Rates, t: int) -> float:
    """The learning rate of step t (from 1).

    Examples
    --------
    >>> rate_at(lambda t: 1 / (1 + t), 1), rate_at([0.5, 0.25], 2)
    (0.5, 0.25)
    """
    if not callable(rates) and t > len(rates):
        raise InvalidInputError(
            f"learning_rates has {len(rates)} entries, but there is a step {t}.",
            hint="Give one rate per step, or a function of the step (eigenveil.schedules has those of the paper).",
        )
    eta = float(rates(t) if callable(rates) else rates[t - 1])
    if not math.isfinite(eta):
        raise InvalidInputError(f"learning rates must be finite, got {eta!r} at step {t}.")
    return eta


def step(units: Units, w: FloatArray, g: FloatArray, eta: float | None) -> FloatArray:
    """P(w + eta g), or P g where eta is None (a power step), at length 1; w itself where that has no direction."""
    moved = units.inside(g if eta is None else w + eta * g)
    length = float(np.linalg.norm(moved))
    return moved / length if math.isfinite(length) and length > 0 else w
