"""Propose-test-release: noise for the local sensitivity of the dataset, after a private test."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import BudgetExceededError
from eigenveil.mechanisms.noise.veil import Veil, check_sensitivity
from eigenveil.privacy.budget import Budget
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.gaussian import check_delta, check_epsilon, check_mu

_ROUNDING = 1 + 2.0**-14
"""Factor on a sensitivity for rounding to its grid, whose steps are at most sensitivity 2^-16 / sqrt(size)."""


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
    """Release `value` with noise for the local sensitivity that `margin` proves, or return None (bottom).

    1. y <- margin + Lap(b) - b ln(1/(2 delta)), b = margin_sensitivity/epsilon: a private lower bound on the
    margin 2. s <- sensitivity_at(y); if y <= 0 or s is None: return None 3. return value + N(0, (s/mu)^2)

    Parameters
    ----------
    value : array
        f(D). A symmetric matrix gets noise on every entry, like any array. Symmetrise the result, which is
        post-processing (and leaves noise s/mu on the diagonal and s/(mu sqrt(2)) off the diagonal).
    margin : float
        g(D): the distance of D from instability. A margin of at most 0 never leads to a release.
    margin_sensitivity : float
        Largest change of g between neighbouring datasets, under the relation of the ledger.
    sensitivity_at : callable
        Non-increasing function of the margin, with ||f(D) - f(D')|| <= sensitivity_at(g(D)) for all neighbours D'
        of D. It returns None where no bound is known.
    epsilon, delta : float
        Cost of the test, from the part of the budget set aside.
    mu : float
        Cost of the release; for (epsilon2, delta2), pass ``gaussian_mu(epsilon2, delta2)``.
    value_error, margin_error : float
        Proven bounds on the floating-point errors of f (Euclidean norm) and of g.

    Formal guarantees
    -----------------
    The relation is the one of the ledger, through `margin_sensitivity` and `sensitivity_at`. Fix neighbouring
    datasets D, D', and call y valid if y <= max(g(D), g(D')). Step 1 is epsilon-DP, and y is invalid with
    probability at most delta under either dataset, since P[b L > b ln(1/(2 delta))] = delta. Step 1 is therefore
    (epsilon, delta)-DP, even if an invalid y revealed everything. For a valid y, f(D) and f(D') differ by at most
    s, so step 3 is mu-GDP. The whole mechanism is the composition of an (epsilon, delta)-DP and a mu-GDP
    mechanism; with the mu for (epsilon2, delta2), it is (epsilon + epsilon2, delta + delta2)-DP. Nothing is drawn
    unless both charges fit the budget. After bottom, the second charge is not made, since nothing is released for
    it.

    An error of at most `margin_error` in g adds twice that bound to the sensitivity of g, and the bound is
    subtracted from y; so is the rounding of g to its grid. In the same way, `value_error` enters the sensitivity
    of f. Rounding adds at most a relative 2^-14.

    ==============================  ==============================================================
    edge case                       result
    ==============================  ==============================================================
    no units, one unit, all equal   depends on g of the caller: a small margin gives bottom
    zero sensitivity at y           refused: floats cannot guarantee a sensitivity of 0
    huge values                     clipped at 2^61 grid steps
    nan or inf in value or margin   replaced by 0, and by a margin of 0; the bounds on f and g hold
    ==============================  ==============================================================

    References
    ----------
    Dwork & Lei 2009; Vadhan 2017, section 3.2.
    """
    check_epsilon(epsilon), check_delta(delta), check_mu(mu)
    if not veil.ledger.can_afford(Budget.from_mu(mu)):
        raise BudgetExceededError(
            f'"{what}" needs mu = {mu:g} for its second half, but {veil.ledger.remaining_mu:g} is left.',
            hint="Nothing was drawn. Set aside less for the test, or request a smaller mu.",
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
