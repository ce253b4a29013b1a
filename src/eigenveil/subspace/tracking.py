"""What is known of Sigma along m directions, how best to ask about it next, and what an answer changes.

A round asks for M Sigma W D: W holds the directions, D weighs them, and M = I - (1 - g) W W^T counts what lies
inside their span with weight g. Noise has the same size on every entry of the answer, and grows with the norm of
the units' own M A_i W D; so D and g put it where it hurts least. All of this is arithmetic on releases.

Round(state, D, g):
  1  R <- a radius that holds a share q of the norms ||M A_i W D - M C D||; if damping is on offer (g < 1), for g
          and for 1, and the better of the two is kept
  2  G <- C + the clipped, noised mean of the residuals, with M and D undone
  3  E <- the mean of W^T G, its transpose, and diag(lambda), weighed by how well each is known
     S <- what of G lies outside the span of W, shrunk towards 0 likewise
  4  V, w <- eigenvectors and eigenvalues of E;  W' <- qr(W V (w - shift) + S V)      # a power step with a shift
     C' <- the best guess of Sigma W'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.population import Population
from eigenveil.kernels import to_single
from eigenveil.mechanisms import Given, clipped_mean, radius_search
from eigenveil.privacy import Purpose, split_mu
from eigenveil.units import PrivateUnits

RADIUS_SHARE = 0.06
"""Share of a round's mu^2 for its radius."""

TINY = 1e-100
"""Smaller eigenvalues are taken as this, so that nothing overflows."""

_BALANCE = 0.3
"""How much error, against that outside, may be let in through columns and entries that are weighed down."""

_LEAST_COLUMN, _LEAST_INSIDE = 0.1, 0.2
_WIDEST = 5000
"""Damping makes rows dense, a few at a time: only up to this number of columns."""


@dataclass(frozen=True)
class State:
    """What releases say of Sigma along the columns of W, best first.

    Parameters
    ----------
    W : array of shape (d, m)
        Orthonormal columns.
    eigenvalues : array of shape (m,)
        Estimates of w^T Sigma w (of the clipped units, so biased low).
    centre : array of shape (d, m)
        The best guess of Sigma W.
    variance : array of shape (m,)
        About the squared error of that guess, per entry outside the span: noise, and what has not yet converged.
        Infinite: unknown.
    inside : array of shape (m,)
        The same for W^T Sigma W, which `eigenvalues` say is diagonal; an entry is known from both its columns.
    unfinished : float
        The part of `variance` that another round would mend, for the first k columns.
    """

    W: FloatArray
    eigenvalues: FloatArray
    centre: FloatArray
    variance: FloatArray
    inside: FloatArray
    unfinished: float = 0.0


def nothing_known(W: FloatArray) -> State:
    """The state before the first round, along directions that depend on no data."""
    unknown = np.full(W.shape[1], np.inf)
    return State(W, np.zeros(W.shape[1]), np.zeros(W.shape), unknown, unknown)


@dataclass(frozen=True)
class Weights:
    """D and g, and what error of an entry inside and outside the span of W costs."""

    columns: FloatArray
    inside: float
    cost_inside: float = 0.0
    cost_outside: float = 1.0


@dataclass(frozen=True)
class Answer:
    """A round's release: G, the noise on an entry of it before D and M were undone, and how the round went."""

    G: FloatArray
    weights: Weights
    noise: float
    radius: float
    offset: float
    """How far the mean of the units was from the centre, over the radius: near 1 the centre is what is noised."""


def plain_weights(m: int) -> Weights:
    """All alike: for directions of which nothing is known."""
    return Weights(columns=np.ones(m), inside=1.0)


def best_weights(state: State, k: int) -> Weights:
    """Weights for a round that is to settle the first k columns.

    An error N_ij of Sigma between wanted i and another direction j costs about N_ij^2/(lambda_i - lambda_j) of
    energy. Outside the span there are d - m such j for every wanted i, and lambda_j is small. Inside there are
    m - k, and the columns beyond k matter only as far as directions are still mixed up. A round's noise grows with
    (g^2 ||W^T x||^2 + ||the rest of x||^2) ||D W^T x||^2, so wanted columns are best weighed by
    (lambda - shift)^-1/4 lambda^-1/4, and the others, and g, as low as lets in little error. Where what is known
    is poor, all weights go back to 1.
    """
    d, m = state.W.shape
    if m == d or not np.all(np.isfinite(state.variance)):
        return plain_weights(m)
    tiny = TINY
    size = np.maximum(state.eigenvalues, max(0.02 * float(state.eigenvalues[0]), tiny))
    above = np.maximum(size - 0.5 * size[-1], tiny)
    gaps = np.maximum(above[:k, None] - above[None, k:], 0.0)
    variance = float(np.mean(state.inside)) / 2
    need = 1 / above[:k]
    poor = math.sqrt(float(np.mean(np.minimum(1.0, (d - m) * state.variance[:k] / above[:k] ** 2))))

    wanted = (need / size[:k]) ** 0.25
    mixed = np.minimum(0.5, variance / np.maximum(gaps**2, tiny))
    spare = np.sqrt((mixed * need[:, None]).sum(axis=0) / (_BALANCE * need.sum())) * wanted.max()
    columns = np.clip(np.concatenate([wanted, spare]) / wanted.max(), _LEAST_COLUMN, 1.0)

    cost_inside = float((1 / np.sqrt(gaps**2 + max(variance, tiny))).sum())
    cost_outside = float((d - m) * need.sum())
    inside = max(math.sqrt(cost_inside / (_BALANCE * cost_outside)), poor, _LEAST_INSIDE) if d <= _WIDEST else 1.0
    return Weights(np.maximum(columns, poor), min(inside, 1.0), cost_inside, cost_outside)


