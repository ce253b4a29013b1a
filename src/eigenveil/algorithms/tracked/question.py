"""Question of tracked PCA: a noisy M Sigma W D, centred at the current estimate, at the radius of least loss.

W holds the first m directions of the state. D is a diagonal matrix of column weights. M = I - (1 - g) W W^T damps
the part inside the span of W by the factor g. The noise has the same scale on every entry of the answer, and grows
with the norms ||M A_i W D||_F of the units. So D and g move noise to where it costs least. Sigma itself is the
question with W = I.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.algorithms.tracked import loss
from eigenveil.algorithms.tracked.loss import ClipChoice
from eigenveil.algorithms.tracked.state import Answer, Sigma, State
from eigenveil.algorithms.tracked.tuning import Tuning
from eigenveil.engines.population import Population
from eigenveil.kernels import to_single
from eigenveil.mechanisms import Given, NoisyMean, clipped_mean
from eigenveil.mechanisms.clipped_mean import mean_noise
from eigenveil.mechanisms.norm_curve import NormCurve, norm_curve
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import PrivateUnits


@dataclass
class Purse:
    """Remaining privacy budget of a run.

    Parameters
    ----------
    mu : float
        Privacy budget of the whole run.
    left : float
        Share of its mu^2 that is left.
    """

    mu: float
    left: float = 1.0

    def spend(self, share: float) -> float:
        """Subtract a share of what is left, and return it as a mu."""
        spent = self.left * share
        self.left -= spent
        return self.mu * math.sqrt(spent)


@dataclass(eq=False)
class Asking:
    """Units, k, number of units, remaining budget and constants, which every question needs."""

    units: PrivateUnits
    k: int
    n_hat: float
    purse: Purse
    tuning: Tuning

    def buy_curve(self, population: Population, centre: FloatArray, mu: float, what: str) -> NormCurve:
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
        """Return the noise on an entry of a clipped mean bought with `mu`, per unit of its radius."""
        return mean_noise(1.0, mu=mu, n_hat=self.n_hat, relation=self.units.veil.relation)

    def buy_mean(
        self, population: Population, centre: FloatArray, clip: ClipChoice, mu: float, what: str
    ) -> NoisyMean:
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

    def buy_sigma(self, share: float) -> tuple[Sigma, NormCurve, ClipChoice]:
        """Buy Sigma itself with a share of the remaining budget.

        Formal guarantees
        -----------------
        Both relations. One curve of norms and one clipped sum, with the sensitivities proven in `norm_curve` and
        `noisy_clipped_sum`. The radius depends on releases only.
        """
        population = self.units.matrices()
        centre = np.zeros(population.shape)
        mu = self.purse.spend(share)
        for_curve, for_sum = split_mu(mu, [self.tuning.curve_share, 1 - self.tuning.curve_share])
        curve = self.buy_curve(population, centre, for_curve, "Sigma")
        noise = self.noise(for_sum) / math.sqrt(2)
        clip = loss.clip_of_sigma(curve, d=self.units.d, k=self.k, noise=noise, tuning=self.tuning)
        mean = self.buy_mean(population, centre, clip, for_sum, "Sigma")
        return Sigma(mean.value, mean.noise**2 / 2), curve, clip


@dataclass(frozen=True, eq=False)
class Question:
    """Question about M Sigma W D, centred at a state.

    Parameters
    ----------
    state : State
        Current estimate.
    columns : array of shape (m,)
        Diagonal of D, at most 1.
    inside : float
        g, the factor of damping inside the span of W.
    weight : float
        Loss for noise of 1 on every entry of the answer.
    excess_weight : float
        Loss for an excess of 1 that turns directions.
    """

    state: State
    columns: FloatArray
    inside: float
    weight: float
    excess_weight: float

    @classmethod
    def about(cls, state: State, k: int, m: int, inside: float, tuning: Tuning) -> Question:
        """Return the question about the first m directions, with the column weights of least loss.

        The noise on column i is divided by its weight D_i, and the radius grows with sum D_i^2 lambda_i. So the
        best D_i^4 is a_i/lambda_i, where a_i is the loss by errors along direction i (`loss.cost_of_errors`).
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
        """Return the undamped question about all tracked directions, for use until they have converged."""
        return cls.about(state, k, state.eigenvalues.size, 1.0, tuning)

    @classmethod
    def narrow(cls, state: State, k: int, tuning: Tuning) -> Question:
        """Return the question about the k requested components, damped inside their span.

        After convergence only the noise outside their span matters.
        """
        return cls.about(state, k, k, tuning.inside if state.d <= tuning.widest_damping else 1.0, tuning)

    @property
    def distance(self) -> float:
        """Expected squared distance of the centre from the mean; 0 if there is no estimate yet."""
        if not self.state.known:
            return 0.0
        return loss.centre_distance(self.state, self.columns, self.inside)

    @property
    def directions(self) -> FloatArray:
        """W, the first m directions of the state."""
        return self.state.V[:, : self.columns.size]

    @functools.cached_property
    def centre(self) -> FloatArray:
        """M C D with C = W diag(eigenvalues), in single precision."""
        m = self.columns.size
        return to_single(self.directions * (self.state.eigenvalues[:m] * self.columns * self.inside))

    def population(self, units: PrivateUnits) -> Population:
        """Return the population of the M A_i W D.

        With A' = M A M and W' = W D/g, the product A' W' is M A W D, since M W = g W.
        """
        damped = units if self.inside == 1.0 else units.damped(self.directions, self.inside)
        return damped.block(self.directions * (self.columns / self.inside))

    def buy_curve(self, asking: Asking, mu: float, what: str) -> NormCurve:
        """Buy the curve of norms from which the radius is chosen."""
        return asking.buy_curve(self.population(asking.units), self.centre, mu, what)

    def clip(self, asking: Asking, curve: NormCurve, mu: float) -> ClipChoice:
        """Return the radius of least expected loss, if the sum is bought with `mu`."""
        return loss.clip_of_block(
            curve,
            noise=asking.noise(mu),
            weight=self.weight,
            excess_weight=self.excess_weight,
            distance=self.distance,
            entries=asking.k * (asking.units.d - asking.k),
            tuning=asking.tuning,
        )

    def buy_answer(
        self, asking: Asking, mu: float, what: str, curve: NormCurve | None = None
    ) -> tuple[Answer, NoisyMean, ClipChoice]:
        """Buy the answer with `mu`, including the curve of norms if none is given, and undo D and M.

        Formal guarantees
        -----------------
        Both relations. At most one curve of norms, and one clipped sum of tensors that depend on the unit and on
        public numbers, with the sensitivities proven in `norm_curve` and `noisy_clipped_sum`. Undoing D and M is
        post-processing.
        """
        if curve is None:
            for_curve, mu = split_mu(mu, [asking.tuning.curve_share, 1 - asking.tuning.curve_share])
            curve = self.buy_curve(asking, for_curve, what)
        clip = self.clip(asking, curve, mu)
        mean = asking.buy_mean(self.population(asking.units), self.centre, clip, mu, what)
        along = self.directions.T @ mean.value
        product = (mean.value + (1 / self.inside - 1) * (self.directions @ along)) / self.columns
        shrunk = 0.0
        if self.state.known and self.inside == 1.0:  # a damped answer is clipped least, so it is not corrected
            shrunk = clip.excess / math.sqrt(loss.squared_size(self.state, self.columns, self.inside))
        return Answer(product, (mean.noise / self.columns) ** 2, self.inside, shrunk), mean, clip
