"""Uncertainty of released variances and components: post-processing of releases, at no cost.

VarianceErrors(variances):
  model: a unit adds a_j = lambda_j G_j along component j, where the m G_j are independent chi-squares of m degrees
         of freedom. m = 1: normal rows. m = r: people with r normal rows each
  1  lambda <- explained
  2  m <- 1, if units are rows and the share of units within the radius of the search then fits the model;
         else the m for which it fits
  3  b <- E[a - C] - E[clip_R(a - C)] under the model, the bias of clipping;  lambda <- explained + b
     repeat 2 and 3
  4  error_j^2 <- (noise^2 + variance of clip_R(a - C)_j / n_hat) / (1 - E[G_j where clipped])^2
                  + (b_j/2)^2, if m was estimated
  The same for the rest, the part of the trace that components do not explain, as one number per unit, with its
  own m.
  5  if columns were divided by bought scales of relative errors e_i: error_j^2 <- error_j^2 + 4 lambda_j^2 sum_i
         u_ji^4 e_i^2, and for the rest + 4 sum_i (1 - sum_j lambda_j u_ji^2)^2 e_i^2

Angles(release): tan^2 of the angle between component j and true component j is, to first order, the sum over all
other directions l of
  v_jl/(kappa_j - kappa_l)^2                               # noise v_jl on u_j^T Sigma u_l
  + lambda_j lambda_l/(m n_hat)/(lambda_j - lambda_l)^2    # sampling error
  + lambda_j lambda_l (TURNED H)^2/(lambda_j - lambda_l)^2  # few units with much variance, H of `tails`
  + e_j e_l/(lambda_j - lambda_l)^2                         # e_j: variance of the mean's error along j
  + (lambda_j + lambda_l)^2 sum_i u_ji^2 u_li^2 e_i^2/(lambda_j - lambda_l)^2    # errors of bought scales
where kappa are the eigenvalues of rounds, whose units are clipped, and lambda those of the population. Directions
that are not tracked have the mean of the remaining ones.
A limit lets each of these tangents t grow to q t by its quantile. In the plane of two directions, errors of that
size turn by at most arcsin(2 q t)/2, as they change the difference of the two variances, too; beyond, 90 degrees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from eigenveil._typing import FloatArray
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.release_warnings import unfounded
from eigenveil.algorithms.tails import TURNED, hidden_tail
from eigenveil.algorithms.variances import CLEAR, NoisyVariances
from eigenveil.errors import InvalidInputError

_POINTS, _MOST, _FEWEST, _FOR_QUANTILE = 1 << 18, 1 << 16, 1 << 12, 1 << 12
"""For means under the model: total number of values, and largest and smallest number of points. For its quantiles:
number of points."""
_FREEDOMS: FloatArray = 2.0 ** np.arange(-4.0, 21.0, 2.0)
"""Grid of degrees of freedom, between which values are interpolated."""
_ALIKE = 1.5
"""Largest factor between the radius of normal rows and the radius found. Radii are known up to half a step of the
search (1.2) and the noise of counts."""
_REPEATS = 3
_UNSURE = 0.5
"""Uncertain share of the bias of clipping, if degrees of freedom were estimated from a radius."""
_TOO_NOISY = 0.2
"""Ratio of noise to clipping radius above which units are too few for any estimate, including radii."""
_TINY, _FARTHEST = 1e-200, 1e100
_TAIL: FloatArray = np.linspace(-8.0, 8.0, 401)


@dataclass(frozen=True, kw_only=True, eq=False)
class VarianceErrors:
    """Variances corrected for the bias of clipping, and their standard errors with respect to the population.

    Parameters
    ----------
    explained, errors : array of shape (k,)
        Variances along the components, and their standard errors.
    rest, rest_error : float
        Variance that the components do not explain, and its standard error.
    freedom : float
        Degrees of freedom m of the model. It is 1 for normal rows, more for people with several rows, and less for
        heavy tails.
    """

    explained: FloatArray
    errors: FloatArray
    rest: float
    rest_error: float
    freedom: float

    @property
    def total(self) -> float:
        """Total variance, the trace of Sigma."""
        return float(self.explained.sum()) + self.rest

    @property
    def total_error(self) -> float:
        """Standard error of the total variance."""
        return math.hypot(float(np.linalg.norm(self.errors)), self.rest_error)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return intervals for the variances along the components, of shape (k, 2); at least 0."""
        return _around(self.explained, self.errors, level)

    def total_interval(self, level: float = 0.95) -> FloatArray:
        """Return an interval for the total variance, of shape (2,)."""
        out: FloatArray = _around(np.array([self.total]), np.array([self.total_error]), level)[0]
        return out

    def ratio_interval(self, level: float = 0.95) -> FloatArray:
        """Return intervals for shares of the total, of shape (k, 2), to first order in the errors; in [0, 1]."""
        if not self.total > 0:
            check_level(level)
            return np.tile([0.0, 1.0], (len(self.errors), 1))
        shares = self.explained / self.total
        own = self.errors**2
        others = self.total_error**2 - own
        errors = np.sqrt((1 - shares) ** 2 * own + shares**2 * others) / self.total
        return np.minimum(_around(shares, errors, level), 1.0)


