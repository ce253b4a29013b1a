"""A histogram over a domain without bounds: only bins with enough units are ever named."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.exact_noise import laplace_integers
from eigenveil.mechanisms.veil import Grant, Veil, grid_exponent
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
    """Noisy counts of the bins that pass a threshold, in ascending order of bin.

    Parameters
    ----------
    bins : iterable of int
        The bin of every unit that has one; each unit appears at most once.
    epsilon, delta : float
        The cost.

    Formal guarantees
    -----------------
    *Add-remove:* one count moves by 1, so L1 sensitivity is 1. *Replace:* one goes down by 1 and one up by 1:
    L1 sensitivity 2. Every non-empty bin gets Laplace noise of scale b = sensitivity/epsilon and is released
    if above t = 1 + b ln(1/(2 delta)). Let D, D' be neighbours. At most one bin is non-empty in D and
    empty in D'; it then holds exactly the one differing unit, and is released with probability P[1 + b L > t]
    = delta. If it is not, the other bins' noisy counts are epsilon-indistinguishable, and the
    threshold is post-processing. So (epsilon, delta)-DP. Rounding noise to the grid can lift a value by
    half a step, and t is a whole step higher than stated for that.

    How many bins are noised is secret, so the ledger does not say; the order of the answer is that of
    the bins and not of the data.

    ==============================  =============================================
    edge case                       answer
    ==============================  =============================================
    no units, one unit              empty (but for probability delta)
    all equal                       that bin, if the units are above the threshold
    huge bin numbers                Python integers: no limit
    ==============================  =============================================

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
    return _named(bins, grant=grant, delta=delta)


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
    """One `stability_histogram` per column, each (epsilon, delta)-DP, charged together.

    Parameters
    ----------
    columns : sequence of iterables of int
        In each, the bin of every unit that has one.
    epsilon, delta : float
        What each histogram alone would cost.
    slack : float
        The delta that advanced composition may spend.
    total : (float, float)
        What all together may cost at most; refused if the theorem does not give that.

    Formal guarantees
    -----------------
    Each histogram as in `stability_histogram`; all of them by basic or advanced composition, whichever costs
    less (`privacy.composition`), in one entry of the ledger.
    """
    check_epsilon(epsilon), check_delta(delta)
    cost = composed(epsilon, delta, times=len(columns), slack=slack)
    if cost[0] > total[0] * (1 + 1e-12) or cost[1] > total[1] * (1 + 1e-12):
        raise InvalidInputError(
            f'"{what}": {len(columns)} histograms at ({epsilon:g}, {delta:g}) each come to ({cost[0]:g}, '
            f"{cost[1]:g}) by composition, more than the ({total[0]:g}, {total[1]:g}) meant for them.",
            hint="The split of the budget is proven for small epsilon only; use a smaller one.",
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
    return [_named(bins, grant=grant, delta=delta) for bins in columns]


def _named(bins: Iterable[int], *, grant: Grant, delta: float) -> Mapping[int, float]:
    """The noisy counts above the threshold, by a grant already paid for."""
    threshold = stability_threshold(grant.scale, delta) + math.ldexp(1.0, grant.exponent)
    counts = sorted(Counter(bins).items())
    noisy = grant.release(grant.on_grid([count for _, count in counts]))
    return {bin_: float(value) for (bin_, _), value in zip(counts, noisy, strict=True) if value > threshold}


def stability_threshold(scale: float, delta: float) -> float:
    """What a bin of one unit passes with probability `delta` at most, under Laplace noise of `scale`."""
    return 1.0 + max(0.0, scale * math.log(1 / (2 * delta)))
