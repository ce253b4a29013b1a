"""One run of tracked block iteration: what is asked next, with which share of mu^2, from what releases say so far.

The rounds themselves are in `tracking`, what they promise in `prices`, releases of Sigma itself in `sigma`; the
steps are those of `tracked_pca`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.mechanisms import AtQuantile, Given, clipped_mean
from eigenveil.mechanisms.clipped_mean import mean_noise
from eigenveil.mechanisms.radius import count_noise, reachable_quantile
from eigenveil.privacy import Purpose, split_mu
from eigenveil.subspace.bounds import gaussian_spread, lengths, matrix_radius
from eigenveil.subspace.diagnostics import Round
from eigenveil.subspace.prices import bias_of_block, lag, noise_of_block, noise_of_matrix, slowness, whole_spectrum
from eigenveil.subspace.release_warnings import FEW
from eigenveil.subspace.sigma import CLIPS, Sigma, best_clip, price, together
from eigenveil.subspace.tracking import (
    RADIUS_SHARE,
    TINY,
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
from eigenveil.units import PrivateUnits

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
FEWEST_ROUNDS = 3
"""Pilots of fewer rounds from a random start learn less than one release of Sigma itself."""
WIDEST_MATRIX = 1024
QUANTILE, CAREFUL, SAFE, MOST_WHOLE = 0.5, 0.75, 0.85, 0.95
"""Shares of units that a clip leaves whole: usual; careful, where bias may be large beside noise; safe, for skewed
units that are plenty; and the most."""
LENGTHS_SHARE, WIDE, LEAST_WIDE = 0.01, 1.5, 0.4
"""The price of two quantiles of lengths; how much wider than Gaussian, and how wide in all, wide ones spread."""
LEAN_SHARE, CHANCE = 0.01, 2.0
"""The price of the mean of clipped rows; how many deviations of noise and sample it lies off 0 if rows lean."""
FAVOUR = 3.0
"""Sigma itself is taken for skewed units if it promises to lose up to this times what a block would."""
FIRST_ROUND = 0.2
"""The share of a round of the block that follows a first release of Sigma."""
PLENTY, SURELY, FEW_COLUMNS = 0.15, 0.08, 16
"""Units are plenty if noise on Sigma costs less than this share of what the sample does. Sigma is asked for before
any block if it may cost as little as the second share, and there are up to 16 m columns."""
LEAST_LOOK, MOST_LOOK = 0.03, 0.075
"""What a look at one clip costs, as a share of what is left."""
CLIP_BY_NOISE = 2.5
"""By how much the share that a clip leaves whole falls with the cost of noise over that of the sample."""


@dataclass
class Run:
    """One run as it goes: what is left of mu^2 (as a share), and what the rounds released."""

    units: PrivateUnits
    k: int
    n_hat: float
    mu: float
    left: float = 1.0
    pilot: str = ""
    first_share: float = 0.0
    trace: float = 0.0
    quantile: float = QUANTILE
    favour: float = 1.0
    sigma: Sigma | None = None
    asked: State | None = None
    rounds: list[Round] = field(default_factory=list)
    answer: Answer | None = None

    def count_noise(self, share: float) -> float:
        """Noise of the counts in a round's radius search, over the number of units."""
        return count_noise(self.mu * math.sqrt(RADIUS_SHARE * share)) / self.n_hat

    def quiet_rounds(self) -> int:
        """How many pilot rounds there are units for: the counts of the first must not be lost in noise."""
        rounds = PILOT_ROUNDS
        while rounds > 1 and self.count_noise(PILOT_SHARE * _growing(rounds)[0]) > FEW:
            rounds -= 1
        return rounds

    def whole_space(self) -> State:
        """Where the block would be the whole space: Sigma itself, twice or more often, or once on few units."""
        d = self.units.d
        return self.matrix(d, self.left, QUANTILE) if self.count_noise(FIRST_MATRIX) > FEW else self.sigma_first(d)

    def sigma_first(self, m: int) -> State:
        """Sigma itself, and then more of it, or a round of the block, where that is safe and may do better."""
        state = self.matrix(m, FIRST_MATRIX, self.reachable(CAREFUL, FIRST_MATRIX))
        assert self.sigma is not None
        self.look()
        skewed = self.skewed(state)
        noisy = self.noise_over_sample(
            state, self.sigma.noise_with(self.left), spread=self.sigma.spread(self.sigma.radius**2)
        )
        if noisy < PLENTY:
            return self.best_clipped(m, noisy, skewed=skewed)
        if m == self.units.d or skewed:
            return self.matrix(m, self.left, CAREFUL)
        return self.round(state, FIRST_ROUND, "extra")

    def by_blocks(self, m: int) -> State:
        """Steps 2 to 4."""
        # 2
        rounds = self.quiet_rounds()
        if rounds < FEWEST_ROUNDS and self.units.d <= WIDEST_MATRIX:
            state = self.matrix(m, PILOT_SHARE, QUANTILE)
        elif self.may_be_plenty(SURELY) and self.units.d <= FEW_COLUMNS * m:
            state = self.sigma_first(m)
        else:
            state = self.pilot_rounds(m, rounds)
        if not self.left:
            return state
        # 3
        if self.another_matrix_is_better(state):
            return self.matrix(m, self.left, self.quantile)
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
        if self.units.d > WIDEST_MATRIX:
            return self.round(state, final, "pilot")
        noise = self.look()
        skewed = self.skewed(state)
        if skewed:
            self.quantile, self.favour = CAREFUL, FAVOUR
        if self.may_be_plenty(PLENTY):
            noisy = self.noise_over_sample(state, noise / math.sqrt(self.left), spread=1.0)
            if noisy < PLENTY:
                return self.best_clipped(m, noisy, skewed=skewed)
        if self.matrix_is_better(state, final, noise / math.sqrt(MATRIX_SHARE)):
            return self.matrix(m, MATRIX_SHARE, self.quantile)
        return self.round(state, final, "pilot")

    def look(self) -> float:
        """Buy the radius that the price of Sigma depends on; returns the noise on it, were all of mu spent so."""
        mu = self.mu * math.sqrt(LOOK_SHARE)
        self.trace = matrix_radius(self.units, QUANTILE, n_hat=self.n_hat, mu=mu, by_rows=True)
        self.left -= LOOK_SHARE
        return mean_noise(self.trace, mu=self.mu, n_hat=self.n_hat, relation=self.units.veil.relation)

    def skewed(self, state: State) -> bool:
        """Whether rows are such that clipping bends directions: lengths vary widely, and clipped rows lean.

        Rows that lie evenly around 0 do so when clipped, too; where a long tail lies on one side, their mean goes
        to the other. (Rows that are not around 0 at all lean as well: a clip may bend these, too.)
        """
        if not self.units.single_rows:
            return False
        mu_lengths, mu_lean = (self.mu * math.sqrt(share) for share in (LENGTHS_SHARE, LEAN_SHARE))
        median, spread = lengths(self.units, math.sqrt(self.trace), n_hat=self.n_hat, mu=mu_lengths)
        self.left -= LENGTHS_SHARE
        gaussian = gaussian_spread(whole_spectrum(state, median**2))
        if 2 * spread < max(WIDE * gaussian, LEAST_WIDE):
            return False
        rows, centre = self.units.vectors(), np.zeros(self.units.d)
        mean = clipped_mean(
            rows,
            centre=centre,
            n_hat=self.n_hat,
            radius=Given(median),
            mu=mu_lean,
            veil=self.units.veil,
            what_sum="mean of clipped rows",
            purpose=Purpose.BOUND,
        )
        self.left -= LEAN_SHARE
        noise = (mean.noise / mean.radius) ** 2
        lean = mean.offset**2 - 1 / self.n_hat
        return lean > CHANCE * (math.sqrt(2 * self.units.d) * noise + 0.5 / self.n_hat)

    def may_be_plenty(self, limit: float) -> bool:
        """Whether noise on Sigma may cost less than this over what the sample does, by the number of columns.

        For rows it costs tr^2/(2 n mu^2 lambda_i lambda_j) of it: 2 d/(n mu^2) where half of the trace is along
        one direction and the rest is even.
        """
        d = self.units.d
        rows = self.units.single_rows and d <= WIDEST_MATRIX
        return rows and 2 * d < limit * self.n_hat * self.mu**2

    def noise_over_sample(self, state: State, noise: float, *, spread: float) -> float:
        """What such noise on Sigma costs, over what the sample leaves open."""
        of_noise, of_sample = price(
            whole_spectrum(state, self.trace), self.k, noise=noise, spread=spread, n_hat=self.n_hat
        )
        return of_noise / max(of_sample, TINY)

    def matrix_is_better(self, state: State, share: float, noise: float) -> bool:
        """Whether Sigma itself, with such noise, promises more than another round."""
        as_matrix = noise_of_matrix(state, noise, self.k, trace=self.trace)
        as_block = noise_of_block(state, self.noise_with(share), self.k)
        return as_matrix < self.favour * as_block + SLOW * slowness(state, self.k, trace=self.trace)

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
        return then < self.favour * FINISH * (as_block + now * lag(state, self.k, trace=self.trace) + bias)

    def matrix(self, m: int, share: float, quantile: float) -> State:
        """A release of Sigma itself with a share of mu^2, averaged with the one before, if there was one."""
        found = self.release_sigma(share, quantile)
        self.sigma = found if self.sigma is None else together([found, self.sigma])
        return from_matrix(self.sigma.matrix, noise=self.sigma.noise, m=m)

    def best_clipped(self, m: int, noisy: float, *, skewed: bool) -> State:
        """Sigma at several clips, and once more, with all that is left, at the one that turns out best.

        `noisy` is what noise will cost, over what the sample does: the less, the cheaper are looks that tell clips
        apart, and the less need rows be clipped.
        """
        share = self.left * min(max(noisy / 2, LEAST_LOOK), MOST_LOOK)
        usual = min(max(1 - CLIP_BY_NOISE * noisy, SAFE if skewed else CAREFUL), MOST_WHOLE)
        clips = sorted({usual, *(clip for clip in CLIPS if clip > usual or not skewed)})
        known = {} if self.sigma is None else {self.sigma.quantile: self.sigma}
        looks = [known.get(clip) or self.release_sigma(share, self.reachable(clip, share)) for clip in clips]
        best, alike = best_clip(looks, self.k, usual=clips.index(usual), n_hat=self.n_hat, left=self.left)
        last = self.release_sigma(self.left, looks[best].quantile)
        self.sigma = together([last, *(looks[look] for look in alike)])
        return from_matrix(self.sigma.matrix, noise=self.sigma.noise, m=m)

    def reachable(self, quantile: float, share: float) -> float:
        """The quantile, or a more central one that noise in the counts of a radius search cannot hide."""
        mu = self.mu * math.sqrt(share * RADIUS_SHARE)
        outer = max(quantile, 1 - quantile)
        central = reachable_quantile(outer, n_hat=self.n_hat, mu=mu)
        if central == outer:
            return quantile
        return central if quantile > QUANTILE else 1 - central

    def release_sigma(self, share: float, quantile: float) -> Sigma:
        """A release of Sigma itself with a share of mu^2, clipped so that it leaves this share of units whole."""
        self.pilot = "matrix"
        self.first_share = self.first_share or share
        mu_radius, mu_sum = split_mu(self.mu * math.sqrt(share), [RADIUS_SHARE, 1 - RADIUS_SHARE])
        population = self.units.matrices()
        mean = clipped_mean(
            population,
            centre=np.zeros(population.shape),
            n_hat=self.n_hat,
            radius=AtQuantile(mu=mu_radius, quantile=quantile),
            mu=mu_sum,
            veil=self.units.veil,
            what="Sigma",
            purpose=Purpose.COMPONENTS,
        )
        self.left -= share
        return Sigma(mean.value, mean.noise, share, mean.radius, mean.kept)

    def noise_with(self, share: float) -> float:
        """About the noise of a round with this share: that of the one before, once the centre has caught up."""
        assert self.answer is not None
        spent = self.rounds[-1].share
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
            quantile=self.quantile,
            what=f"round {len(self.rounds) + 1} ({kind})",
        )
        self.left -= share
        self.asked = state
        answer = answer if pilot else reconciled(state, answer, self.k)
        self.answer = answer
        self.rounds.append(
            Round(
                kind=kind,
                share=share,
                radius=answer.radius,
                noise=answer.noise,
                offset=answer.offset,
                inside=answer.weights.inside,
                columns=tuple(float(weight) for weight in answer.weights.columns),
            )
        )
        return learn(state, answer, k=self.k, trust=not pilot)

    def worth_another(self, state: State) -> bool:
        """Whether the centre still lags, or directions still move by more than a last round's noise."""
        if self.answer is None:
            return False
        return self.answer.offset > CAUGHT_UP or state.unfinished > self.noise_with(self.left) ** 2


def _growing(rounds: int) -> FloatArray:
    """Shares that grow from round to round and add up to 1."""
    shares = PILOT_GROWTH ** np.arange(float(rounds))
    out: FloatArray = shares / shares.sum()
    return out