def variance_errors(bought: NoisyVariances) -> VarianceErrors:
    """Compute the errors of variances: steps 1 to 4 of VarianceErrors.

    Parameters
    ----------
    bought : NoisyVariances
        Result of `buy_variances`.

    Notes
    -----
    *Formal guarantees.* Post-processing: the only inputs are releases and public numbers, and nothing is drawn.

    *Assumptions.* Noise is known exactly. The sampling error and the bias of clipping are those of normal rows, or
    of people with several normal rows. For heavier tails both are underestimated, and variances remain too low.

    Examples
    --------
    >>> bought = NoisyVariances(
    ...     explained=np.array([8.9]), total=11.0, noise=0.1, total_noise=0.12, share_above=0.0,
    ...     centre=np.array([8.0]), radius=60.0, seen=30.0, quantile=0.96,
    ...     rest_centre=2.0, rest_radius=9.0, rest_seen=4.0, rest_quantile=0.94, n_hat=20_000.0,
    ... )
    >>> found = variance_errors(bought)
    >>> found.freedom, found.explained.round(2), found.errors.round(2), found.interval().round(1)
    (1.0, array([9.]), array([0.14]), array([[8.7, 9.3]]))
    """
    if bought.centre.size != bought.explained.size or not bought.n_hat >= 1:
        raise InvalidInputError(
            "these variances have no record of how they were clipped, so their errors are not known.",
            hint="Variances of algorithm='tracked' have that record from this version on.",
        )
    along = _Clipped(bought.explained, bought.centre, bought.radius, bought.seen, bought.quantile, bought.noise)
    with np.errstate(under="ignore"):
        own = _unclipped(along, n_hat=bought.n_hat, rows=bought.rows)
        rest = _rest(bought)
    return VarianceErrors(
        explained=own.mean,
        errors=own.errors,
        rest=float(rest.mean[0]),
        rest_error=float(rest.errors[0]),
        freedom=own.freedom,
    )


def release_errors(release: Release) -> VarianceErrors:
    """Compute the errors of a release's variances, including the errors of bought column scales (steps 1 to 5).

    Notes
    -----
    *Formal guarantees.* Post-processing of releases.

    With bought scales, errors are with respect to rows whose columns are divided by their true standard
    deviations. A scale that is too large by a relative error e makes u^T Sigma u smaller by 2 lambda u_i^2 e, to
    first order.
    """
    assert release.variances is not None
    found, errors = variance_errors(release.variances), release.scale_errors
    if errors is None:
        return found
    squares = release.components**2
    own = 2 * found.explained * np.sqrt(squares**2 @ errors**2)
    left = np.maximum(1 - found.explained @ squares, 0.0)
    return replace(
        found,
        errors=np.hypot(found.errors, own),
        rest_error=math.hypot(found.rest_error, 2 * float(np.linalg.norm(left * errors))),
    )


def _rest(bought: NoisyVariances) -> _Unclipped:
    """Return the variance that components do not explain; 0 with error 0 if there is no rest."""
    left = np.array([max(bought.total - float(bought.explained.sum()), 0.0)])
    if not math.isfinite(bought.rest_radius):
        return _Unclipped(0 * left, 0 * left, math.inf)
    noise = math.sqrt(max(bought.total_noise**2 - bought.explained.size * bought.noise**2, 0.0))
    centre = np.array([bought.rest_centre])
    clipped = _Clipped(left, centre, bought.rest_radius, bought.rest_seen, bought.rest_quantile, noise)
    return _unclipped(clipped, n_hat=bought.n_hat, rows=False)


@dataclass(frozen=True)
class _Clipped:
    """Clipped noisy mean, and the public numbers with which it was computed."""

    mean: FloatArray
    centre: FloatArray
    radius: float
    seen: float
    quantile: float
    noise: float


@dataclass(frozen=True)
class _Unclipped:
    mean: FloatArray
    errors: FloatArray
    freedom: float


