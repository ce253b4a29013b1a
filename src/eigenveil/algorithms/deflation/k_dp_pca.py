"""k-DP-PCA, the paper's main algorithm: deflation over ModifiedDP-PCA."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack, cast

from eigenveil.algorithms.algorithm import Algorithm, Options
from eigenveil.algorithms.deflation.deflate import by_deflation
from eigenveil.algorithms.open_units import RunArguments, public_face, refuse_unknown
from eigenveil.algorithms.oracles.literal_dp_pca import LiteralDPPCA
from eigenveil.algorithms.oracles.modified_dp_pca import MeanEstimator, RangeFinder, modified_dp_pca
from eigenveil.algorithms.oracles.steps import Rates
from eigenveil.algorithms.oracles.tracked_dp_pca import MOST_ROUNDS, TrackedDPPCA
from eigenveil.algorithms.release import Release
from eigenveil.engines import RangePlan
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.paper.gradients import need_fixed_places
from eigenveil.privacy import Relation
from eigenveil.units import Units

RatesPerComponent = Rates | Sequence[Callable[[int], float]] | Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class KDPPCAOptions(Options):
    """Options of `k_dp_pca`."""

    batch_size: int | None = None
    learning_rates: RatesPerComponent | None = None
    tau: float = 0.01
    K: float = 1.0
    a: float = 1.0
    C1: float = 1.0
    mean_estimator: MeanEstimator = "tracked"
    range_finder: RangeFinder | None = None
    halves: Literal["shared", "disjoint"] = "shared"

    def __post_init__(self) -> None:
        _ = self.oracle  # checks them

    @property
    def oracle(self) -> LiteralDPPCA | TrackedDPPCA:
        """Oracle for one component."""
        return modified_dp_pca(
            mean_estimator=self.mean_estimator,
            range_finder=self.range_finder,
            batch_size=self.batch_size,
            tau=self.tau,
            K=self.K,
            a=self.a,
            C1=self.C1,
            halves=self.halves,
        )

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the part of (epsilon, delta) that the oracle sets aside."""
        return self.oracle.aside(epsilon, delta)

    def most_passes(self, d: int, k: int, relation: Relation) -> int | None:  # noqa: ARG002
        """Return the number of passes: one for positions, if any; per component a count, and three per batch."""
        known = isinstance(self.oracle, TrackedDPPCA) and self.batch_size is None
        return (relation is Relation.REPLACE) + k * (1 + 3 * MOST_ROUNDS) if known else None


@public_face
def k_dp_pca(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    batch_size: int | None = None,
    learning_rates: RatesPerComponent | None = None,
    tau: float = 0.01,
    K: float = 1.0,
    a: float = 1.0,
    C1: float = 1.0,
    mean_estimator: MeanEstimator = "tracked",
    range_finder: RangeFinder | None = None,
    halves: Literal["shared", "disjoint"] = "shared",
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k private components with noise that scales with the spread of the units' gradients.

    The steps are those of `algorithms.deflation.deflate` over `algorithms.oracles.tracked_dp_pca`, or over
    `algorithms.oracles.literal_dp_pca`, with n/k units per component.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components.
    epsilon, delta : float
        Privacy budget of the whole run.
    batch_size : int, optional
        B, the number of units in a batch. By default floor(sqrt(n)) in the literal form. Otherwise the oracle
        chooses it from releases.
    learning_rates : callable or sequence, or one per component, optional
        eta_t for t = 1, 2, .... By default 1/(1 + t) in the literal form, and power steps otherwise. Rates that
        use a spectrum make it public.
    tau, K, a, C1 : float
        Constants of PrivRange and PrivMean, public.
    mean_estimator : {"tracked", "privmean"}
        The practical form, or the literal one (with ``relation="replace"``).
    range_finder : {"tracked", "privrange"} or float, optional
        The tracked mean's radius search, PrivRange, or a threshold fixed in advance. By default "tracked" for the
        tracked mean, and "privrange" for PrivMean.
    halves : {"shared", "disjoint"}
        Whether PrivRange and PrivMean use the same first half of a batch, as printed, or each its own half.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`: see `RunArguments`.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP. A unit is in one part, and within it in one batch. See `TrackedDPPCA` and `LiteralDPPCA`.

    Deviations from the paper
    -------------------------
    Those of the two oracles, and of `black_box_pca` under add-remove.

    References
    ----------
    The paper, labels algo-k-DP-PCA and main-theorem-sec-2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(5000, 5)) * [5, 3, 1, 1, 1]
    >>> k_dp_pca(X, 2, epsilon=1.0, delta=1e-5).components.shape
    (2, 5)
    """
    refuse_unknown(k_dp_pca, arguments)
    options = KDPPCAOptions(
        batch_size=batch_size,
        learning_rates=learning_rates,
        tau=tau,
        K=K,
        a=a,
        C1=C1,
        mean_estimator=mean_estimator,
        range_finder=range_finder,
        halves=halves,
    )
    return K_DP_PCA.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: Units, k: int, options: KDPPCAOptions) -> Release:
    """Run deflation over the oracle that the options choose."""
    oracle = options.oracle
    if isinstance(oracle, LiteralDPPCA):
        need_fixed_places(units.veil, "literal k-DP-PCA", fixed_places=units.operator.fixed_places)
        oracle = replace(oracle, batch_size=options.batch_size or _printed_batch(units))
    oracles = [replace(oracle, learning_rates=rates) for rates in per_component(options.learning_rates, k)]
    return by_deflation(units, k, oracles, algorithm="k-DP-PCA")


K_DP_PCA = Algorithm(name="k-dp-pca", options=KDPPCAOptions, run=run, variances=False)


def per_component(rates: RatesPerComponent | None, k: int) -> list[Rates | None]:
    """Return the learning rates of every component: the same for all, or one each."""
    if rates is None or callable(rates) or not len(rates) or isinstance(rates[0], float | int):
        return [cast("Rates | None", rates)] * k
    if len(rates) != k:
        raise InvalidInputError(f"expected learning rates for {k} components, got {len(rates)}.")
    return [cast("Rates", one) for one in rates]


def _printed_batch(units: Units) -> int:
    """Return floor(sqrt(n)), as in the paper's experiments; n is public here."""
    plan = units.by_position().plan
    assert isinstance(plan, RangePlan), "by_position makes one"
    return max(1, math.isqrt(plan.last))
