"""Noise calibration for rounds on Poisson samples, by the privacy loss distributions of dp-accounting.

The sampling rate, the noise and the number of rounds are fixed in advance, because the privacy filter of the
ledger covers Gaussian shares without sampling only. Needs the extra ``eigenveil[poisson]``.
"""

from __future__ import annotations

import math
from typing import Any

from scipy.optimize import brentq

from eigenveil.errors import InvalidInputError, MissingExtraError
from eigenveil.privacy.entries import Entry, Purpose
from eigenveil.privacy.gaussian import check_delta, check_epsilon
from eigenveil.privacy.ledger import Ledger
from eigenveil.privacy.relation import Relation

_PRECISION = 1e-4


def poisson_epsilon(
    *, rate: float, rounds: int, noise_multiplier: float, delta: float, relation: Relation | str
) -> float:
    """Return the epsilon at `delta` of `rounds` Gaussian releases, each on a fresh Poisson sample.

    Parameters
    ----------
    rate : float in (0, 1]
        Probability that a unit is in a round. Each unit is sampled independently, by its own coin.
    rounds : int
        Number of releases.
    noise_multiplier : float
        Standard deviation of the noise divided by the largest contribution of one unit (the clipping radius). It
        is defined in the same way under both relations: replacing a unit changes the sum by twice the radius, and
        this function accounts for that.
    delta : float
        The delta at which epsilon is returned.
    relation : Relation or str
        Neighbouring relation: add-remove or replace.

    Formal guarantees
    -----------------
    The result is an upper bound, since the discretised loss distribution is pessimistic. Under replace it uses
    REPLACE_ONE of dp-accounting, which takes into account that the removed unit and the added unit share one coin.

    References
    ----------
    Koskela et al. 2020, arXiv 1906.03049; Doroshenko et al. 2022, arXiv 2207.04380.
    """
    _check_plan(rate, rounds)
    check_delta(delta)
    if not (math.isfinite(noise_multiplier) and noise_multiplier > 0):
        raise InvalidInputError(f"noise_multiplier must be a finite number above 0, got {noise_multiplier!r}.")
    if Relation(relation) is Relation.EMPTY_SLOT:
        raise InvalidInputError(
            "Poisson samples are accounted for under add-remove and replace only, got empty-slot."
        )
    dpa = _dp_accounting()
    neighbours = {
        Relation.ADD_REMOVE: dpa.NeighboringRelation.ADD_OR_REMOVE_ONE,
        Relation.REPLACE: dpa.NeighboringRelation.REPLACE_ONE,
    }[Relation(relation)]
    accountant = dpa.pld.PLDAccountant(neighbours)
    step = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(noise_multiplier))
    return float(accountant.compose(step, rounds).get_epsilon(delta))


def poisson_noise_multiplier(
    *, rate: float, rounds: int, epsilon: float, delta: float, relation: Relation | str
) -> float:
    """Return the smallest noise multiplier that makes all rounds (epsilon, delta)-DP, rounded up by at most 1e-4.

    Examples
    --------
    >>> sigma = poisson_noise_multiplier(
    ...     rate=0.01, rounds=100, epsilon=1.0, delta=1e-6, relation="add-remove"
    ... )
    >>> round(sigma, 2)
    0.99
    """
    _check_plan(rate, rounds)
    check_epsilon(epsilon), check_delta(delta)

    def excess(log_sigma: float) -> float:
        spent = poisson_epsilon(
            rate=rate, rounds=rounds, noise_multiplier=math.exp(log_sigma), delta=delta, relation=relation
        )
        return math.log(max(spent, 1e-300) / epsilon)

    low = high = 0.0
    while excess(high) > 0:
        low, high = high, high + 1
    while low == high or excess(low) <= 0:
        low, high = low - 0.5, low
    root = brentq(excess, low, high, xtol=_PRECISION / 4)
    while excess(root) > 0:
        root += _PRECISION / 4
    return math.exp(root)


def charge_poisson(
    ledger: Ledger,
    what: str,
    *,
    rate: float,
    rounds: int,
    noise_multiplier: float,
    delta: float,
    draws: int,
    purpose: Purpose = Purpose.OTHER,
) -> Entry:
    """Charge the ledger for all rounds at once, as (epsilon, delta) from the part of the budget set aside."""
    epsilon = poisson_epsilon(
        rate=rate, rounds=rounds, noise_multiplier=noise_multiplier, delta=delta, relation=ledger.relation
    )
    return ledger.charge_approximate(
        what,
        epsilon=epsilon,
        delta=delta,
        scale=noise_multiplier,
        releases=rounds,
        draws=draws,
        note=f"Poisson rate {rate!r}, noise multiplier {noise_multiplier!r}, by PLD",
        purpose=purpose,
    )


def _check_plan(rate: float, rounds: int) -> None:
    if not 0 < rate <= 1:
        raise InvalidInputError(f"rate must lie in (0, 1], got {rate!r}.")
    if not (isinstance(rounds, int) and rounds >= 1):
        raise InvalidInputError(f"rounds must be a whole number of at least 1, got {rounds!r}.")


def _dp_accounting() -> Any:
    try:
        import dp_accounting  # noqa: PLC0415 - an optional extra, heavy to import
        import dp_accounting.pld  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "Poisson-sampled rounds are calibrated with dp-accounting, which is not installed.",
            hint="Run pip install 'eigenveil[poisson]', or use a plan without sampling (full, disjoint).",
        ) from error
    return dp_accounting
