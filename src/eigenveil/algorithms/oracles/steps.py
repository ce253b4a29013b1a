"""Helpers that oracles share: their result, learning rates, Oja's step, a count, and a prediction of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms import noisy_count
from eigenveil.mechanisms.noise.veil import check_sensitivity
from eigenveil.privacy import Ledger, Purpose, split_mu
from eigenveil.units import Units

Rates = Callable[[int], float] | Sequence[float]
"""Learning rates: a function of the step t = 1, 2, ..., or a list whose first entry is the rate of step 1."""
_COUNT_SHARE = 0.02
_ERROR = 0.05
"""Error of a private gradient, divided by its radius: about sqrt(d)/(mu n), near 1/20 where rounds are useful."""


@dataclass(frozen=True)
class OracleAnswer:
    """Result of an oracle: a direction and diagnostics. All of it must be releases, or functions of releases.

    An oracle may also return the direction alone.

    Parameters
    ----------
    direction : array of shape (d,)
        Estimate of the top component, of any length.
    diagnostics : mapping of str to object
        Values to report in the diagnostics of the release.
    """

    direction: FloatArray
    diagnostics: Mapping[str, object] = field(default_factory=dict)


def rate_at(rates: Rates, t: int) -> float:
    """Return the learning rate of step t (from 1).

    Examples
    --------
    >>> rate_at(lambda t: 1 / (1 + t), 1), rate_at([0.5, 0.25], 2)
    (0.5, 0.25)
    """
    if not callable(rates) and t > len(rates):
        raise InvalidInputError(
            f"learning_rates has {len(rates)} entries, but there is a step {t}.",
            hint="Pass one rate per step, or a function of the step (eigenveil.schedules has those of the paper).",
        )
    given = rates(t) if callable(rates) else rates[t - 1]
    try:
        eta = float(given)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"learning rates must be numbers, got a {type(given).__name__} at step {t}.",
            hint="Pass a list of numbers, or a function from the number of a step (1, 2, ...) to its rate.",
        ) from None
    if not math.isfinite(eta):
        raise InvalidInputError(f"learning rates must be finite, got {eta!r} at step {t}.")
    return eta


def check_rates(rates: Rates | None) -> None:
    """Raise unless the rate of the first step is a finite number. Oracles call this before anything is charged."""
    if rates is not None:
        rate_at(rates, 1)


def declared_rates(rates: Rates, steps: int, ledger: Ledger) -> list[float]:
    """Return the rates of all steps that the caller has given, and record them in the ledger as declared."""
    found = [rate_at(rates, t) for t in range(1, steps + 1)]
    first = ", ".join(f"{eta:.4g}" for eta in found[:3]) + (", ..." if steps > 3 else "")
    ledger.declare("learning rates", note=f"given as public: {first}", purpose=Purpose.COMPONENTS)
    return found


def step(units: Units, w: FloatArray, g: FloatArray, eta: float | None) -> FloatArray:
    """Return P(w + eta g), or P g if eta is None (a power step), normalised to length 1.

    If that vector is zero or not finite, return w.
    """
    moved = units.inside(g if eta is None else w + eta * g)
    length = float(np.linalg.norm(moved))
    return moved / length if math.isfinite(length) and length > 0 else w


@dataclass(frozen=True)
class Past:
    """Direction, private mean gradient at that direction, and its error up to a common factor."""

    w: FloatArray
    g: FloatArray
    error: float


def predict_gradient(past: Sequence[Past], w: FloatArray) -> FloatArray:
    """Predict the mean gradient at w as a linear combination of the private gradients at earlier directions.

    Gradients are linear in the direction, so coefficients c with w = sum c_j w_j give the prediction sum c_j g_j.
    The coefficients minimise a sum of squares. The part of w outside the span of the w_j counts with the size of
    the gradients, and the errors of the g_j count with theirs.

    Examples
    --------
    >>> one, two = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    >>> A = np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> predict_gradient([Past(one, A @ one, 1e-9), Past(two, A @ two, 1e-9)], np.array([0.0, 1.0])).round(6)
    array([1., 2.])
    """
    W = np.stack([one.w for one in past], axis=1)
    size = max(float(np.linalg.norm(past[-1].g)), 1e-300)
    penalty = np.diag([_ERROR * one.error / size for one in past])
    system = np.concatenate([W, penalty])
    c = np.linalg.lstsq(system, np.concatenate([w, np.zeros(len(past))]), rcond=None)[0]
    combined: FloatArray = np.stack([one.g for one in past], axis=1) @ c
    return combined if np.all(np.isfinite(combined)) else np.zeros_like(w)


def buy_count(units: Units, population: Population, what: str) -> tuple[float, float]:
    """Return the number of units, and the mu that is left. A number that is public costs nothing."""
    share = 0.0 if units.number_is_public else _COUNT_SHARE
    mu_count, mu_rest = split_mu(units.budget.mu, [share, 1 - share])
    return noisy_count(population, mu=mu_count, veil=units.veil, what=what).value, mu_rest


def declare_batch_size(batch_size: int, ledger: Ledger) -> None:
    """Record the batch size that the caller has given."""
    ledger.declare("batch size", note=f"public: {batch_size}", purpose=Purpose.COMPONENTS)


def check_word(name: str, value: object, known: Sequence[str]) -> None:
    """Raise unless `value` is one of the words `known`."""
    if value not in known:
        raise InvalidInputError(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}.")


def check_range(finder: object, *, words: Sequence[str]) -> None:
    """Raise unless a range finder is one of `words`, or a number above 0."""
    if isinstance(finder, float | int) and not isinstance(finder, bool):
        check_sensitivity(finder)
    elif finder not in words:
        raise InvalidInputError(
            f"range_finder must be {', '.join(map(repr, words))} or a number fixed in advance, got {finder!r}."
        )


def check_batch_size(batch_size: object) -> None:
    """Raise unless the batch size is None, or a whole number of at least 1."""
    if batch_size is not None and not (isinstance(batch_size, int) and batch_size >= 1):
        raise InvalidInputError(f"batch_size must be a whole number of at least 1, got {batch_size!r}.")
