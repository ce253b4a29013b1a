"""The one question: M Sigma W D, asked around what the state says, clipped at the radius that costs least.

W holds the first m directions of the state, D weighs its columns, and M = I - (1 - g) W W^T keeps the share g of
what lies inside their span. Noise has the same size on every entry of the answer and grows with the norms of the
units' own M A_i W D, so D and g put it where it costs least. Sigma itself is the question with W = I.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.kernels import to_single
from eigenveil.mechanisms import Given, NoisyMean, clipped_mean
from eigenveil.mechanisms.clipped_mean import mean_noise
from eigenveil.mechanisms.norm_curve import NormCurve, norm_curve
from eigenveil.privacy import Purpose, split_mu
from eigenveil.subspace.tracked import loss
from eigenveil.subspace.tracked.loss import Clip
from eigenveil.subspace.tracked.state import Answer, Sigma, State
from eigenveil.subspace.tracked.tuning import Tuning
from eigenveil.units import PrivateUnits


@dataclass
class Purse:
    """What is left of a run's mu^2. All shares are of what is left."""

    mu: float
    left: float = 1.0

    def spend(self, share: float) -> float:
        """Take a share of what is left; returns the mu that it buys."""
        spent = self.left * share
        self.left -= spent
        return self.mu * math.sqrt(spent)


@dataclass(eq=False)
class Asking:
    """Units, their number, the budget and the constants: what every question needs."""

    units: PrivateUnits
    k: int
    n_hat: float
    purse: Purse
    tuning: Tuning

    def curve(self, population: Population, centre: FloatArray, mu: float, what: str) -> NormCurve:
        """Buy the curve of norms of a population."""
        return norm_curve(
            population,
            centre=centre,
            n_hat=self.n_hat,
            mu=mu,
            veil=self.units.veil,
            what=what,
            purpose=Purpose.COMPONENTS,
        )

    def noise(self, mu: float) -> float:
        """On an entry of a clipped mean that costs mu, for every 1 of its radius."""
        return mean_noise(1.0, mu=mu, n_hat=self.n_hat, relation=self.units.veil.relation)

    def mean(self, population: Population, centre: FloatArray, clip: Clip, mu: float, what: str) -> NoisyMean:
        """Buy the clipped mean of a population."""
        return clipped_mean(
            population,
            centre=centre,
            n_hat=self.n_hat,
            radius=Given(clip.radius, kept=clip.kept),
            mu=mu,
            veil=self.units.veil,
            what_sum=what,
            purpose=Purpose.COMPONENTS,
        )

    def sigma(self, share: float) -> tuple[Sigma, NormCurve, Clip]:
        """Ask for Sigma itself with a share of what is left.

        Formal guarantees
        -----------------
        Both relations: a curve of norms and a clipped sum, with the sensitivities proven in `norm_curve` and
        `noisy_clipped_sum`; the radius depends on releases only.
        """
        population = self.units.matrices()
        centre = np.zeros(population.shape)
        mu = self.purse.spend(share)
        for_curve, for_sum = split_mu(mu, [self.tuning.curve_share, 1 - self.tuning.curve_share])
        curve = self.curve(population, centre, for_curve, "Sigma")
        noise = self.noise(for_sum) / math.sqrt(2)
        clip = loss.clip_of_sigma(curve, d=self.units.d, k=self.k, noise=noise, tuning=self.tuning)
        mean = self.mean(population, centre, clip, for_sum, "Sigma")
        return Sigma(mean.value, mean.noise**2 / 2), curve, clip


