"""Released values together with the standard deviation of their noise.

Everything here is public: a release, or post-processing of releases. The stated scales are the requested ones. The
noise as drawn may be rounded up to its grid (`veil.grid_exponent`): by a relative 2^-24, unless noise is very
small compared with the sensitivity.
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
        Standard deviation of its noise; 0 if the number is public.
    """

    value: float
    scale: float


@dataclass(frozen=True)
class Radius:
    """A released radius.

    Parameters
    ----------
    value : float
        The radius, an edge of a public grid.
    count_noise : float
        Standard deviation of the noise on each count of the search.
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
        Standard deviation of the noise on an entry. For symmetric matrices, on a diagonal entry; noise off the
        diagonal is smaller by a factor sqrt(2).
    """

    value: FloatArray
    noise: float


@dataclass(frozen=True)
class NoisyMean:
    """A released mean of clipped tensors, and how they were clipped.

    Parameters
    ----------
    value : array
        The mean.
    noise : float
        Standard deviation of the noise on an entry, as in `NoisySum`.
    radius : float
        Clipping radius: the distance from the centre to which units were clipped.
    kept, seen : float
        The share of the units that the radius search looked for, and the radius that it found. The latter is equal
        to `radius`, unless the rule chose a larger one. Both are nan if the radius was given.
    offset : float
        Distance of the mean of the clipped units from the centre, divided by the radius. The expected square of
        the noise is subtracted first. If it is close to 1, the error of the centre dominates the radius.
    """

    value: FloatArray
    noise: float
    radius: float
    kept: float
    seen: float
    offset: float
