"""From one measure of error to another, and from one direction to k."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eigenveil._checks import not_negative, positive
from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.theory.checks import share, spectrum, whole


def zeta_range_from_sin(sine: float, eigenvalues: npt.ArrayLike) -> tuple[float, float]:
    """Between which values zeta lies when one direction is off by an angle of this sine (lemma-sin-to-epca).

    sqrt(1 - l_2 / l_1) sine <= zeta <= sqrt(1 - l_d / l_1) sine. The lemma states zeta <= sine; the rest
    follows from the same sum.

    Examples
    --------
    >>> zeta_range_from_sin(0.1, [4.0, 3.0, 0.0])
    (0.05, 0.1)
    """
    values = spectrum(eigenvalues)
    _sine(sine)
    if values.size < 2:
        raise InvalidInputError("at least 2 eigenvalues are needed.")
    return sine * math.sqrt(1 - values[1] / values[0]), sine * math.sqrt(1 - values[-1] / values[0])


def zeta_range_from_distance(distance: float, eigenvalues: npt.ArrayLike, k: int) -> tuple[float, float]:
    """Between which values zeta lies at this Frobenius distance of projectors (lemma:reduction-to-frob-norm).

    zeta^2 >= distance^2 (l_k - l_{k+1}) / (2 sum_{i<=k} l_i), which is the lemma, and zeta^2 <= distance^2 (l_1
    - l_d) / (2 sum_{i<=k} l_i), its mirror image; never above 1.

    Notes
    -----
    The lemma is right, its proof (lemma-forb-vs-trace) is not: the step that bounds Tr(V V^T (V V^T - U U^T)(S
    - l_{k+1} I)) below by the gap times the sum of sines fails already in the plane, where it equals the gap
    times sine^2. Shares do it: with w_i = norm(U v_i)^2 and D = sum_{i<=k} (1 - w_i) = sum_{i>k} w_i =
    distance^2 / 2, the loss sum_{i<=k} l_i (1 - w_i) - sum_{i>k} l_i w_i lies between (l_k - l_{k+1}) D and
    (l_1 - l_d) D.

    Examples
    --------
    >>> low, high = zeta_range_from_distance(0.1, [4.0, 2.0, 1.0, 1.0], 2)
    >>> round(low, 4), round(high, 4)
    (0.0289, 0.05)
    """
    values, total = _top(eigenvalues, k)
    not_negative(distance=distance)
    low = distance * math.sqrt((values[k - 1] - values[k]) / (2 * total))
    return min(1.0, low), min(1.0, distance * math.sqrt((values[0] - values[-1]) / (2 * total)))


def distance_bound_from_zeta(zeta: float, eigenvalues: npt.ArrayLike, k: int) -> float:
    """The largest Frobenius distance of projectors that this zeta allows: the same lemma, read backwards.

    zeta sqrt(2 sum_{i<=k} l_i / (l_k - l_{k+1})), and never above sqrt(2 min(k, d - k)); without a gap only the
    latter.

    Examples
    --------
    >>> round(distance_bound_from_zeta(0.01, [4.0, 2.0, 1.0, 1.0], 2), 4)
    0.0346
    """
    values, total = _top(eigenvalues, k)
    not_negative(zeta=zeta)
    gap = float(values[k - 1] - values[k])
    furthest = math.sqrt(2 * min(k, values.size - k))
    return min(furthest, zeta * math.sqrt(2 * total / gap)) if gap > 0 else furthest


def black_box_zeta(oracle_zetas: Sequence[float], *, eigenvalues: npt.ArrayLike | None = None) -> float:
    """The zeta of k directions by deflation, from that of each oracle (meta-theorem, thm-k-to-1-reduction).

    The theorem: oracles that are all zeta-approximate make a zeta-approximate whole, so the answer is the
    largest. With the top k `eigenvalues` the same induction, each step with its own zeta, gives sqrt(sum
    zeta_i^2 l_i / sum l_i): later directions count for less.

    Examples
    --------
    >>> black_box_zeta([0.1, 0.2])
    0.2
    >>> round(black_box_zeta([0.1, 0.2], eigenvalues=[9.0, 1.0]), 4)
    0.114
    """
    zetas = np.asarray(oracle_zetas, dtype=np.float64)
    if zetas.ndim != 1 or not zetas.size or not ((zetas >= 0) & (zetas <= 1)).all():
        raise InvalidInputError("oracle_zetas must be a non-empty list of numbers from 0 to 1.")
    if eigenvalues is None:
        return float(zetas.max())
    values = spectrum(eigenvalues)
    if values.size != zetas.size:
        raise InvalidInputError(
            f"expected one eigenvalue per oracle call, got {values.size} and {zetas.size}.",
            hint="Give the k largest eigenvalues only.",
        )
    return math.sqrt(float(zetas**2 @ values / values.sum()))


def black_box_failure(failure: float, k: int) -> float:
    """A bound on the probability that one of k oracles fails, if each fails with probability `failure`.

    The paper keeps 0.99 for every k; with oracles that hold with 0.99 each the union bound gives 1 - 0.01 k.

    Examples
    --------
    >>> black_box_failure(0.01, 3)
    0.03
    """
    share(failure=failure)
    whole(k=k)
    return min(1.0, k * failure)


def eigenvalue_shift(lambda_1: float, sine: float) -> float:
    """How far eigenvalues move when a direction off by this sine is projected out (lemma-bounding-eigenvalues).

    abs(l_i(P S P) - l_{i+1}(S)) <= 8 l_1 sine (1 + sine), P = I - u u^T.

    Notes
    -----
    The lemma's bound stands here. The truth is of order sine^2: see `eigenvalue_rise`.

    Examples
    --------
    >>> round(eigenvalue_shift(10.0, 0.01), 3)
    0.808
    """
    positive(lambda_1=lambda_1)
    _sine(sine)
    return 8 * lambda_1 * sine * (1 + sine)


def eigenvalue_rise(eigenvalues: npt.ArrayLike, sine: float) -> float:
    """How far eigenvalues rise, all together, when a direction off by this sine is projected out.

    Sharper than lemma-bounding-eigenvalues. By Cauchy's interlacing l_i(P S P) >= l_{i+1}(S), so no eigenvalue
    falls; and traces give their total rise, l_1 - u^T S u <= (l_1 - l_d) sine^2. A gap then shrinks by at most
    that.

    Examples
    --------
    >>> round(eigenvalue_rise([10.0, 5.0, 1.0], 0.01), 6)
    0.0009
    """
    values = spectrum(eigenvalues)
    _sine(sine)
    return float(values[0] - values[-1]) * sine**2


def deflated_gap(eigenvalues: npt.ArrayLike, sine: float) -> float:
    """What is left of the next gap after projecting out an approximate direction (lemma-eigenvalue-perturbation).

    l_1(P S P) - l_2(P S P) >= l_2 - l_3 - 2 `eigenvalue_shift`; a value below 0 promises nothing.

    Examples
    --------
    >>> round(deflated_gap([10.0, 5.0, 1.0], 0.001), 3)
    3.84
    """
    values = spectrum(eigenvalues)
    if values.size < 3:
        raise InvalidInputError("at least 3 eigenvalues are needed.")
    return float(values[1] - values[2]) - 2 * eigenvalue_shift(float(values[0]), sine)


def _top(eigenvalues: npt.ArrayLike, k: int) -> tuple[FloatArray, float]:
    """The spectrum, with the sum of its first k values."""
    values = spectrum(eigenvalues)
    whole(k=k)
    if k >= values.size:
        raise InvalidInputError(
            f"k must be below the number of eigenvalues, got k = {k} and {values.size} of them."
        )
    return values, float(values[:k].sum())


def _sine(sine: float) -> None:
    """Refuse what is no sine of an angle between lines."""
    if not 0 <= sine <= 1:
        raise InvalidInputError(f"a sine lies between 0 and 1, got {sine!r}.")
