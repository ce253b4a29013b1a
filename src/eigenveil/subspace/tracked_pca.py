"""Tracked block iteration, our own method: a block of directions, refined around what is already public.

TrackedPCA({A_i}, k, mu):
  1  n_hat <- noisy count of good units (and of bad ones)                          # 1 % of mu^2
     if rows are to be centred: a private mean, taken off every row                # 8 %
  2  a pilot, 30 % of what steps 2 to 4 have:
       4 rounds from a random start, each with 3 times the share of the one before, all weights 1; on few units,
       where count noise in the first would exceed n_hat/10, 3.
       In place of the last of them: a release of Sigma itself, where releases say that it tells more (directions
       that converge slowly, small d). On very few units that release is all of the pilot.
  3  if Sigma itself, with all that is left, promises more than a block: that, and go to 5.
     While the centre has not caught up with the units, or directions still move by more than the noise of a last
       round: a round with 8 % of what is left
  4  a last round with all that is left; on few units two, 1 : 3
  5  the first k directions; variances along them and in all, from a release of their own     # 2 %

Where k + 5 >= d the block would be the whole space: then steps 2 to 4 are two releases of Sigma itself.
Rounds are described in `tracking`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from eigenveil.engines import LocalEngine
from eigenveil.engines.population import FloatArray
from eigenveil.kernels import to_single
from eigenveil.mechanisms import noisy_census, private_mean, tracked_mean
from eigenveil.mechanisms.radius import QUERIES
from eigenveil.mechanisms.units import Units
from eigenveil.privacy import Ledger, Relation, split_mu
from eigenveil.subspace.bounds import COUNT_SHARE, matrix_radius
from eigenveil.subspace.opening import check_k, open_units
from eigenveil.subspace.prices import lag, noise_of_block, noise_of_matrix, slowness
from eigenveil.subspace.release import Release, signed
from eigenveil.subspace.tracking import (
    RADIUS_SHARE,
    Answer,
    State,
    ask,
    best_weights,
    from_matrix,
    learn,
    nothing_known,
    plain_weights,
    reconciled,
)
from eigenveil.subspace.variances import buy_variances

MEAN_SHARE, VARIANCES_SHARE = 0.08, 0.02
PILOT_SHARE, PILOT_ROUNDS, PILOT_GROWTH = 0.3, 4, 3.0
LOOK_SHARE, MATRIX_SHARE, FIRST_MATRIX = 0.01, 0.28, 0.1
"""Shares of the radius that prices a release of Sigma, of that release, and of the first of two of them."""
SLOW = 8.0
"""How much more than one round shows directions still lack, where they converge slowly."""
FINISH = 0.6
"""Sigma itself has the last word if it promises this much of what a block would still get wrong."""
EXTRA_SHARE, MOST_EXTRA = 0.08, 8
CAUGHT_UP = 0.5
"""How far, over the radius, the units' mean may lie from the centre before a last round is worth its price."""
LEAST_SPREAD = 1e-3
"""The share of a squared radius that is taken to be spread around the mean, however far the centre was off."""
FEW = 0.1
"""Noise of a count over the number of units that a radius search at the median still stands: 5 deviations."""
MANY_BAD = 0.05
"""The share of bad units above which a warning tells of them."""
FEWEST_ROUNDS = 3
"""Pilots of fewer rounds from a random start learn less than one release of Sigma itself."""
WIDEST_MATRIX = 1024
QUANTILE, HIGH_QUANTILE, QUIET = 0.5, 0.9, 1e-3
"""Where units are clipped; and where Sigma is, once its noise costs less than a share QUIET of the energy."""