def ask(
    units: PrivateUnits, state: State, weights: Weights, *, n_hat: float, mu: float, quantile: float, what: str
) -> Answer:
    """Steps 1 and 2: one paid round.

    Formal guarantees
    -----------------
    Both relations. One or two radius searches and one clipped sum, on tensors that depend on the unit and on
    public numbers: mu-GDP by composition, with the sensitivities proven in `radius_search` and
    `clipped_mean`.
    """
    offers = [weights] if weights.inside == 1.0 else [weights, _undamped(weights)]
    mu_radius, mu_sum = split_mu(mu, [RADIUS_SHARE, 1 - RADIUS_SHARE])
    # 1
    found = []
    for offer in offers:
        population, centre = _population(units, state, offer)
        radius = radius_search(
            population,
            centre=centre,
            target=quantile * n_hat,
            mu=mu_radius / math.sqrt(len(offers)),
            veil=units.veil,
            what=f"{what}: radius",
            purpose=Purpose.COMPONENTS,
        )
        error = radius.value * math.sqrt(offer.cost_inside / offer.inside**2 + offer.cost_outside)
        found.append((error, offer, population, centre, radius))
    _, chosen, population, centre, radius = min(found, key=lambda one: one[0])
    # 2
    rule = Given(radius.value, kept=quantile)
    mean = clipped_mean(
        population,
        centre=centre,
        n_hat=n_hat,
        radius=rule,
        mu=mu_sum,
        veil=units.veil,
        what=what,
        purpose=Purpose.COMPONENTS,
    )
    G = _damped(mean.value / chosen.columns, state.W, 1 / chosen.inside)
    return Answer(G, chosen, mean.noise, mean.radius, mean.offset)


def learn(state: State, answer: Answer, *, k: int, trust: bool) -> State:
    """Steps 3 and 4: what is known after a round. `trust`: whether what was known before counts as well."""
    W, G, (d, m) = state.W, answer.G, state.W.shape
    # 3
    precision = (answer.weights.columns / max(answer.noise, np.finfo(float).tiny)) ** 2
    before = 1 / state.variance if trust else np.zeros(m)
    H = W.T @ G
    E, inside = _inside(state, answer, H, trust=trust)
    S = (G - W @ H) * (precision / (precision + before))
    # 4
    w, V = np.linalg.eigh((E + E.T) / 2)
    w, V = w[::-1], V[:, ::-1]
    shift = 0.5 * max(float(w[-1]), 0.0) if trust else 0.0
    Z = S @ V
    W_next = np.linalg.qr((W @ V) * (w - shift) + Z)[0]
    overlap = W.T @ W_next

    noise = (V**2).T @ (1 / (precision + before))
    outside = np.sum(Z**2, axis=0)
    moved = np.maximum(outside / max(d - m, 1) - noise, 0.0)
    room = np.maximum(w - shift, np.finfo(float).tiny)
    left_over = np.minimum(1.0, max(float(w[-1]) - shift, 0.0) / room) ** 2 * moved
    gained = np.minimum(np.maximum(outside - (d - m) * noise, 0.0) / room, np.sqrt(outside))
    return State(
        W=W_next,
        eigenvalues=np.maximum(w + gained, 0.0),
        centre=W @ (E @ overlap) + S @ overlap,
        variance=noise + left_over,
        inside=(V**2).T @ inside + gained**2,
        unfinished=float(np.mean(left_over[:k])),
    )


def _inside(state: State, answer: Answer, H: FloatArray, *, trust: bool) -> tuple[FloatArray, FloatArray]:
    """Step 3 inside the span: H and diag(eigenvalues), weighed by their precisions, and the variance left."""
    mean, fresh, known = _both_sides(state, answer, H)
    if not trust:
        known = np.zeros_like(known)
    total = fresh + known
    return (mean * fresh + np.diag(state.eigenvalues) * known) / total, 2 / total.mean(axis=0)


def _both_sides(state: State, answer: Answer, H: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The symmetric mean of H, its precision, and that of what was known: an entry is seen from both sides."""
    one_side = (answer.weights.columns * answer.weights.inside / max(answer.noise, np.finfo(float).tiny)) ** 2
    fresh, before = one_side[None, :] + one_side[:, None], 1 / state.inside
    return (H * one_side[None, :] + H.T * one_side[:, None]) / fresh, fresh, before[None, :] + before[:, None]


def _population(units: PrivateUnits, state: State, weights: Weights) -> tuple[Population, FloatArray]:
    """The units' M A_i W D as a population, and the centre M C D.

    With A' = M A M and W' = W D/g the product A' W' is M A W D, since M W = g W.
    """
    W, g = state.W, weights.inside
    damped = units if g == 1.0 else units.damped(W, g)
    centre = _damped(state.centre, W, g) * weights.columns
    return damped.block(W * (weights.columns / g)), to_single(centre)


def _damped(columns: FloatArray, W: FloatArray, g: float) -> FloatArray:
    """M times columns."""
    return columns if g == 1.0 else columns - (1 - g) * (W @ (W.T @ columns))


def _undamped(weights: Weights) -> Weights:
    return Weights(weights.columns, 1.0, weights.cost_inside, weights.cost_outside)
