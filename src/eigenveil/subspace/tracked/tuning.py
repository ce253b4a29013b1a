"""Every constant of the method, with its meaning."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.errors import InvalidInputError

SMALLEST = 1e-100
"""Eigenvalues and gaps are taken as at least this, so that nothing overflows."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The method's constants. All shares are of the mu^2 that is left when they are spent.

    Parameters
    ----------
    sigma_share : float
        Of the first question, Sigma itself.
    wide_share : float
        Of a round that goes on with the spare directions.
    curve_share : float
        Of a question's own share: the curve of norms that its radius is chosen from. A round that only brings the
        centre nearer spends half as much on its sum.
    inside : float
        g: how much of what lies inside the span of W a last round keeps.
    turning : float
        phi: how much of the clipped excess of a block is expected to turn directions; as measured on real data
        (`benchmarks/clip_bias.py`).
    near : float
        The centre is near enough when the square of its expected distance from the mean is at most this share of
        the squared radius (of 2.5 medians at most: further out, noise in counts can pass for a tail).
    most_wide : int
        The most wide rounds.
    cheap_noise : float
        Sigma is clipped no closer than where the noise's largest eigenvalue is this share of the mean eigenvalue.
    least_kept : float
        The smallest share of the units that a clip leaves whole.
    least_gap : float
        Eigenvalues closer than this share of the largest are not told apart.
    pilot_shares : tuple of float
        Shares of the rounds from a random start, where Sigma is too large to ask for.
    widest_sigma, widest_damping : int
        The most columns for which Sigma is asked for, and for which damping (it makes rows dense) is used.
    """

    sigma_share: float = 0.25
    wide_share: float = 0.25
    curve_share: float = 0.06
    inside: float = 0.2
    turning: float = 0.12
    near: float = 0.1
    most_wide: int = 2
    cheap_noise: float = 0.5
    least_kept: float = 0.1
    least_gap: float = 0.02
    pilot_shares: tuple[float, ...] = (0.0075, 0.0225, 0.07, 0.25)
    widest_sigma: int = 1024
    widest_damping: int = 5000

    def __post_init__(self) -> None:
        shares = (self.sigma_share, self.wide_share, self.curve_share, self.least_kept, *self.pilot_shares)
        others = (self.turning, self.near, self.cheap_noise, self.least_gap)
        if not (all(0 < one < 1 for one in shares) and 0 < self.inside <= 1 and all(one >= 0 for one in others)):
            raise InvalidInputError(f"expected shares between 0 and 1, and no constant below 0, got {self}.")


DEFAULT = Tuning()