def tracked_pca(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str = Relation.ADD_REMOVE,
    center: bool = False,
    oversampling: int = 5,
    ledger: Ledger | None = None,
    random_state: int | None = None,
    engine: LocalEngine | None = None,
) -> Release:
    """Find k private principal directions by tracked block iteration.

    Nothing need be known of the data: count, radii and sums are all paid for.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        How many directions.
    epsilon, delta : float
        What the whole may cost.
    relation : {"add-remove", "replace"}
        What neighbours are.
    center : bool
        Whether to take a private mean off every row first (rows and people only), as PCA usually does. Without it
        directions are those of the second moment.
    oversampling : int
        How many directions more than k are followed, since the last wanted one is slow to tell from the next.
    ledger : Ledger, optional
        One to charge that other runs charge too.
    random_state : int, optional
        A seed, for tests and teaching: the release then says "not private".

    Returns
    -------
    Release
        `mean` if centred. `variances` along the components and in all, with their noise; `eigenvalues` are these.
        `diagnostics` has n_hat, the noisy number of bad units, the pilot, per round its radius, noise, weights and
        offset, and what is known of all directions that were followed.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP under `relation`. Every draw is Gaussian: a count, radius searches, clipped sums, each with
    the sensitivity proven in its mechanism. Weights, radii, the number of rounds and their shares are functions of
    earlier releases, and the sum of all shares is fixed in advance by the ledger (a privacy filter, see
    `Budget`), so the whole is mu-GDP with the mu that (epsilon, delta) buys. QR, eigenvectors and signs are
    post-processing.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no units, few units             orthonormal directions full of noise, and a warning
    k = d, d = 1, d < k + 5         fewer directions are followed, at most d
    all units zero, equal           no special case; directions without variance are arbitrary
    nan, inf, norm overflows        such a unit adds nothing; a warning if a noisy count of them passes 5 %
    ==============================  ==================================================================

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 8)) * np.sqrt([9, 4, 1, 1, 1, 1, 1, 1])
    >>> release = tracked_pca(X, 2, epsilon=1.0, delta=1e-6, random_state=0)
    >>> bool(np.all(np.abs(release.components[:, :2]).max(axis=1) > 0.99))
    True
    >>> release
    <Release of tracked: NOT PRIVATE: seeded: ...>
    """
    units = open_units(
        samples,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        ledger=ledger,
        random_state=random_state,
        engine=engine,
    )
    return on_units(units, check_k(k, units.d), center=center, oversampling=oversampling)


def on_units(units: Units, k: int, *, center: bool = False, oversampling: int = 5) -> Release:
    """Run on units under a veil, with all of their budget."""
    m = min(k + oversampling, units.d)
    for_mean = MEAN_SHARE if center else 0.0
    shares = [COUNT_SHARE, for_mean, VARIANCES_SHARE]
    mu_count, mu_mean, mu_variances, mu = split_mu(units.budget.mu, [*shares, 1 - sum(shares)])
    # 1
    census = noisy_census(units.block(np.eye(units.d, 1)), mu=mu_count, veil=units.veil)
    n_hat = max(1.0, census.good)
    mean = None
    if center:
        mean = to_single(private_mean(units.vectors(), n_hat=n_hat, mu=mu_mean, veil=units.veil).mean)
        units = units.shifted(mean)
    run = _Run(units, k, n_hat, mu)
    with np.errstate(over="ignore", under="ignore"):
        state = run.whole_space() if m == units.d <= WIDEST_MATRIX else run.by_blocks(m)
    # 5
    components = signed(np.ascontiguousarray(state.W[:, :k].T))
    variances = buy_variances(units, components, guess=state.eigenvalues[:k], n_hat=n_hat, mu=mu_variances)
    order = np.argsort(-variances.explained, kind="stable")
    if run.count_noise(run.first_share) > FEW:
        warnings.warn(run.too_few(), UserWarning, stacklevel=3)
    if census.bad - 3 / mu_count > MANY_BAD * (n_hat + census.bad):
        warnings.warn(_many_bad(n_hat, census.bad), UserWarning, stacklevel=3)
    return Release(
        algorithm="tracked",
        components=components[order],
        eigenvalues=variances.explained[order],
        variances=variances.in_order(order),
        mean=mean,
        ledger=units.veil.ledger,
        diagnostics={
            "n_hat": n_hat,
            "bad_units": max(0.0, census.bad),
            "pilot": run.pilot,
            "rounds": tuple(run.rounds),
            "followed": _followed(state, order),
        },
    )


def _followed(state: State, order: npt.NDArray[np.intp]) -> dict[str, tuple[float, ...]]:
    """What is known of Sigma along all directions that were followed: wanted ones as they are given, then spares.

    `noise` and `inside` are standard deviations of an entry of Sigma w, outside the span and within it.
    """
    first = [*order, *range(len(order), len(state.eigenvalues))]
    told = {
        "eigenvalues": state.eigenvalues,
        "noise": np.sqrt(state.variance),
        "inside": np.sqrt(state.inside),
    }
    return {name: tuple(float(value) for value in values[first]) for name, values in told.items()}


