"""One run of tracked block iteration: what is asked next, with which share of mu^2, from what releases say so far.

The rounds themselves are in `tracking`, what they promise in `prices`, releases of Sigma itself in `sigma`; the
steps are those of `tracked_pca`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from eigenveil.engines.population import FloatArray
from eigenveil.mechanisms import tracked_mean
from eigenveil.mechanisms.private_mean import reachable_quantile
from eigenveil.mechanisms.radius import QUERIES
from eigenveil.mechanisms.units import Units
from eigenveil.operators import RowsOperator
from eigenveil.privacy import split_mu
from eigenveil.subspace.bounds import matrix_radius
from eigenveil.subspace.prices import bias_of_block, lag, noise_of_block, noise_of_matrix, slowness, whole_spectrum
from eigenveil.subspace.sigma import CLIPS, Sigma, best_clip, price
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
FEWEST_ROUNDS = 3
"""Pilots of fewer rounds from a random start learn less than one release of Sigma itself."""
WIDEST_MATRIX = 1024
QUANTILE, WHOLE_QUANTILE = 0.5, 0.9
"""Where units are clipped; and Sigma of few columns, where bias is hard to see, once units are plenty."""
PLENTY, LOOKS_SHARE = 0.15, 0.3
"""Once noise on Sigma costs no more than this share of what the sample does, other clips are looked at."""


@dataclass
class Run:
    """One run as it goes: what is left of mu^2 (as a share), and what the rounds released."""

    units: Units
    k: int
    n_hat: float
    mu: float
    left: float = 1.0
    pilot: str = ""
    first_share: float = 0.0
    trace: float = 0.0
    sigma: Sigma | None = None
    asked: State | None = None
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
        state = self.matrix(d, FIRST_MATRIX)
        assert self.sigma is not None
        spread = self.sigma.spread(self.sigma.radius**2)
        if self.plenty(state, self.sigma.noise_with(self.left), spread=spread):
            return self.best_clipped(d)
        return self.matrix(d, self.left)

    def by_blocks(self, m: int) -> State:
        """Steps 2 to 4."""
        # 2
        rounds = self.quiet_rounds()
        if rounds < FEWEST_ROUNDS and self.units.d <= WIDEST_MATRIX:
            state = self.matrix(m, PILOT_SHARE)
        else:
            state = self.pilot_rounds(m, rounds)
        if not self.left:
            return state
        # 3
        if self.another_matrix_is_better(state):
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
        if self.units.d <= WIDEST_MATRIX:
            noise = self.look()
            if isinstance(self.units.operator, RowsOperator) and self.plenty(
                state, noise / math.sqrt(self.left), spread=1.0
            ):
                return self.best_clipped(m)
            if self.matrix_is_better(state, final, noise / math.sqrt(MATRIX_SHARE)):
                return self.matrix(m, MATRIX_SHARE)
        return self.round(state, final, "pilot")

    def look(self) -> float:
        """Buy the radius that the price of Sigma depends on; returns the noise on it, were all of mu spent so."""
        mu = self.mu * math.sqrt(LOOK_SHARE)
        self.trace = matrix_radius(self.units, QUANTILE, n_hat=self.n_hat, mu=mu, by_rows=True)
        self.left -= LOOK_SHARE
        return self.units.veil.relation.distance_between_sums(self.trace) / self.n_hat / self.mu

    def plenty(self, state: State, noise: float, *, spread: float) -> bool:
        """Whether units are so many that such noise on Sigma costs little beside what the sample leaves open."""
        of_noise, of_sample = price(
            whole_spectrum(state, self.trace), self.k, noise=noise, spread=spread, n_hat=self.n_hat
        )
        return of_noise < PLENTY * of_sample

    def matrix_is_better(self, state: State, share: float, noise: float) -> bool:
        """Whether Sigma itself, with such noise, promises more than another round."""
        as_matrix = noise_of_matrix(state, noise, self.k, trace=self.trace)
        as_block = noise_of_block(state, self.noise_with(share), self.k)
        return as_matrix < as_block + SLOW * slowness(state, self.k, trace=self.trace)

    def another_matrix_is_better(self, state: State) -> bool:
        """Whether Sigma itself, with all that is left, promises more than a last round of the block."""
        if self.sigma is None or self.answer is None or self.asked is None:
            return False
        now, then = (
            noise_of_matrix(state, self.sigma.noise_with(more), self.k, trace=self.trace)
            for more in (0.0, self.left)
        )
        as_block = noise_of_block(state, self.noise_with(self.left), self.k)
        bias = bias_of_block(self.asked, self.answer, self.sigma, self.k)
        return then < FINISH * (as_block + now * lag(state, self.k, trace=self.trace) + bias)

    def matrix(self, m: int, share: float) -> State:
        """A release of Sigma itself with a share of mu^2, averaged with the one before, if there was one."""
        found = self.release_sigma(share, QUANTILE)
        self.sigma = found if self.sigma is None else found.and_also(self.sigma)
        return from_matrix(self.sigma.matrix, noise=self.sigma.noise, m=m)

    def best_clipped(self, m: int) -> State:
        """Sigma at several clips, and once more, with all that is left, at the one that turns out best."""
        share = self.left * LOOKS_SHARE / len(CLIPS)
        looks = [self.release_sigma(share, self.reachable(quantile, share)) for quantile in CLIPS]
        wanted = QUANTILE if m < self.units.d else WHOLE_QUANTILE
        usual = min(range(len(CLIPS)), key=lambda look: abs(CLIPS[look] - wanted))
        best = looks[best_clip(looks, self.k, usual=usual, n_hat=self.n_hat, left=self.left)]
        self.sigma = self.release_sigma(self.left, best.quantile).and_also(best)
        return from_matrix(self.sigma.matrix, noise=self.sigma.noise, m=m)

    def reachable(self, quantile: float, share: float) -> float:
        """The quantile, or a more central one that noise in the counts of a radius search cannot hide."""
        mu = self.mu * math.sqrt(share * RADIUS_SHARE)
        outer = max(quantile, 1 - quantile)
        central = reachable_quantile(outer, n_hat=self.n_hat, mu_radius=mu)
        if central == outer:
            return quantile
        return central if quantile > QUANTILE else 1 - central

    def release_sigma(self, share: float, quantile: float) -> Sigma:
        """A release of Sigma itself with a share of mu^2, clipped so that it leaves this share of units whole."""
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
            quantile=quantile,
            what="Sigma",
        )
        self.left -= share
        noise = self.units.veil.relation.distance_between_sums(release.radius) / mu_sum / self.n_hat
        return Sigma(release.mean, noise, share, release.radius, quantile)

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
        self.asked = state
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


def _growing(rounds: int) -> FloatArray:
    """Shares that grow from round to round and add up to 1."""
    shares = PILOT_GROWTH ** np.arange(float(rounds))
    out: FloatArray = shares / shares.sum()
    return out
