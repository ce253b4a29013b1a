"""Gaussian noise for rounds on Poisson samples of the units: bought once, drawn round by round."""

from __future__ import annotations

from fractions import Fraction

from eigenveil.mechanisms.noise.exact_noise import gaussian_integers
from eigenveil.mechanisms.noise.veil import Grant, Veil, check_sensitivity, grid_exponent
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
    """Buy the noise for `rounds` clipped sums over Poisson samples; its scale is noise_multiplier * radius.

    Parameters
    ----------
    rate, rounds, noise_multiplier, delta
        As in `privacy.poisson`; fixed before the first round.
    radius : float
        Largest contribution of one unit to a sum.
    draws : int
        Total number of noise values in all rounds.

    Formal guarantees
    -----------------
    Both relations, by the privacy loss distributions of dp-accounting. The ledger is charged before the grant
    exists. The scale is rounded up to the grid. The sums must consist of whole grid steps, and each unit must add
    a vector of norm at most `radius`.
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
