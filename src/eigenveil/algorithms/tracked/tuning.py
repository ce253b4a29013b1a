"""Constants of tracked PCA, with their meaning."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.errors import InvalidInputError

SMALLEST = 1e-100
"""Lower limit for eigenvalues and gaps, so that nothing overflows."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Constants of tracked PCA. All shares are fractions of the mu^2 that is left when they are spent.

    Parameters
    ----------
    sigma_share : float
        Minimal share of the first question, which is about Sigma itself.
    most_sigma, noise_goal : float
        Maximal share of that question. Up to it, the share is what brings the largest eigenvalue of the noise on
        Sigma down to `noise_goal` times the radius.
    scaled_share : float
        Share of that question if the scales of columns are taken from its diagonal.
    wide_share : float
        Share of a wide round, which also asks about the spare directions.
    curve_share : float
        Share, within that of a question, of the curve of norms from which its radius is chosen. A round that only
        moves the centre closer to the mean spends half as much on its sum.
    inside : float
        g, the factor by which a last round damps what lies inside the span of W.
    turning : float
        phi, the expected share of the clipped excess of a block that turns directions. It was measured on real
        data (`benchmarks/clip_bias.py`).
    near : float
        The centre is close enough if its expected squared distance from the mean is at most this share of the
        squared radius. The radius counts as at most 2.5 medians: further out, noise in counts can look like a
        tail.
    most_wide : int
        Maximal number of wide rounds.
    cheap_noise : float
        Sigma is not clipped below the radius at which the largest eigenvalue of the noise is this share of the
        mean eigenvalue.
    least_kept : float
        Minimal share of the units that clipping leaves unchanged.
    least_gap : float
        Eigenvalues that differ by less than this share of the largest one are not distinguished.
    pilot_shares : tuple of float
        Shares of the rounds from a random start, where Sigma is too large to be bought.
    widest_sigma, widest_damping : int
        Maximal number of columns for which Sigma is bought, and for which damping is used (it makes rows dense).
    """

    sigma_share: float = 0.25
    most_sigma: float = 0.9
    noise_goal: float = 0.1
    scaled_share: float = 0.85
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
        of_sigma = (self.sigma_share, self.most_sigma, self.noise_goal, self.scaled_share)
        shares = (*of_sigma, self.wide_share, self.curve_share, self.least_kept, *self.pilot_shares)
        others = (self.turning, self.near, self.cheap_noise, self.least_gap)
        if not (all(0 < one < 1 for one in shares) and 0 < self.inside <= 1 and all(one >= 0 for one in others)):
            raise InvalidInputError(f"expected shares between 0 and 1, and no constant below 0, got {self}.")


DEFAULT = Tuning()
