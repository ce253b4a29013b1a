"""Histograms over an unbounded domain: only bins with enough units are released."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.noise.exact_noise import laplace_integers
from eigenveil.mechanisms.noise.veil import Grant, Veil, grid_exponent
from eigenveil.privacy.composition import composed
from eigenveil.privacy.entries import Purpose
from eigenveil.privacy.gaussian import check_delta, check_epsilon


def stability_histogram(
    bins: Iterable[int],
    *,
    epsilon: float,
    delta: float,
    veil: Veil,
    what: str = "histogram",
    purpose: Purpose = Purpose.OTHER,
) -> Mapping[int, float]:
    """Release the noisy counts of all bins that exceed a threshold, in ascending order of the bins.

    Parameters
    ----------
    bins : iterable of int
        The bin of every unit that has a bin; each unit appears at most once.
    epsilon, delta : float
        Cost of the release.

    Formal guarantees
    -----------------
    *Add-remove:* one count changes by 1, so the L1 sensitivity is 1. *Replace:* one count decreases by 1 and
    another increases by 1: L1 sensitivity 2. Every non-empty bin gets Laplace noise of scale b =
    sensitivity/epsilon, and is released if its noisy count exceeds t = 1 + b ln(1/(2 delta)). Let D, D' be
    neighbouring datasets. At most one bin is non-empty in D and empty in D'. That bin contains exactly the one
    differing unit, and it is released with probability P[1 + b L > t] = delta. If it is not released, the noisy
    counts of the other bins are epsilon-indistinguishable, and the threshold is post-processing. So the release is
    (epsilon, delta)-DP. Rounding noise to the grid can increase a value by half a step; to account for that, t is
    a whole step higher than stated.

    The number of bins that get noise is secret, so the ledger does not state it. The result is in the order of the
    bins, not in the order of the data.

    ==============================  ================================================
    edge case                       result
    ==============================  ================================================
    no units, one unit              empty (except with probability delta)
    all equal                       that bin, if its count exceeds the threshold
    huge bin numbers                Python integers: no limit
    ==============================  ================================================

    References
    ----------
    Korolova et al. 2009; Bun, Nissim & Stemmer 2016 (stability-based histogram); Vadhan 2017, section 3.
    """
    check_epsilon(epsilon), check_delta(delta)
    sensitivity = veil.relation.distance_between_sums(1.0)
    grant = veil.laplace(
        what,
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        draws=None,
        note="threshold; one draw per non-empty bin",
        purpose=purpose,
    )
    return _above_threshold(bins, grant=grant, delta=delta)


def stability_histograms(
    columns: Sequence[Iterable[int]],
    *,
    epsilon: float,
    delta: float,
    slack: float,
    total: tuple[float, float],
    veil: Veil,
    what: str = "histograms",
    purpose: Purpose = Purpose.OTHER,
) -> list[Mapping[int, float]]:
    """Release one `stability_histogram` per column, each (epsilon, delta)-DP, with one charge for all.

    Parameters
    ----------
    columns : sequence of iterables of int
        For each column, the bin of every unit that has a bin.
    epsilon, delta : float
        Cost of each histogram alone.
    slack : float
        The delta that advanced composition may spend.
    total : (float, float)
        Upper bound (epsilon, delta) on the cost of all histograms together. If composition does not prove this
        bound, the histograms are refused.

    Formal guarantees
    -----------------
    Each histogram has the guarantee of `stability_histogram`. All of them together have the guarantee of basic or
    advanced composition, whichever costs less (`privacy.composition`), in one entry of the ledger.
    """
    check_epsilon(epsilon), check_delta(delta)
    cost = composed(epsilon, delta, times=len(columns), slack=slack)
    if cost[0] > total[0] * (1 + 1e-12) or cost[1] > total[1] * (1 + 1e-12):
        raise InvalidInputError(
            f'"{what}": {len(columns)} histograms at ({epsilon:g}, {delta:g}) each cost ({cost[0]:g}, '
            f"{cost[1]:g}) by composition, which exceeds the ({total[0]:g}, {total[1]:g}) reserved for them.",
            hint="This split of the budget is proven for small epsilon only; use a smaller epsilon.",
        )
    sensitivity = veil.relation.distance_between_sums(1.0)
    scale = Fraction(sensitivity) / Fraction(epsilon)
    exponent = grid_exponent(float(scale), sensitivity=sensitivity, size=1)
    grant = Grant(veil, laplace_integers, scale, exponent, None)
    veil.ledger.charge_approximate(
        what,
        epsilon=cost[0],
        delta=cost[1],
        sensitivity=sensitivity,
        scale=grant.scale,
        releases=len(columns),
        draws=None,
        note=f"({epsilon:.4g}, {delta:.4g}) each, composed; threshold; one draw per non-empty bin",
        purpose=purpose,
    )
    return [_above_threshold(bins, grant=grant, delta=delta) for bins in columns]


def _above_threshold(bins: Iterable[int], *, grant: Grant, delta: float) -> Mapping[int, float]:
    """Return the noisy counts above the threshold, with noise from a grant that is already paid for."""
    threshold = stability_threshold(grant.scale, delta) + math.ldexp(1.0, grant.exponent)
    counts = sorted(Counter(bins).items())
    noisy = grant.release(grant.on_grid([count for _, count in counts]))
    return {bin_: float(value) for (bin_, _), value in zip(counts, noisy, strict=True) if value > threshold}


def stability_threshold(scale: float, delta: float) -> float:
    """Return the threshold that a bin of one unit exceeds with probability at most `delta`, for Laplace noise."""
    return 1.0 + max(0.0, scale * math.log(1 / (2 * delta)))