@dataclass(frozen=True, eq=False)
class Question:
    """M Sigma W D around a state: `columns` is D, at most 1, `inside` g.

    `weight` is what noise of 1 on every entry of the answer costs, `excess_weight` what an excess of 1.
    """

    state: State
    columns: FloatArray
    inside: float
    weight: float
    excess_weight: float

    @classmethod
    def about(cls, state: State, k: int, m: int, inside: float, tuning: Tuning) -> Question:
        """The question about the first m directions, with the weights that cost least.

        A column's noise is divided by its weight D_i, and the radius grows with sum D_i^2 lambda_i: the best D_i^4
        is a_i/lambda_i, a_i what errors along it cost.
        """
        if not state.known or m == state.d:
            return cls(state, np.ones(m), 1.0, 1.0, 1 / max(k * (state.d - k), 1))
        a = loss.cost_of_errors(state, k, m, tuning)
        columns = (a / state.eigenvalues[:m]) ** 0.25
        columns /= columns.max()
        weight = float(np.sum(a[:k] / columns[:k] ** 2))
        return cls(state, columns, inside, weight, loss.cost_of_excess(state, k, columns, inside, tuning))

    @classmethod
    def wide(cls, state: State, k: int, tuning: Tuning) -> Question:
        """About all directions that are followed, undamped: for as long as they have not converged."""
        return cls.about(state, k, state.eigenvalues.size, 1.0, tuning)

    @classmethod
    def narrow(cls, state: State, k: int, tuning: Tuning) -> Question:
        """About the wanted directions, damped inside: noise outside their span is all that counts."""
        return cls.about(state, k, k, tuning.inside if state.d <= tuning.widest_damping else 1.0, tuning)

    @property
    def distance(self) -> float:
        """The expected squared distance of the centre from the mean; 0 as long as nothing is known."""
        if not self.state.known:
            return 0.0
        return loss.centre_distance(self.state, self.columns, self.inside)

    @property
    def directions(self) -> FloatArray:
        """W."""
        return self.state.V[:, : self.columns.size]

    @functools.cached_property
    def centre(self) -> FloatArray:
        """M C D, in single precision; C = W diag(eigenvalues)."""
        m = self.columns.size
        return to_single(self.directions * (self.state.eigenvalues[:m] * self.columns * self.inside))

    def population(self, units: PrivateUnits) -> Population:
        """The units' M A_i W D. With A' = M A M and W' = W D/g the product A' W' is M A W D, since M W = g W."""
        damped = units if self.inside == 1.0 else units.damped(self.directions, self.inside)
        return damped.block(self.directions * (self.columns / self.inside))

    def curve(self, asking: Asking, mu: float, what: str) -> NormCurve:
        """Buy the curve of norms that its radius is chosen from."""
        return asking.curve(self.population(asking.units), self.centre, mu, what)

    def clip(self, asking: Asking, curve: NormCurve, mu: float) -> Clip:
        """The best radius, and what noise and clipping will cost, if its sum costs mu."""
        return loss.clip_of_block(
            curve,
            noise=asking.noise(mu),
            weight=self.weight,
            excess_weight=self.excess_weight,
            distance=self.distance,
            entries=asking.k * (asking.units.d - asking.k),
            tuning=asking.tuning,
        )

    def bought(
        self, asking: Asking, mu: float, what: str, curve: NormCurve | None = None
    ) -> tuple[Answer, NoisyMean, Clip]:
        """Buy the answer for mu, the curve included if none is given, and undo D and M.

        Formal guarantees
        -----------------
        Both relations: at most one curve of norms, and one clipped sum of tensors that depend on the unit and on
        public numbers, with the sensitivities proven in `norm_curve` and `noisy_clipped_sum`. Undoing D and M is
        post-processing.
        """
        if curve is None:
            for_curve, mu = split_mu(mu, [asking.tuning.curve_share, 1 - asking.tuning.curve_share])
            curve = self.curve(asking, for_curve, what)
        clip = self.clip(asking, curve, mu)
        mean = asking.mean(self.population(asking.units), self.centre, clip, mu, what)
        along = self.directions.T @ mean.value
        product = (mean.value + (1 / self.inside - 1) * (self.directions @ along)) / self.columns
        shrunk = 0.0
        if self.state.known and self.inside == 1.0:  # the last answer is clipped least: it is not corrected
            shrunk = clip.excess / math.sqrt(loss.squared_size(self.state, self.columns, self.inside))
        return Answer(product, (mean.noise / self.columns) ** 2, self.inside, shrunk), mean, clip