def _unclipped(clipped: _Clipped, *, n_hat: float, rows: bool) -> _Unclipped:
    """Steps 1 to 4. `rows` says whether normal rows are tried first."""
    least = np.maximum(0.01 * clipped.noise, _TINY)
    mean = np.maximum(clipped.mean, least)
    points = _points(mean.size)
    for _ in range(_REPEATS):
        freedom = _freedom(mean, clipped, points[:_FOR_QUANTILE], rows=rows)
        shapes = _chi_squares(points, freedom)
        away = mean * shapes - clipped.centre
        norms = np.linalg.norm(away, axis=1)
        kept = np.minimum(1.0, clipped.radius / np.maximum(norms, _TINY))[:, None]
        taken = np.mean(away * (1 - kept), axis=0)
        mean = np.clip(clipped.mean + taken, least, np.maximum(2 * clipped.mean, least))
    chance = np.var(away * kept, axis=0) / n_hat
    slope = 1 - np.minimum(np.mean(shapes * (kept < 1), axis=0), 0.5)
    doubt = 0.0 if rows and freedom == 1.0 else _UNSURE * taken
    return _Unclipped(mean, np.sqrt((clipped.noise**2 + chance) / slope**2 + doubt**2), freedom)


def _freedom(mean: FloatArray, clipped: _Clipped, points: FloatArray, *, rows: bool) -> float:
    """Step 2: return the degrees of freedom for which the model fits the radius that the search found."""

    def radius(freedom: float) -> float:
        away = mean * _chi_squares(points, freedom) - clipped.centre
        return float(np.quantile(np.linalg.norm(away, axis=1), clipped.quantile))

    if not clipped.seen > 0 or (rows and 1 / _ALIKE < radius(1.0) / clipped.seen < _ALIKE):
        return 1.0
    radii = np.array([radius(freedom) for freedom in _FREEDOMS])
    widest = int(np.argmax(radii))  # with fewer degrees most units are near 0, and the radius falls again
    logs = np.log(np.maximum(np.minimum.accumulate(radii[widest:])[::-1], _TINY))
    return float(2.0 ** np.interp(math.log(clipped.seen), logs, np.log2(_FREEDOMS[widest:][::-1])))


