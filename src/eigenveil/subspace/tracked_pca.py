"""Tracked block iteration, our own method: a block of directions, refined around what is already public.

TrackedPCA({A_i}, k, mu):
  1  n_hat <- noisy count                                                          # 1 % of mu^2
     if rows are to be centred: a private mean, taken off every row                # 8 %
  2  a pilot, 30 % of the rest:
       4 rounds from a random start, each with 3 times the share of the one before, all weights 1; on few units,
       where count noise in the first would exceed n_hat/10, 3; if it still does, one release of Sigma itself
  3  while the centre has not caught up with the units, or directions still move by more than the noise of a last
       round: a round with 8 % of what is left                                     # decided by releases
  4  with many units: a round with 10 % of what is left that clips at .9. If it finds directions bent by clipping,
       and noise on Sigma itself would cost less than that: a release of Sigma with all that is left, and go to 6
  5  a last round with all that is left; on few units two, 1 : 3
  6  the first k directions; signs by their largest entries

Rounds are described in `tracking`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenveil.engines import LocalEngine
from eigenveil.engines.population import FloatArray
from eigenveil.kernels import to_single
from eigenveil.mechanisms import noisy_count, private_mean, tracked_mean
from eigenveil.mechanisms.radius import QUERIES
from eigenveil.mechanisms.units import Units
from eigenveil.privacy import Ledger, Relation, split_mu
from eigenveil.subspace.bounds import COUNT_SHARE, matrix_radius
from eigenveil.subspace.opening import check_k, open_units
from eigenveil.subspace.release import Release, signed
from eigenveil.subspace.tracking import (
    RADIUS_SHARE,
    Answer,
    State,
    ask,
    best_weights,
    bias_seen,
    from_matrix,
    learn,
    noise_of_block,
    noise_of_matrix,
    plain_weights,
)

MEAN_SHARE = 0.08
PILOT_SHARE, PILOT_ROUNDS, PILOT_GROWTH = 0.3, 4, 3.0
EXTRA_SHARE, MOST_EXTRA = 0.08, 8
CAUGHT_UP = 0.5
"""How far, over the radius, the units' mean may lie from the centre before a last round is worth its price."""
CHECK_SHARE, CHECK_QUANTILE, CHECK_NOISE = 0.1, 0.9, 2.6
"""The round that looks for bias, and how much larger than at the median a radius at .9 is, for most data."""
COMMON_BIAS = 0.008
"""A share of energy that clipping at the median costs on common skewed data and clipping at .9 does not."""
FEW = 0.1
"""Noise of a count over the number of units that a radius search at the median still stands: 5 deviations."""
FEWEST_ROUNDS = 3
"""Pilots of fewer rounds from a random start learn less than one release of Sigma itself."""
WIDEST_MATRIX = 1024
QUANTILE = 0.5


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
        `mean` if centred. `eigenvalues` come from clipped units: right in order, biased low. `diagnostics` has
        n_hat, the pilot, and per round its radius, noise, weights and offset.

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
    nan, inf, norm overflows        such a unit adds nothing, in silence
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
    mu_count, mu_mean, mu = split_mu(units.budget.mu, [COUNT_SHARE, for_mean, 1 - COUNT_SHARE - for_mean])
    # 1
    n_hat = max(1.0, noisy_count(units.block(np.eye(units.d, 1)), mu=mu_count, veil=units.veil))
    mean = None
    if center:
        mean = to_single(private_mean(units.vectors(), n_hat=n_hat, mu=mu_mean, veil=units.veil).mean)
        units = units.shifted(mean)
    run = _Run(units, k, n_hat, mu)
    with np.errstate(over="ignore", under="ignore"):
        # 2
        rounds = run.quiet_rounds()
        last = [1.0] if rounds == PILOT_ROUNDS else [1.0, 3.0]
        very_few = rounds < FEWEST_ROUNDS and units.d <= WIDEST_MATRIX
        state = run.matrix_pilot(m) if very_few else run.block_pilot(m, rounds)
        # 3
        for _ in range(MOST_EXTRA):
            if not run.worth_another(state):
                break
            state = run.round(state, run.left * EXTRA_SHARE, "extra")
        # 4
        if run.bias_could_rule(state):
            state = run.without_bias(state)
        # 5
        for index, part in enumerate(last if run.left else []):
            state = run.round(state, run.left * part / sum(last[index:]), "last")
    # 6
    if run.count_noise(run.first_share) > FEW:
        warnings.warn(_too_few(n_hat, units), UserWarning, stacklevel=3)
    return Release(
        algorithm="tracked",
        components=signed(np.ascontiguousarray(state.W[:, :k].T)),
        eigenvalues=state.eigenvalues[:k],
        mean=mean,
        ledger=units.veil.ledger,
        diagnostics={"n_hat": n_hat, "pilot": run.pilot, "rounds": tuple(run.rounds)},
    )


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

    def block_pilot(self, m: int, rounds: int) -> State:
        """Rounds from a random start."""
        self.pilot = "block"
        d = self.units.d
        state = State(self.units.random_start(m), np.zeros(m), np.zeros((d, m)), np.full(m, np.inf))
        for share in PILOT_SHARE * _growing(rounds):
            state = self.round(state, float(share), "pilot")
        return state

    def matrix_pilot(self, m: int) -> State:
        """One release of Sigma itself."""
        self.pilot = "matrix"
        self.first_share = PILOT_SHARE
        return self.whole_matrix(m, PILOT_SHARE, "pilot")

    def whole_matrix(self, m: int, share: float, what: str) -> State:
        """A release of Sigma itself, with a share of mu^2."""
        mu = self.mu * math.sqrt(share)
        mu_radius, mu_sum = split_mu(mu, [RADIUS_SHARE, 1 - RADIUS_SHARE])
        population = self.units.matrices()
        release = tracked_mean(
            population,
            centre=np.zeros(population.shape),
            n_hat=self.n_hat,
            mu_radius=mu_radius,
            mu_sum=mu_sum,
            veil=self.units.veil,
            quantile=QUANTILE,
            what=what,
        )
        self.left -= share
        noise = self.units.veil.relation.distance_between_sums(release.radius) / mu_sum / self.n_hat
        return from_matrix(release.mean, noise=noise, m=m)

    def bias_could_rule(self, state: State) -> bool:
        """Whether a last round is so quiet that what clipping at the median may bend is worth a look."""
        if self.answer is None or self.units.d > WIDEST_MATRIX or state.W.shape[1] == self.units.d:
            return False
        return noise_of_block(state, CHECK_NOISE * self.coming_noise(), self.k) < COMMON_BIAS

    def without_bias(self, state: State) -> State:
        """Step 4."""
        share = self.left * CHECK_SHARE
        checked = self.round(state, share, "check", quantile=CHECK_QUANTILE)
        assert self.answer is not None
        bias = bias_seen(state, self.answer, self.k)
        if not bias:
            return checked
        share = self.left * RADIUS_SHARE / 3
        radius = matrix_radius(self.units, QUANTILE, n_hat=self.n_hat, mu=self.mu * math.sqrt(share), by_rows=True)
        self.left -= share
        reach = self.units.veil.relation.distance_between_sums(radius)
        noise = reach / self.n_hat / (self.mu * math.sqrt((1 - RADIUS_SHARE) * self.left))
        as_block = bias + noise_of_block(checked, self.coming_noise(), self.k)
        if noise_of_matrix(checked, noise, self.k) >= as_block:
            return checked
        return self.whole_matrix(state.W.shape[1], self.left, "last, Sigma itself")

    def coming_noise(self) -> float:
        """About the noise of a last round: that of the round before, with all that is left."""
        assert self.answer is not None
        columns = float(self.answer.weights.columns[: self.k].max())
        return self.answer.noise / columns * math.sqrt(self.rounds_share() / max(self.left, 1e-12))

    def round(self, state: State, share: float, kind: str, *, quantile: float = QUANTILE) -> State:
        """One round with a share of mu^2."""
        pilot = kind == "pilot"
        m = state.W.shape[1]
        self.first_share = self.first_share or share
        answer = ask(
            self.units,
            state,
            plain_weights(m) if pilot else best_weights(state, self.k),
            n_hat=self.n_hat,
            mu=self.mu * math.sqrt(share),
            quantile=quantile,
            what=f"round {len(self.rounds) + 1} ({kind})",
        )
        self.left -= share
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
        return self.answer.offset > CAUGHT_UP or state.unfinished > self.coming_noise() ** 2

    def rounds_share(self) -> float:
        """The share of the last round."""
        share = self.rounds[-1]["share"]
        assert isinstance(share, float)
        return share


def _growing(rounds: int) -> FloatArray:
    """Shares that grow from round to round and add up to 1."""
    shares = PILOT_GROWTH ** np.arange(float(rounds))
    out: FloatArray = shares / shares.sum()
    return out


def _too_few(n_hat: float, units: Units) -> str:
    need = 10 * math.sqrt(QUERIES / (RADIUS_SHARE * PILOT_SHARE)) / units.budget.mu
    return (
        f"about {n_hat:.0f} units are few for this epsilon and delta: noise may rule the directions. "
        f"Some {need:.0f} units, a larger epsilon or delta, or relation='replace' with fewer columns would help."
    )
