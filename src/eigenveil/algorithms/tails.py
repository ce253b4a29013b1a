"""How far out units lie, and how much the few that no count shows may carry: post-processing of releases.

A curve of norms ends where the noise in its counts hides the units. Further out there may still be a few that
carry much variance, and all of them may lie along one direction. HiddenTail(curves, spectrum):
  1  h <- (share of units that noise may hide) * (largest radius at which units were seen) / (root mean square)
  2  for each curve: heaviness <- slope of the tail of normal rows / slope of the tail that was seen
  3  return h * (product of heaviness)
Slopes are those of log(share beyond) over log(radius). Heaviness is about 1 for normal rows. Tails that fall off
slowly where they are seen go on further where they are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.diagnostics import Tail
from eigenveil.mechanisms.norm_curve import SEEN, NormCurve

TURNED = 0.2
"""Part of what may be hidden that turns components. Chosen on 32 raw tables: limits of 95 % hold in over .9 of
the fits there, and their median is below 3 times that of the angles (see docs/coming-from-sklearn.md)."""
MIDDLE = 0.4
"""Share of units beyond the radius from which the slope of a tail is measured."""
_STEP = 2**0.25
"""Ratio of neighbouring edges of a curve: the least distance over which a slope is measured."""
_LEAST_SLOPE = 0.3
_MOST_HIDDEN = 3.0
"""Limits for what noise in a curve can do."""
_POINTS, _FOLLOWED = 4096, 50
"""Number of points of the model, and of the largest eigenvalues that it has one by one."""
_TINY = 1e-200


def tail_of(curve: NormCurve) -> Tail:
    """Return how far out the units of a released curve lie. If noise hides all of them, all are unseen.

    Examples
    --------
    >>> curve = NormCurve(
    ...     edges=np.array([1.0, 2.0, 4.0]), beyond=np.array([0.8, 0.2, 0.0]), excess=np.zeros(3), count_noise=1.0,
    ...     noise=np.array([0.02, 0.01, 0.01]),
    ... )
    >>> found = tail_of(curve)
    >>> round(found.middle, 2), found.far, found.beyond, found.unseen
    (1.59, 2.0, 0.2, 0.02)
    """
    seen = np.flatnonzero(curve.beyond > 0)
    if not seen.size:
        return Tail(middle=float(curve.edges[0]), far=float(curve.edges[0]), beyond=0.0, unseen=1.0)
    last = int(seen[-1])
    unseen = SEEN * float(curve.noise[min(last + 1, curve.edges.size - 1)])
    middle = math.exp(float(np.interp(-MIDDLE, -curve.beyond, np.log(curve.edges))))
    return Tail(
        middle=middle, far=float(curve.edges[last]), beyond=float(curve.beyond[last]), unseen=min(unseen, 1.0)
    )


def hidden_tail(diagnostics: Mapping[str, Any], spectrum: FloatArray) -> float:
    """Return how much hidden units may carry, as a share of what all units carry.

    They may change the entry of Sigma between directions j and l by TURNED * sqrt(lambda_j lambda_l) times that.
    It is 0 if no curve was kept (releases of earlier versions).

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics of tracked PCA.
    spectrum : array of shape (d,)
        Eigenvalues of Sigma, as estimated in rounds: those along the components first.

    Notes
    -----
    *Formal guarantees.* Post-processing of releases. The points of the model are the same every time.
    """
    normal = _Normal(spectrum)
    curves = [
        (one["tail"], normal.block(np.asarray(one["columns"]), one["inside"]))
        for one in diagnostics["rounds"][-1:]
        if one["tail"] is not None
    ]
    if diagnostics["tail"] is not None:
        curves.append((diagnostics["tail"], normal.matrices()))
    if not curves:
        return 0.0
    tail, norms = curves[0]  # that of the last round, if there was one
    # the norms of the model have the scale of the components, and those of Sigma perhaps that of the rough spreads
    size = _root_mean_square(norms) * (1.0 if diagnostics["rounds"] else tail.middle / _radius(norms, MIDDLE))
    hidden: float = min(tail.unseen * tail.far / max(size, _TINY), _MOST_HIDDEN)
    heavy = [heaviness(*one) for one in curves]
    return hidden * math.prod(heavy if len(heavy) > 1 else 2 * heavy)


def heaviness(tail: Tail, norms: FloatArray) -> float:
    """Return the slope of the tail of these norms over the slope of the tail that was seen.

    It is about 1 if the units have the distribution of `norms`, and more if their tail is heavier.

    Examples
    --------
    >>> norms = np.arange(1, 1001) ** -0.25  # a power law of slope 4
    >>> near, far = 0.4 ** -0.25 / 1000 ** 0.25, 0.1 ** -0.25 / 1000 ** 0.25
    >>> round(heaviness(Tail(middle=near, far=far, beyond=0.1, unseen=0.1), norms), 1)
    1.0
    >>> round(heaviness(Tail(middle=near, far=near * (far / near) ** 2, beyond=0.1, unseen=0.1), norms), 1)
    2.0
    """
    if not 0 < tail.beyond < MIDDLE:
        return 1.0
    normal = _radius(norms, tail.beyond) / max(_radius(norms, MIDDLE), _TINY)
    fall = math.log(MIDDLE / tail.beyond)
    expected = fall / math.log(max(normal, _STEP))
    return expected / max(fall / math.log(max(tail.far / tail.middle, _STEP)), _LEAST_SLOPE)


class _Normal:
    """Norms of normal rows with a given spectrum; all but the largest eigenvalues count as their sum."""

    def __init__(self, spectrum: FloatArray) -> None:
        self.spectrum = np.maximum(spectrum, 0.0)

    def block(self, columns: FloatArray, inside: float) -> FloatArray:
        """Return norms of M A W D: the product of those of the row along W, weighted, and of the damped row."""
        damped = np.where(np.arange(self.spectrum.size) < columns.size, inside**2, 1.0) * self.spectrum
        return np.sqrt(self._squares(columns**2 * self.spectrum[: columns.size]) * self._squares(damped))

    def matrices(self) -> FloatArray:
        """Return norms of A: squared norms of rows."""
        return self._squares(self.spectrum)

    def _squares(self, spectrum: FloatArray) -> FloatArray:
        first = spectrum[:_FOLLOWED]
        points = np.random.default_rng(0).standard_normal((_FOLLOWED, _POINTS))[: first.size]
        out: FloatArray = first @ points**2 + float(spectrum[_FOLLOWED:].sum())
        return out


def _radius(norms: FloatArray, share: float) -> float:
    """Return the radius beyond which this share of the norms lies."""
    return float(np.quantile(norms, 1 - share))


def _root_mean_square(norms: FloatArray) -> float:
    return float(np.sqrt(np.mean(norms**2)))
