"""The veil: it charges the ledger, then draws noise. Every release of data goes through it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray, IntArray
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.noise.byte_source import ByteSource, system_bytes
from eigenveil.mechanisms.noise.exact_noise import gaussian_integers, laplace_integers
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.gaussian import check_epsilon, check_mu
from eigenveil.privacy.ledger import SEEDED, Ledger
from eigenveil.privacy.relation import Relation
from eigenveil.privacy.uncopied import Uncopied

IntegerNoise = Callable[[int, int, ByteSource], IntArray]

_CEILING = 1 << 61
"""Statistics are clipped to +-2^61 grid steps. In practice none is that large, and clipping increases no
sensitivity."""


class Veil:
    """Charges the ledger, then draws noise.

    It holds a ledger and a source of randomness. Every mechanism takes one.

    Parameters
    ----------
    ledger : Ledger
        The ledger that is charged.
    source : callable, optional
        Function of n that returns n random bytes. The default, the CSPRNG of the operating system, is the only
        private source. With any other source, the ledger is permanently marked as not private.

    Formal guarantees
    -----------------
    Noise is drawn and values are released only through a `Grant`. A grant exists only after its charge was
    accepted and written to the ledger. A crash after that cannot hide the spending.

    Examples
    --------
    >>> from eigenveil.privacy import Budget
    >>> veil = Veil(Ledger(Budget.from_mu(1.0)))
    >>> grant = veil.gaussian("the answer", mu=0.5, sensitivity=1.0, draws=1)
    >>> release = grant.release(grant.on_grid([42]))
    >>> release.shape, veil.ledger.mu
    ((1,), 0.5)
    """

    def __init__(self, ledger: Ledger, *, source: ByteSource | None = None) -> None:
        if source is not None and source is not system_bytes:
            ledger.mark_not_private(SEEDED)
        self.ledger = ledger
        self.source: ByteSource = system_bytes if source is None else source

    @property
    def relation(self) -> Relation:
        """Neighbouring relation."""
        return self.ledger.relation

    def fresh_key(self) -> bytes:
        """Return 32 random bytes for purposes other than noise: the coins of a plan, a random start."""
        return self.source(32)

    def over(self, part: Ledger) -> Veil:
        """Return a veil that charges `part`, one part of a parallel composition, from the same byte source."""
        return Veil(part, source=self.source)

    def gaussian(
        self,
        what: str,
        *,
        mu: float,
        sensitivity: float,
        draws: int,
        releases: int = 1,
        note: str = "",
        purpose: Purpose = Purpose.OTHER,
    ) -> Grant:
        """Buy the noise for `releases` Gaussian releases with `draws` values in total, together mu-GDP.

        The noise of each release has standard deviation sensitivity * sqrt(releases) / mu, rounded up to a whole
        number of grid steps. The grid is a function of public numbers only.
        """
        check_mu(mu)
        exact = _gaussian_scale(mu, sensitivity, releases)
        exponent = grid_exponent(float(exact), sensitivity=sensitivity, size=draws)
        grant = Grant(self, gaussian_integers, exact, exponent, draws)
        self.ledger.charge_gaussian(
            what,
            mu=mu,
            sensitivity=sensitivity,
            scale=grant.scale,
            releases=releases,
            draws=draws,
            note=note,
            purpose=purpose,
        )
        return grant

    def laplace(
        self,
        what: str,
        *,
        epsilon: float,
        sensitivity: float,
        delta: float = 0.0,
        draws: int | None = 1,
        note: str = "",
        purpose: Purpose = Purpose.OTHER,
    ) -> Grant:
        """Buy the noise for one Laplace release of L1 `sensitivity`; the scale is sensitivity / epsilon.

        `delta` is the additional cost of the mechanism that uses the noise (a threshold, a failed test). Pass
        `draws=None` if the number of draws is secret.
        """
        exact = Fraction(check_sensitivity(sensitivity)) / Fraction(check_epsilon(epsilon))
        exponent = grid_exponent(float(exact), sensitivity=sensitivity, size=1)
        grant = Grant(self, laplace_integers, exact, exponent, draws)
        self.ledger.charge_approximate(
            what,
            epsilon=epsilon,
            delta=delta,
            sensitivity=sensitivity,
            scale=grant.scale,
            draws=draws,
            note=note,
            purpose=purpose,
        )
        return grant


class Grant(Uncopied):
    """The right to draw noise that is already paid for: a noise scale, a grid, and the number of draws.

    Formal guarantees
    -----------------
    `release` returns (x + round(s Z)) 2^exponent for integers x and an integer s such that s 2^exponent is at
    least the scale that was paid for. As shown in `exact_noise`, this is rounding applied to the ideal mechanism
    on the real numbers. The conversion of the integer sum to float64 is post-processing, and so is everything
    after it.

    *Any number of units.* Integer sums are computed modulo 2^64, and so is the sum with the noise. The result is
    therefore the exact sum plus noise, reduced modulo 2^64: post-processing of a private release, also where the
    sum of more than 2^31 units exceeds an int64. The answer is then wrong, but no less private. What is divided
    or multiplied on the way must be known exactly: sums of x x^T are for any number of rows (`GramSurveyor`), and
    the sums that multiply a centre or a shift for up to 2^33 units (at most 2^30 each, in int64; `RowSurveyor`).

    Every draw takes fresh bytes, and no more values are drawn than were paid for. A grant cannot be copied, and a
    grant that a fork carried into another process draws nothing there.
    """

    _uncopied = "a grant", "its copy could draw again what was paid for once"
    _instead = "Buy another grant from the veil."

    def __init__(self, veil: Veil, noise: IntegerNoise, scale: Fraction, exponent: int, draws: int | None) -> None:
        self._veil = veil
        self._noise = noise
        self._exact_scale = scale
        self.exponent = exponent
        self._left = draws

    @property
    def scale(self) -> float:
        """Standard deviation (Gaussian) or scale (Laplace) of the noise as drawn."""
        return math.ldexp(self._steps(1.0), self.exponent)

    def on_grid(self, numbers: npt.ArrayLike, *, places: int = 0) -> IntArray:
        """Convert multiples of 2^-places, such as counts, to grid steps. `numbers` are in units of 2^-places.

        The conversion is exact, since these numbers are multiples of the grid. Only noise above 2^(50 - places)
        has a coarser grid. Noise then dominates the numbers completely, and all of them become 0.
        """
        whole, finer = np.asarray(numbers, dtype=np.int64), -places - self.exponent
        return whole << finer if finer >= 0 else np.zeros_like(whole)

    def nearest(self, numbers: npt.ArrayLike) -> IntArray:
        """Round real numbers to the nearest grid steps (the caller accounts for the rounding)."""
        steps = np.rint(np.ldexp(np.asarray(numbers, dtype=np.float64), -self.exponent))
        return np.clip(steps, -float(_CEILING), float(_CEILING)).astype(np.int64)

    def release(self, steps: IntArray, *, weight: float = 1.0) -> FloatArray:
        """Add noise of `weight` times the scale to integers in grid steps, and return the sums as numbers."""
        self._veil.ledger.refuse_copy()
        if self._left is not None:
            if steps.size > self._left:
                raise InvalidInputError(
                    f"this grant has {self._left} draws left, but {steps.size} were requested; nothing was drawn."
                )
            self._left -= steps.size
        noise = self._noise(self._steps(weight), steps.size, self._veil.source).reshape(steps.shape)
        noise += steps  # modulo 2^64, as steps are
        released = noise.astype(np.float64)
        return np.ldexp(released, self.exponent, out=released)

    def _steps(self, weight: float) -> int:
        return max(1, math.ceil(self._exact_scale * Fraction(weight) / Fraction(2) ** self.exponent))


def gaussian_exponent(*, mu: float, sensitivity: float, draws: int) -> int:
    """Return the grid of a Gaussian release before it is paid for, from public numbers only."""
    return grid_exponent(float(_gaussian_scale(mu, sensitivity, 1)), sensitivity=sensitivity, size=draws)


def grid_exponent(scale: float, *, sensitivity: float, size: int) -> int:
    """Return the exponent of the grid of a release, from public numbers only.

    2^exponent is at most scale * 2^-24 and at most sensitivity * 2^-16 / sqrt(size). Two lower bounds take
    precedence. One is about sensitivity * 2^-31, so that the int64 sum over two thousand million units cannot
    overflow. (Where noise is smaller than that, its scale is one or a few grid steps, and it is still exact.) The
    other is scale * 2^-50, the limit of the sampler.
    """
    fine = min(math.log2(scale) - 24, math.log2(sensitivity) - 16 - math.log2(max(size, 1)) / 2)
    coarse = max(math.floor(math.log2(sensitivity)) - 31, math.floor(math.log2(scale)) - 50)
    return max(math.floor(fine), coarse)


def check_sensitivity(sensitivity: float) -> float:
    """Return `sensitivity` if it is a positive finite number; raise otherwise."""
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise InvalidInputError(f"sensitivity must be a finite number above 0, got {sensitivity!r}.")
    return float(sensitivity)


def _gaussian_scale(mu: float, sensitivity: float, releases: int) -> Fraction:
    """Return the standard deviation of the noise on each of `releases` releases that together cost mu."""
    return Fraction(check_sensitivity(sensitivity)) / Fraction(mu) * _sqrt_up(releases)


def _sqrt_up(n: int) -> Fraction:
    """Return a rational number of at least sqrt(n), with a relative error of at most 2^-52."""
    root = math.isqrt(n)
    return Fraction(root) if root * root == n else Fraction(math.nextafter(math.sqrt(n), math.inf))
