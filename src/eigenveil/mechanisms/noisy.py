"""Released numbers with the noise they carry: whoever draws noise says how much.

Everything here is public: a release, or post-processing of releases. Scales are those that were asked for; the
grid of a draw may round them up (`veil.grid_exponent`), by a relative 2^-24 unless noise is tiny against the
sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil._typing import FloatArray


@dataclass(frozen=True)
class Noisy:
    """A released number.

    Parameters
    ----------
    value : float
        The number.
    scale : float
        Standard deviation of its noise; 0 where the number is public.
    """

    value: float
    scale: float


@dataclass(frozen=True)
class Radius:
    """A released radius.

    Parameters
    ----------
    value : float
        An edge of a public grid.
    count_noise : float
        Standard deviation of the noise on each count of the search that found it.
    """

    value: float
    count_noise: float


@dataclass(frozen=True)
class NoisySum:
    """A released sum of tensors.

    Parameters
    ----------
    value : array
        The sum.
    noise : float
        Standard deviation of the noise on an entry. For symmetric matrices: on the diagonal; it is smaller by
        sqrt(2) off it.
    """

    value: FloatArray
    noise: float


@dataclass(frozen=True)
class NoisyMean:
    """A released mean of tensors, and how it was clipped.

    Parameters
    ----------
    value : array
        The mean.
    noise : float
        Standard deviation of the noise on an entry, as in `NoisySum`.
    radius : float
        Units were clipped at this distance from the centre.
    kept, seen : float
        The share of the units that a search was asked for, and the radius that it found: `radius` itself, unless
        the rule goes beyond it. nan where the radius was given.
    offset : float
        Distance of the mean of the clipped units from the centre, over the radius, with the expected square of the
        noise subtracted. Near 1, the radius is ruled by how far off the centre was.
    """

    value: FloatArray
    noise: float
    radius: float
    kept: float
    seen: float
    offset: float
