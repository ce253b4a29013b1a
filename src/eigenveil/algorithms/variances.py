"""Noisy variances along released components, and in total.

BuyVariances({A_i}, u_1..u_k, guess, rest, n_hat, mu):
  a_i = (u_1^T A_i u_1, ..., u_k^T A_i u_k),  r_i = trace(A_i) - sum of a_i
  1  unless `rest` is known: rest <- noisy median of the r_i, by a radius search around 0
  2  radii <- FarOut({a_i}, guess), FarOut({r_i}, rest)                          # one pass
  3  explained <- ClippedMean({a_i}, centre guess); rest <- ClippedMean({r_i}, centre rest)
     share above <- 1 - noisy count of ||a_i - guess|| <= R, over n_hat          # one pass for all three
  4  total <- sum of explained + rest

FarOut({a_i}, C):
  1  R <- noisy search, over 32 edges around a public scale, for the highest quantile q <= .99 that can be
     distinguished from noise
  2  R <- R log(p)/log(1 - q), p = 1.5 sqrt(k) sensitivity/(R mu n_hat), at which the bias of clipping is about
     half of the noise. The tail beyond R is assumed to fall off exponentially   # 1 to 4 times
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from eigenveil._typing import FloatArray
from eigenveil.engines import Asked, Population, read_ahead
from eigenveil.errors import InvalidInputError
from eigenveil.kernels import to_single
from eigenveil.mechanisms import Noisy, NoisyMean, clipped_mean, noisy_count_within, radius_search
from eigenveil.mechanisms.clipped_mean import Found, Search, mean_noise
from eigenveil.mechanisms.clipped_sum import clip_for_sum
from eigenveil.mechanisms.noise.veil import Veil
from eigenveil.mechanisms.radius import EDGES, reachable_quantile
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import PrivateUnits

SHARES = {
    "variances: radius": 0.15,
    "variances: sum": 0.6,
    "above": 0.02,
    "middle": 0.08,
    "variances, rest: radius": 0.06,
    "variances, rest: sum": 0.09,
}
"""Shares of mu^2. The shares of what need not be bought go to the others: the middle if it is known, and the rest
if there are as many components as columns."""
HIGHEST, FARTHEST = 0.99, 4.0
"""Highest quantile of the search, and the largest factor by which a radius may exceed the quantile found."""
TAIL = 1.5
"""Target for the share of units above a radius, divided by sqrt(k) times the share at which a larger radius adds
as much noise as it removes bias. The bias is then about half of the noise, near the optimum for their sum."""
LOWEST, HIGHEST_EDGE = 2.0**-10, 64.0
"""Range of the radius search, as multiples of a public scale."""
CLEAR = 4.0
"""Number of standard deviations by which noisy variances of distinguishable components differ."""
_COUNTS = 5
"""Number of noisy counts in a search over 2^5 edges."""


@dataclass(frozen=True, kw_only=True)
class NoisyVariances:
    """Private estimates of u^T Sigma u for every component u, and of the trace of Sigma.

    Parameters
    ----------
    explained : array of shape (k,)
        Variance along each component, at least 0.
    total : float
        Trace of Sigma, at least the sum of `explained`.
    noise, total_noise : float
        Standard deviation of the noise in an entry of `explained`, and in `total`.
    share_above, share_noise : float
        Noisy share of the units that were clipped, in [0, 1]. It indicates how much the estimates may be too low.
        And the standard deviation of its noise, before the share was clipped to [0, 1].
    centre, radius : array of shape (k,), float
        Units were clipped to this distance from this centre.
    seen, quantile : float
        Approximate distance from the centre within which a noisy search found the share `quantile` of the units.
        It measures their spread.
    rest_centre, rest_radius, rest_seen, rest_quantile : float
        The same for the rest: the part of a unit's trace that the components do not explain. nan if there is no
        rest.
    n_hat : float
        Number by which sums were divided.
    rows : bool
        Whether every unit is one row, which is public.
    """

    explained: FloatArray
    total: float
    noise: float
    total_noise: float
    share_above: float
    share_noise: float = math.nan
    centre: FloatArray = field(default_factory=lambda: np.zeros(0))
    radius: float = math.nan
    seen: float = math.nan
    quantile: float = math.nan
    rest_centre: float = math.nan
    rest_radius: float = math.nan
    rest_seen: float = math.nan
    rest_quantile: float = math.nan
    n_hat: float = math.nan
    rows: bool = True

    @property
    def ratios(self) -> FloatArray:
        """Share of the total variance along each component."""
        return self.explained / self.total if self.total > 0 else 0 * self.explained

    def in_order(self, order: npt.NDArray[np.intp]) -> Self:
        """Return the same variances with the components in another order."""
        return replace(self, explained=self.explained[order], centre=self.centre[order])


def buy_variances(
    units: PrivateUnits,
    components: FloatArray,
    *,
    guess: FloatArray,
    n_hat: float,
    mu: float,
    rest: float | None = None,
) -> NoisyVariances:
    """Buy the variances along components that are already public, and the trace, with all of `mu`.

    Parameters
    ----------
    units : Units
        The units whose components were found: centred if they were, but neither projected nor damped.
    components : array of shape (k, d)
        Orthonormal rows; public.
    guess : array of shape (k,)
        Rough variances along the components; public. Better guesses give less noise. Guesses that are
        wrong by a factor of 8 still work. Negative values and nan count as 0. If all are 0, searches use the whole
        public grid: a histogram of norms first, then as many counts, with more noise.
    n_hat : float
        Noisy count of the units, or their public number. Raised to at least 1.
    mu : float
        Privacy budget.
    rest : float, optional
        Rough variance that the components do not explain; public. None: a search finds its median.

    Formal guarantees
    -----------------
    *All relations.* Two or three radius searches (as in `radius_search`), one count (sensitivity 1), and two
    clipped sums (sensitivity R under *add-remove* and *empty-slot*, 2 R under *replace*), in sequence, with fixed
    shares of mu^2: mu-GDP in total. Everything that is read ahead is released through these alone. The
    contribution of a unit is a function of that unit and of public numbers, bit by bit (`Operator.variances`).
    Windows, quantiles and radii follow from `guess`, `rest`, `n_hat` and earlier releases. `explained` and `total`
    are clipped from below after the noise is added. With k = d there is no rest: one search, one sum and one count
    get all of mu.

    `noise` and `total_noise` are exact standard deviations of the noise in the sums. Clipping biases the estimates
    downwards: by about half of the noise for light tails, and by more than the noise for heavy tails (log-normal
    rows).

    ==============================  ==================================================================
    edge case                       result
    ==============================  ==================================================================
    no units, few units, n_hat 1    finite numbers dominated by noise, as `noise` shows
    all units zero                  noise at the scale of the smallest edge of the search
    all equal to the guess          the guess, with noise of 2^-10 of it
    k = d                           total is the sum of `explained`
    huge, outliers                  clipped to the radius; to the largest edge if all lie beyond it
    nan, inf, norm overflows        such a unit adds nothing, silently
    guess of another shape          refused (a public number)
    ==============================  ==================================================================

    Examples
    --------
    >>> from eigenveil.mechanisms import Veil
    >>> from eigenveil.operators import samples
    >>> from eigenveil.privacy import Budget, Ledger
    >>> from eigenveil.units import Units
    >>> X = np.random.default_rng(0).normal(size=(20_000, 3)) * [3.0, 1.0, 1.0]
    >>> budget = Budget.from_mu(1.0)
    >>> units = Units(samples.rows(X), Veil(Ledger(budget)), budget)
    >>> bought = buy_variances(units, np.eye(3)[:1], guess=np.array([8.0]), n_hat=20_000, mu=1.0)
    >>> bool(abs(bought.explained[0] - 9) < 0.5), bool(abs(bought.total - 11) < 0.5), bought.noise < 0.01
    (True, True, True)
    """
    components = np.asarray(components, dtype=np.float64)
    centre = _public_guess(guess, components)
    k = len(components)
    n_hat = max(float(n_hat), 1.0)
    with_rest = k < units.d
    mus = _shares(mu, rest=with_rest, middle=with_rest and rest is None)
    scale = float(np.linalg.norm(centre))
    edges = _edges(scale * LOWEST, scale * HIGHEST_EDGE)
    buying = _Buying(n_hat, units.veil)
    means = [buying.mean(units.variances(components.T, entries=slice(k)), centre, edges, mus, "variances")]
    if with_rest:
        others = units.variances(components.T, entries=slice(k, None))
        # 1
        if rest is None:
            largest = float(centre.max())
            rest = buying.buy_middle(others, largest, largest * (units.d - k), mus["middle"])
        middle = _public_guess(np.array([rest]), components[:1])
        edges = _edges(float(middle[0]) * LOWEST, float(middle[0]) * HIGHEST_EDGE)
        means.append(buying.mean(others, middle, edges, mus, "variances, rest"))
    # 2
    read_ahead(*(one.for_radius for one in means))
    found = [one.buy_radius() for one in means]
    # 3
    read_ahead(*(one.for_sum(radius.radius) for one, radius in zip(means, found, strict=True)))
    bought = [one.buy_mean(radius) for one, radius in zip(means, found, strict=True)]
    explained, left = bought[0], bought[1] if with_rest else _NO_REST
    above = buying.buy_share_above(means[0], explained.radius, mus["above"])
    # 4
    along = np.maximum(explained.value, 0.0)
    return NoisyVariances(
        explained=along,
        total=float(along.sum()) + max(float(left.value[0]), 0.0),
        noise=explained.noise,
        total_noise=math.hypot(math.sqrt(k) * explained.noise, left.noise),
        share_above=above.value,
        share_noise=above.scale,
        centre=np.asarray(centre, dtype=np.float64),
        radius=explained.radius,
        seen=explained.seen,
        quantile=explained.kept,
        rest_centre=float(means[1].centre[0]) if with_rest else math.nan,
        rest_radius=left.radius,
        rest_seen=left.seen,
        rest_quantile=left.kept,
        n_hat=n_hat,
        rows=units.single_rows,
    )


_NO_REST = NoisyMean(np.zeros(1), 0.0, radius=math.nan, kept=math.nan, seen=math.nan, offset=math.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class FarOut:
    """Radius beyond the highest quantile that a noisy search can find, where clipping has little bias."""

    mu: float
    edges: FloatArray

    def find(self, search: Search) -> Found:
        """Buy one noisy search, and extrapolate from its result."""
        # 1
        q = reachable_quantile(HIGHEST, n_hat=search.n_hat, mu=self.mu, edges=self.edges)
        found = search.at(q, mu=self.mu, edges=self.edges)
        # 2
        extended = found * _beyond(q, TAIL * math.sqrt(search.centre.size) * search.noise)
        return Found(min(extended, float(self.edges[-1])), kept=q, seen=_within(found, self.edges))


@dataclass(frozen=True)
class _Buying:
    """Number of units and veil, which all purchases share."""

    n_hat: float
    veil: Veil

    def mean(
        self, population: Population, centre: FloatArray, edges: FloatArray, mus: dict[str, float], what: str
    ) -> _ToBuy:
        """Return a clipped mean that is still to be bought."""
        return _ToBuy(self, population, centre, edges, mus[f"{what}: radius"], mus[f"{what}: sum"], what)

    def buy_middle(self, population: Population, largest: float, widest: float, mu: float) -> float:
        """Step 1: buy the approximate median of the rest, between `largest` / 16 and `widest`.

        A rest far below `largest` needs no centre.
        """
        edges = _edges(largest / 16, widest)
        found = radius_search(
            population,
            centre=np.zeros(1),
            target=self.n_hat / 2,
            mu=mu,
            veil=self.veil,
            what="variances, rest: middle",
            edges=edges,
            purpose=Purpose.VARIANCES,
        )
        return _within(found.value, edges)

    def buy_share_above(self, mean: _ToBuy, radius: float, mu: float) -> Noisy:
        """Buy the noisy share of the units outside of the radius, clipped to [0, 1] after the noise is added."""
        within = noisy_count_within(
            mean.population,
            centre=mean.centre,
            radius=radius,
            mu=mu,
            veil=self.veil,
            what="variances: share above",
            purpose=Purpose.VARIANCES,
        )
        return Noisy(float(np.clip(1 - within.value / self.n_hat, 0.0, 1.0)), within.scale / self.n_hat)


@dataclass(frozen=True, eq=False)
class _ToBuy:
    """Clipped mean that is to be bought: first its radius, then its sum."""

    buying: _Buying
    population: Population
    centre: FloatArray
    edges: FloatArray
    mu_radius: float
    mu_sum: float
    what: str

    @property
    def for_radius(self) -> Asked:
        """Query of the radius search."""
        return Asked(self.population, self.centre, np.append(self.edges, np.inf))

    def for_sum(self, radius: float) -> Asked:
        """Return the query of the sum and of a count within its radius."""
        clip = clip_for_sum(self.population, radius, mu=self.mu_sum, relation=self.buying.veil.relation)
        return Asked(self.population, self.centre, np.array([radius]), (clip,))

    def buy_radius(self) -> Found:
        """Buy the radius."""
        n_hat, veil = self.buying.n_hat, self.buying.veil
        noise = mean_noise(1.0, mu=self.mu_sum, n_hat=n_hat, relation=veil.relation)
        what = f"{self.what}: radius"
        search = Search(
            population=self.population,
            centre=self.centre,
            n_hat=n_hat,
            noise=noise,
            veil=veil,
            what=what,
            purpose=Purpose.VARIANCES,
        )
        return FarOut(mu=self.mu_radius, edges=self.edges).find(search)

    def buy_mean(self, radius: Found) -> NoisyMean:
        """Buy the mean, clipped at the radius."""
        return clipped_mean(
            self.population,
            centre=self.centre,
            n_hat=self.buying.n_hat,
            radius=radius,
            mu=self.mu_sum,
            veil=self.buying.veil,
            what=self.what,
            purpose=Purpose.VARIANCES,
        )


def _within(found: float, edges: FloatArray) -> float:
    """Return the geometric mean of the edge that was found and the edge below."""
    return float(found * math.sqrt(edges[0] / edges[1]))


def _shares(mu: float, *, rest: bool, middle: bool) -> dict[str, float]:
    """Return the mu of every release, by its name in SHARES."""
    left_out = [] if rest else ["variances, rest: radius", "variances, rest: sum"]
    left_out += [] if middle else ["middle"]
    shares = {name: share for name, share in SHARES.items() if name not in left_out}
    return dict(zip(shares, split_mu(mu, list(shares.values())), strict=True))


def _beyond(quantile: float, share: float) -> float:
    """Return the factor from a quantile to the radius with `share` of the units above it, for an exponential tail.

    Examples
    --------
    >>> round(_beyond(0.9, 0.01), 9), _beyond(0.9, 0.5), _beyond(0.5, 1e-6)
    (2.0, 1.0, 4.0)
    """
    factor = math.log(min(share, 1.0)) / math.log(1 - quantile)
    return min(max(factor, 1.0), FARTHEST)


def _edges(low: float, high: float) -> FloatArray:
    """Return 32 edges from `low` to `high`, or the whole public grid if `low` is 0."""
    return np.geomspace(low, high, 1 << _COUNTS) if low > 0 else EDGES


def _public_guess(guess: FloatArray, components: FloatArray) -> FloatArray:
    """Return the guess as numbers that can define edges: finite, and either 0 or far from under- and overflow."""
    if components.ndim != 2 or not components.size or np.shape(guess) != (len(components),):
        raise InvalidInputError(
            f"expected components of shape (k, d) and k guesses, got shapes {components.shape} and "
            f"{np.shape(guess)}.",
            hint="guess holds one rough variance per component.",
        )
    plain = np.clip(np.nan_to_num(np.asarray(guess, dtype=np.float64)), 0.0, 2.0**100)
    return to_single(np.where(plain < 2.0**-100, 0.0, plain))