@dataclass
class _Run:
    """One run as it goes: what is left of mu^2 (as a share), and what the rounds released."""

    units: Units
    k: int
    n_hat: float
    mu: float
    left: float = 1.0
    pilot: str = ""
    first_share: float = 0.0
    trace: float = 0.0
    sigma: _Sigma | None = None
    rounds: list[dict[str, object]] = field(default_factory=list)
    answer: Answer | None = None

    def count_noise(self, share: float) -> float:
        """Noise of the counts in a round's radius search, over the number of units."""
        return math.sqrt(QUERIES / (RADIUS_SHARE * share)) / self.mu / self.n_hat

    def quiet_rounds(self) -> int:
        """How many pilot rounds there are units for: the counts of the first must not be lost in noise."""
        rounds = PILOT_ROUNDS
        while rounds > 1 and self.count_noise(PILOT_SHARE * _growing(rounds)[0]) > FEW:
            rounds -= 1
        return rounds

    def whole_space(self) -> State:
        """Where the block would be the whole space: Sigma itself, twice, or once on few units."""
        d = self.units.d
        if self.count_noise(FIRST_MATRIX) > FEW:
            return self.matrix(d, self.left)
        first = self.matrix(d, FIRST_MATRIX)
        clipping_less = noise_of_matrix(first, 2 * self.noise_of_more(first), self.k)
        return self.matrix(d, self.left, quiet=clipping_less < QUIET)

    def by_blocks(self, m: int) -> State:
        """Steps 2 to 4."""
        # 2
        rounds = self.quiet_rounds()
        if rounds < FEWEST_ROUNDS and self.units.d <= WIDEST_MATRIX:
            state = self.matrix(m, PILOT_SHARE)
        else:
            state = self.pilot_rounds(m, rounds)
        # 3
        if self.sigma is not None and self.another_matrix_is_better(state):
            return self.matrix(m, self.left)
        for _ in range(MOST_EXTRA):
            if not self.worth_another(state):
                break
            state = self.round(state, self.left * EXTRA_SHARE, "extra")
        # 4
        last = [1.0] if rounds == PILOT_ROUNDS else [1.0, 3.0]
        for index, part in enumerate(last):
            state = self.round(state, self.left * part / sum(last[index:]), "last")
        return state

    def pilot_rounds(self, m: int, rounds: int) -> State:
        """Rounds from a random start; Sigma itself in place of the last one, where that promises more."""
        state = nothing_known(self.units.random_start(m))
        *first, final = (float(share) for share in PILOT_SHARE * _growing(rounds))
        for share in first:
            state = self.round(state, share, "pilot")
        if self.units.d <= WIDEST_MATRIX and self.matrix_is_better(state, final):
            return self.matrix(m, MATRIX_SHARE)
        return self.round(state, final, "pilot")

    def matrix_is_better(self, state: State, share: float) -> bool:
        """Whether Sigma itself promises more than another round; buys the radius that its price depends on."""
        mu = self.mu * math.sqrt(LOOK_SHARE)
        self.trace = matrix_radius(self.units, QUANTILE, n_hat=self.n_hat, mu=mu, by_rows=True)
        self.left -= LOOK_SHARE
        reach = self.units.veil.relation.distance_between_sums(self.trace)
        noise = reach / self.n_hat / self.mu / math.sqrt(MATRIX_SHARE)
        as_matrix = noise_of_matrix(state, noise, self.k, trace=self.trace)
        as_block = noise_of_block(state, self.noise_with(share), self.k)
        return as_matrix < as_block + SLOW * slowness(state, self.k, trace=self.trace)

    def another_matrix_is_better(self, state: State) -> bool:
        """Whether Sigma itself, with all that is left, promises more than a last round of the block."""
        if self.answer is None:
            return False
        now = noise_of_matrix(state, math.sqrt(2 * state.variance[0]), self.k, trace=self.trace)
        then = noise_of_matrix(state, self.noise_of_more(state), self.k, trace=self.trace)
        as_block = noise_of_block(state, self.noise_with(self.left), self.k)
        return then < FINISH * (as_block + now * lag(state, self.k, trace=self.trace))

    def noise_of_more(self, state: State) -> float:
        """Noise on Sigma when all that is left is spent on it again, and both releases count."""
        assert self.sigma is not None
        return math.sqrt(2 * state.variance[0] * self.sigma.share / (self.sigma.share + self.left))

    def matrix(self, m: int, share: float, *, quiet: bool = False) -> State:
        """A release of Sigma itself, with a share of mu^2.

        Averaged with the one before, if there was one, unless noise is so small that this one clips less.
        """
        self.pilot = "matrix"
        self.first_share = self.first_share or share
        mu_radius, mu_sum = split_mu(self.mu * math.sqrt(share), [RADIUS_SHARE, 1 - RADIUS_SHARE])
        population = self.units.matrices()
        release = tracked_mean(
            population,
            centre=np.zeros(population.shape),
            n_hat=self.n_hat,
            mu_radius=mu_radius,
            mu_sum=mu_sum,
            veil=self.units.veil,
            quantile=HIGH_QUANTILE if quiet else QUANTILE,
            what="Sigma",
        )
        self.left -= share
        noise = self.units.veil.relation.distance_between_sums(release.radius) / mu_sum / self.n_hat
        found = _Sigma(release.mean, noise, share)
        self.sigma = found if self.sigma is None or quiet else found.and_also(self.sigma)
        return from_matrix(self.sigma.matrix, noise=self.sigma.noise, m=m)

    def noise_with(self, share: float) -> float:
        """About the noise of a round with this share: that of the one before, once the centre has caught up."""
        assert self.answer is not None
        spent = self.rounds[-1]["share"]
        assert isinstance(spent, float)
        columns = float(self.answer.weights.columns[: self.k].max())
        caught_up = math.sqrt(max(1 - self.answer.offset**2, LEAST_SPREAD))
        return self.answer.noise * caught_up / columns * math.sqrt(spent / max(share, 1e-12))

    def round(self, state: State, share: float, kind: str) -> State:
        """One round with a share of mu^2."""
        self.pilot = self.pilot or "block"
        pilot = kind == "pilot"
        m = state.W.shape[1]
        self.first_share = self.first_share or share
        answer = ask(
            self.units,
            state,
            plain_weights(m) if pilot else best_weights(state, self.k),
            n_hat=self.n_hat,
            mu=self.mu * math.sqrt(share),
            quantile=QUANTILE,
            what=f"round {len(self.rounds) + 1} ({kind})",
        )
        self.left -= share
        answer = answer if pilot else reconciled(state, answer, self.k)
        self.answer = answer
        self.rounds.append(
            {
                "kind": kind,
                "share": share,
                "radius": answer.radius,
                "noise": answer.noise,
                "offset": answer.offset,
                "inside": answer.weights.inside,
                "columns": tuple(float(weight) for weight in answer.weights.columns),
            }
        )
        return learn(state, answer, k=self.k, trust=not pilot)

    def worth_another(self, state: State) -> bool:
        """Whether the centre still lags, or directions still move by more than a last round's noise."""
        if self.answer is None:
            return False
        return self.answer.offset > CAUGHT_UP or state.unfinished > self.noise_with(self.left) ** 2

    def too_few(self) -> str:
        """A warning for when the counts of the first search were lost in noise."""
        need = self.count_noise(self.first_share) * self.n_hat / FEW
        return (
            f"about {self.n_hat:.0f} units are few for this epsilon and delta: noise may rule the directions. "
            f"Some {need:.0f} units, a larger epsilon or delta, or fewer columns would help."
        )


@dataclass(frozen=True)
class _Sigma:
    """A release of Sigma itself: noise on its diagonal, smaller by sqrt(2) off it, and what it cost."""

    matrix: FloatArray
    noise: float
    share: float

    def and_also(self, other: _Sigma) -> _Sigma:
        """The two as one, weighed by their precisions."""
        mine, its = self.noise**-2, other.noise**-2
        matrix = (self.matrix * mine + other.matrix * its) / (mine + its)
        return _Sigma(matrix, (mine + its) ** -0.5, self.share + other.share)


def _growing(rounds: int) -> FloatArray:
    """Shares that grow from round to round and add up to 1."""
    shares = PILOT_GROWTH ** np.arange(float(rounds))
    out: FloatArray = shares / shares.sum()
    return out


def _many_bad(good: float, bad: float) -> str:
    return (
        f"by a noisy count, {bad:.0f} units beside {good:.0f} good ones hold no row of finite numbers, and add "
        "nothing. Fill in missing values by a rule that does not look at the data, or leave such columns out."
    )
