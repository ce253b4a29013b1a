"""Conversions between measures of error, and from one component to k components."""

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
    """Return the range of zeta for one component whose angle to the truth has this sine (lemma-sin-to-epca).

    sqrt(1 - l_2 / l_1) sine <= zeta <= sqrt(1 - l_d / l_1) sine. The lemma states zeta <= sine; the other bounds
    follow from the same sum.

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
    """Return the range of zeta at this Frobenius distance of projectors (lemma:reduction-to-frob-norm).

    The lemma is zeta^2 >= distance^2 (l_k - l_{k+1}) / (2 sum_{i<=k} l_i). The analogous upper bound is
    zeta^2 <= distance^2 (l_1 - l_d) / (2 sum_{i<=k} l_i). Both are at most 1.

    Notes
    -----
    The lemma is correct, but its proof (lemma-forb-vs-trace) is not. One step bounds Tr(V V^T (V V^T - U U^T)(S
    - l_{k+1} I)) from below by the gap times the sum of sines. This fails already in the plane, where the trace
    equals the gap times sine^2. A valid proof: let w_i = norm(U v_i)^2 and D = sum_{i<=k} (1 - w_i) = sum_{i>k}
    w_i = distance^2 / 2. Then the lost energy sum_{i<=k} l_i (1 - w_i) - sum_{i>k} l_i w_i lies between (l_k -
    l_{k+1}) D and (l_1 - l_d) D.

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
    """Return the largest Frobenius distance of projectors at this zeta: the inverse of the same lemma.

    zeta sqrt(2 sum_{i<=k} l_i / (l_k - l_{k+1})), and at most sqrt(2 min(k, d - k)). Without a gap, only the
    second bound holds.

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
    """Return zeta of k components by deflation, from zeta of each oracle (meta-theorem, thm-k-to-1-reduction).

    The theorem: if all oracles are zeta-approximate, the k components are zeta-approximate too. The result is
    therefore the largest zeta. With the top k `eigenvalues`, the same induction with a separate zeta per step
    gives sqrt(sum zeta_i^2 l_i / sum l_i), in which later components have a smaller weight.

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
            f"expected one eigenvalue per oracle call, got {values.size} eigenvalues and {zetas.size} calls.",
            hint="Give the k largest eigenvalues only.",
        )
    return math.sqrt(float(zetas**2 @ values / values.sum()))


def black_box_failure(failure: float, k: int) -> float:
    """Bound the probability that any of k oracles fails, if each fails with probability `failure`.

    The paper states a probability of 0.99 for every k. If each oracle succeeds with probability 0.99, the union
    bound gives 1 - 0.01 k.

    Examples
    --------
    >>> black_box_failure(0.01, 3)
    0.03
    """
    share(failure=failure)
    whole(k=k)
    return min(1.0, k * failure)


def eigenvalue_shift(lambda_1: float, sine: float) -> float:
    """Bound the change of eigenvalues when an approximate component is projected out.

    lemma-bounding-eigenvalues: abs(l_i(P S P) - l_{i+1}(S)) <= 8 l_1 sine (1 + sine) with P = I - u u^T, where
    `sine` is the sine of the angle between u and the first eigenvector.

    Notes
    -----
    This is the bound of the lemma. The true change is of order sine^2: see `eigenvalue_rise`.

    Examples
    --------
    >>> round(eigenvalue_shift(10.0, 0.01), 3)
    0.808
    """
    positive(lambda_1=lambda_1)
    _sine(sine)
    return 8 * lambda_1 * sine * (1 + sine)


def eigenvalue_rise(eigenvalues: npt.ArrayLike, sine: float) -> float:
    """Bound the total increase of eigenvalues when an approximate component is projected out.

    `sine` is the sine of the angle between the component u and the first eigenvector. Sharper than
    lemma-bounding-eigenvalues. By Cauchy's interlacing theorem l_i(P S P) >= l_{i+1}(S), so no eigenvalue
    decreases. By comparing traces, their total increase is l_1 - u^T S u <= (l_1 - l_d) sine^2. A gap therefore
    shrinks by at most this amount.

    Examples
    --------
    >>> round(eigenvalue_rise([10.0, 5.0, 1.0], 0.01), 6)
    0.0009
    """
    values = spectrum(eigenvalues)
    _sine(sine)
    return float(values[0] - values[-1]) * sine**2


def deflated_gap(eigenvalues: npt.ArrayLike, sine: float) -> float:
    """Return a lower bound on the next gap after an approximate component is projected out.

    lemma-eigenvalue-perturbation: l_1(P S P) - l_2(P S P) >= l_2 - l_3 - 2 `eigenvalue_shift`. A value below 0
    guarantees nothing.

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
    """Return the spectrum, and the sum of its first k values."""
    values = spectrum(eigenvalues)
    whole(k=k)
    if k >= values.size:
        raise InvalidInputError(
            f"k must be below the number of eigenvalues, got k = {k} and {values.size} eigenvalues."
        )
    return values, float(values[:k].sum())


def _sine(sine: float) -> None:
    """Raise unless the number is the sine of an angle between two lines."""
    if not 0 <= sine <= 1:
        raise InvalidInputError(f"sine must lie between 0 and 1, got {sine!r}.")
