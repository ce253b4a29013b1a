"""Propose-test-release: noise fitted to this data set, after a private test that it is fit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import BudgetExceededError
from eigenveil.mechanisms.veil import Veil, check_sensitivity
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.gaussian import check_delta, check_epsilon, check_mu

_ROUNDING = 1 + 2.0**-14
"""Room in a sensitivity for rounding to its grid, whose steps are 2^-16 of it over sqrt(size)."""


def propose_test_release(
    value: FloatArray,
    margin: float,
    *,
    margin_sensitivity: float,
    sensitivity_at: Callable[[float], float | None],
    epsilon: float,
    delta: float,
    mu: float,
    veil: Veil,
    value_error: float = 0.0,
    margin_error: float = 0.0,
    what: str = "propose-test-release",
    purpose: Purpose = Purpose.OTHER,
) -> FloatArray | None:
    """Release `value` with noise for the local sensitivity that `margin` proves, or None (bottom).

    1. y <- margin + Lap(b) - b ln(1/(2 delta)), b = margin_sensitivity/epsilon: a private lower bound
    2. s <- sensitivity_at(y); if y <= 0 or there is none: return None
    3. return value + N(0, (s/mu)^2)

    Parameters
    ----------
    value : array
        f(D). A symmetric matrix is noised like any array; symmetrise the answer, which is post-processing
        (and leaves noise s/mu on the diagonal and s/(mu sqrt(2)) off it).
    margin : float
        g(D): how far D is from being unstable; nothing is ever promised at 0 or below.
    margin_sensitivity : float
        How far g can move between neighbours, under the relation of the ledger.
    sensitivity_at : callable
        Not increasing; ||f(D) - f(D')|| <= sensitivity_at(g(D)) for all neighbours D' of D, wherever it
        answers; None where nothing can be promised.
    epsilon, delta : float
        What the test costs, from the part of the budget set aside.
    mu : float
        What the release costs; for (epsilon2, delta2) take ``gaussian_mu(epsilon2, delta2)``.
    value_error, margin_error : float
        Proven bounds on what computing f (Euclidean norm) and g in floating point gets wrong.

    Formal guarantees
    -----------------
    Relation: that of the ledger, through `margin_sensitivity` and `sensitivity_at`. Fix neighbours D, D'
    and call y good if y <= max(g(D), g(D')). Step 1 is epsilon-DP, and y is bad with probability at most
    delta under either data set, as P[b L > b ln(1/(2 delta))] = delta: good or bad, step 1 is
    (epsilon, delta)-DP even if a bad y gave everything away. For a good y the values lie within s of each
    other, so step 3 is mu-GDP. The whole is the composition of (epsilon, delta)-DP and mu-GDP; with
    mu for (epsilon2, delta2) it is (epsilon + epsilon2, delta + delta2)-DP. Nothing is drawn unless
    both charges fit; after bottom the second is not made, as nothing is released for it.

    Computing g wrongly by `margin_error` adds twice that to its sensitivity, and that much is taken off y; so
    is the rounding of g to its grid. Likewise `value_error` for f. Rounding is a relative 2^-14 at most.

    ==============================  =========================================================
    edge case                       answer
    ==============================  =========================================================
    no units, one unit, all equal   up to the caller's g: a small margin gives bottom
    zero sensitivity at y           refused: a promise of 0 cannot be kept in floats
    huge values                     cut at 2^61 grid steps
    nan or inf in value or margin   taken as 0 and as a margin of 0; f and g keep their promises
    ==============================  =========================================================

    References
    ----------
    Dwork & Lei 2009; Vadhan 2017, section 3.2.
    """
    check_epsilon(epsilon), check_delta(delta), check_mu(mu)
    if mu > veil.ledger.remaining_mu * (1 + 1e-10):
        raise BudgetExceededError(
            f'"{what}" needs mu = {mu:g} for its second half, but {veil.ledger.remaining_mu:g} is left.',
            hint="Nothing was drawn. Set aside less for the test, or ask for less.",
        )
    # 1
    reach = (check_sensitivity(margin_sensitivity) + 2 * margin_error) * _ROUNDING
    test = veil.laplace(f"{what}: test", epsilon=epsilon, delta=delta, sensitivity=reach, purpose=Purpose.TEST)
    safe = (margin if math.isfinite(margin) else 0.0) - margin_error
    lowered = test.scale * math.log(1 / (2 * delta)) + math.ldexp(2.0, test.exponent)
    y = float(test.release(test.nearest([safe]))[0]) - lowered
    # 2
    s = sensitivity_at(y) if y > 0 else None
    if s is None:
        return None
    # 3
    reach = (check_sensitivity(s) + 2 * value_error) * _ROUNDING
    size = int(np.size(value))
    grant = veil.gaussian(f"{what}: release", mu=mu, sensitivity=reach, draws=size, purpose=purpose)
    return grant.release(grant.nearest(np.where(np.isfinite(value), value, 0.0)))