def _points(k: int) -> FloatArray:
    """Return normal numbers for means under the model. They are the same every time, and no part of any noise."""
    count = min(max(_POINTS // k, _FEWEST), _MOST)
    return np.random.default_rng(0).standard_normal((count, k))


def _chi_squares(points: FloatArray, freedom: float) -> FloatArray:
    """Return chi-squares divided by their degrees of freedom, at the quantiles of normal numbers (for 1: squares).

    Examples
    --------
    >>> _chi_squares(np.array([0.0]), 2.0).round(3)  # the median is log(2)
    array([0.693])
    """
    if freedom == 1.0:
        out: FloatArray = points**2
        return out
    above = special.gammainccinv(freedom / 2, special.ndtr(-_TAIL))
    return np.asarray(np.interp(points, _TAIL, above * 2 / freedom), dtype=np.float64)


# -- directions ----------------------------------------------------------------------------------


def component_angles(release: Release, *, level: float | None = None) -> FloatArray:
    """Estimate the angles between components and the nearest true components, in radians.

    Parameters
    ----------
    release : Release
        Release of `tracked_pca`.
    level : float, optional
        Probability, approximately, with which the angle is not exceeded. None: the expected root mean square.

    Returns
    -------
    array of shape (k,)
        Angles of at most pi/2, which means that nothing is known about that component.

    Notes
    -----
    *Formal guarantees.* Post-processing of releases.

    The expected angle is first-order perturbation theory, accurate to a few tens of percent if angles are small.
    If errors may hide the difference of two variances, components may be swapped: expected angles are then near 45
    degrees, limits are 90 degrees, and only the span is reliable. The sampling error is that of normal rows (or of
    people with several normal rows). What few units with much variance may turn is not known. The term for it
    grows with what noise may hide, and with how slowly the tails that are seen fall off.
    """
    bought = release.variances
    followed = release.diagnostics.get("followed")
    assert bought is not None
    assert isinstance(followed, Mapping)
    parts = _squared_tangents(release, bought, followed)
    # each direction turns a component by at most 45 degrees towards it, unless the two are swapped
    expected = parts / (1 + parts)
    if level is not None:
        check_level(level)
        total = expected.sum(axis=1)
        freedom = total**2 / np.maximum(np.sum(expected**2, axis=1), _TINY)
        factor = special.gammaincinv(np.maximum(freedom, 1e-3) / 2, level) * 2 / np.maximum(freedom, _TINY)
        doubled = 2 * np.sqrt(factor[:, None] * parts)
        expected = np.where(doubled > 1, np.inf, np.tan(np.arcsin(np.minimum(doubled, 1.0)) / 2) ** 2)
    lost = _lost(bought) | unfounded(release.warnings, *release.components.shape)
    return np.where(lost, np.pi / 2, np.arctan(np.sqrt(expected.sum(axis=1))))


def _lost(bought: NoisyVariances) -> npt.NDArray[np.bool_]:
    """Return which components have a variance hidden by noise: all of them if there are too few units."""
    return (bought.explained < 2 * bought.noise) | (bought.noise > _TOO_NOISY * bought.radius)


def _squared_tangents(release: Release, bought: NoisyVariances, followed: Mapping[str, Any]) -> FloatArray:
    """Return the contribution of every direction to tan^2 of each component's angle, to first order; (k, d)."""
    k, d = release.components.shape
    values, noise, inside = (
        np.asarray(followed[name], dtype=float) for name in ("eigenvalues", "noise", "inside")
    )
    kappa, lam = _spectra(values, bought, d)
    gaps = np.abs(kappa[:k, None] - kappa)
    known = np.empty((k, d))
    known[:, :k] = 1 / (inside[:k, None] ** -2 + inside[:k] ** -2)
    known[:, k:] = noise[:k, None] ** 2

    hidden = TURNED * hidden_tail(release.diagnostics, kappa)
    share = 1 / (variance_errors(bought).freedom * bought.n_hat) + hidden**2
    turned = share * lam[:k, None] * lam
    apart = np.abs(lam[:k, None] - lam)
    unclear = apart < CLEAR * bought.noise
    apart[unclear] = gaps[unclear] * lam[0] / max(kappa[0], _TINY)  # rounds distinguish close ones better
    if release.mean_errors is not None:
        turned += _by_mean(release.components, release.mean_errors)
    if release.scale_errors is not None:
        turned += (lam[:k, None] + lam) ** 2 * _shared(release.components, release.scale_errors)
    out: FloatArray = np.minimum(known / (gaps**2 + _TINY) + turned / (apart**2 + _TINY), _FARTHEST)
    out[np.arange(k), np.arange(k)] = 0.0
    return out


def hidden_variance(diagnostics: Mapping[str, Any], bought: NoisyVariances, d: int) -> float:
    """Return how much units that no count shows may carry, as a share of what all units carry (see `tails`)."""
    values = np.asarray(diagnostics["followed"]["eigenvalues"], dtype=float)
    return hidden_tail(diagnostics, _spectra(values, bought, d)[0])


def _by_mean(components: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the variance of u_j^T m m^T u_l for the mean's error m, for components j and all directions l."""
    (k, d), along = components.shape, components**2 @ errors**2
    left = max(float(errors @ errors) - float(along.sum()), 0.0) / max(d - k, 1)
    return np.outer(along, np.concatenate([along, np.full(d - k, left)]))


def _shared(components: FloatArray, errors: FloatArray) -> FloatArray:
    """Return sum_i u_ji^2 u_li^2 e_i^2 for components j and all directions l, of shape (k, d).

    Directions other than the components get equal shares of the remainder.
    """
    (k, d), squares = components.shape, components**2
    weighted = squares * errors**2
    left = weighted @ np.maximum(1 - squares.sum(axis=0), 0.0)
    return np.concatenate([weighted @ squares.T, np.tile(left[:, None] / max(d - k, 1), (1, d - k))], axis=1)


def _spectra(values: FloatArray, bought: NoisyVariances, d: int) -> tuple[FloatArray, FloatArray]:
    """Return all d eigenvalues, as estimated in rounds, and of the population.

    Bought variances are those of the population. Eigenvalues of spare directions are scaled by the same factor as
    that of the last requested component. The rest of the total is divided equally among the other directions.
    """
    k, m = bought.explained.size, values.size
    kappa = np.maximum(values, 0.0)
    scale = min(max(float(bought.explained[-1]) / max(float(kappa[k - 1]), _TINY), 0.5), 4.0)
    lam = np.concatenate([bought.explained, scale * kappa[k:]])
    mean = max(bought.total - float(lam.sum()), 0.0) / max(d - m, 1)
    outside = min(mean, float(lam[-1]))
    kappa = np.concatenate([kappa, np.full(d - m, outside / scale)])
    return kappa, np.concatenate([lam, np.full(d - m, outside)])


def check_level(level: float) -> None:
    """Raise unless `level` is a number between 0 and 1."""
    if not (isinstance(level, int | float | np.floating) and 0 < level < 1):
        raise InvalidInputError(f"level must lie between 0 and 1, got {level!r}.", hint="The usual level is 0.95.")


def _around(values: FloatArray, errors: FloatArray, level: float) -> FloatArray:
    """Return two-sided intervals of this level, at least 0, of shape (k, 2)."""
    check_level(level)
    reach = float(special.ndtri((1 + level) / 2)) * errors
    return np.maximum(np.stack([values - reach, values + reach], axis=1), 0.0)
