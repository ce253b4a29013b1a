"""Gaussian noise for rounds that each see a Poisson sample of the units: paid once, drawn round by round."""

from __future__ import annotations

from fractions import Fraction

from eigenveil.mechanisms.exact_noise import gaussian_integers
from eigenveil.mechanisms.veil import Grant, Veil, check_sensitivity, grid_exponent
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.poisson import charge_poisson


def sampled_noise(
    veil: Veil,
    what: str,
    *,
    rate: float,
    rounds: int,
    noise_multiplier: float,
    delta: float,
    radius: float,
    draws: int,
    purpose: Purpose = Purpose.OTHER,
) -> Grant:
    """Pay for `rounds` clipped sums over Poisson samples; the grant noises each by noise_multiplier * radius.

    Parameters
    ----------
    rate, rounds, noise_multiplier, delta
        As in `privacy.poisson`; fixed before the first round.
    radius : float
        What one unit can add to a sum.
    draws : int
        Noise values of all rounds together.

    Formal guarantees
    -----------------
    Both relations, by dp-accounting's privacy loss distributions: the charge is made before the grant exists. The
    scale is rounded up to the grid, and the sums that go in are whole grid steps of norm at most `radius` a unit.
    """
    exact = Fraction(check_sensitivity(radius)) * Fraction(check_sensitivity(noise_multiplier))
    exponent = grid_exponent(float(exact), sensitivity=radius, size=draws)
    charge_poisson(
        veil.ledger,
        what,
        rate=rate,
        rounds=rounds,
        noise_multiplier=noise_multiplier,
        delta=delta,
        draws=draws,
        purpose=purpose,
    )
    return Grant(veil, gaussian_integers, exact, exponent, draws)
