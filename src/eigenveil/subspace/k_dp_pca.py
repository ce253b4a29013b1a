"""k-DP-PCA: deflation over ModifiedDP-PCA, the paper's main algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from eigenveil.engines import LocalEngine, RangePlan
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.gradients import need_fixed_places
from eigenveil.oracles.literal_dp_pca import LiteralDPPCA
from eigenveil.oracles.modified_dp_pca import MeanEstimator, RangeFinder, modified_dp_pca
from eigenveil.oracles.steps import Rates
from eigenveil.privacy import Ledger, Relation
from eigenveil.subspace.black_box_pca import run
from eigenveil.subspace.opening import check_k, open_units
from eigenveil.subspace.release import Release
from eigenveil.units import Units

RatesPerComponent = Rates | Sequence[Callable[[int], float]] | Sequence[Sequence[float]]


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
    relation: Relation | str = Relation.ADD_REMOVE,
    ledger: Ledger | None = None,
    random_state: int | None = None,
    engine: LocalEngine | None = None,
) -> Release:
    """Find k private directions; noise shrinks with the spread of the units' gradients.

    The steps are those of `subspace.deflation` over `oracles.tracked_dp_pca`, or over `oracles.literal_dp_pca`,
    n/k units per component.

    Parameters
    ----------
    samples : anything that holds rows, or what `eigenveil.samples` makes
        The units.
    k : int
        How many directions.
    epsilon, delta : float
        What the whole may cost.
    batch_size : int, optional
        B. If left out: floor(sqrt(n)) in the literal form, else chosen by the oracle from releases.
    learning_rates : callable or sequence, or one per component, optional
        eta_t for t = 1, 2, .... If left out: 1/(1 + t) in the literal form, power steps else. Rates that use a
        spectrum make it public.
    tau, K, a, C1 : float
        Constants of PrivRange and PrivMean, public.
    mean_estimator : {"tracked", "privmean"}
        The practical form, or the literal one (with ``relation="replace"``).
    range_finder : {"tracked", "privrange"} or float, optional
        The tracked mean's radius search, PrivRange, or a threshold fixed in advance. If left out, the one that
        belongs to the mean estimator.
    halves : {"shared", "disjoint"}
        Whether PrivRange and PrivMean get the same first half of a batch, as printed, or a half each.
    relation : {"add-remove", "replace"}
        What neighbours are.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP: a unit is in one part, and there in one batch. See `TrackedDPPCA` and `LiteralDPPCA`.

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
    oracle = modified_dp_pca(
        mean_estimator=mean_estimator,
        range_finder=range_finder,
        batch_size=batch_size,
        tau=tau,
        K=K,
        a=a,
        C1=C1,
        halves=halves,
    )
    units = open_units(
        samples,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        ledger=ledger,
        random_state=random_state,
        aside=oracle.aside(epsilon, delta),
        engine=engine,
    )
    check_k(k, units.d)
    if isinstance(oracle, LiteralDPPCA):
        need_fixed_places(units.veil, "literal k-DP-PCA", fixed_places=units.operator.fixed_places)
        oracle = replace(oracle, batch_size=_printed_batch(units) if batch_size is None else batch_size)
    oracles = [replace(oracle, learning_rates=rates) for rates in per_component(learning_rates, k)]
    return run(units, k, oracles, algorithm="k-DP-PCA")


def per_component(rates: RatesPerComponent | None, k: int) -> list[Rates | None]:
    """The rates of every component: the same for all, or given one by one."""
    if rates is None or callable(rates) or not len(rates) or isinstance(rates[0], float | int):
        return [cast("Rates | None", rates)] * k
    if len(rates) != k:
        raise InvalidInputError(f"expected learning rates for {k} components, got {len(rates)}.")
    return [cast("Rates", one) for one in rates]


def _printed_batch(units: Units) -> int:
    """floor(sqrt(n)), as in the paper's experiments; n is public here."""
    plan = units.by_position().plan
    assert isinstance(plan, RangePlan), "by_position makes one"
    return max(1, math.isqrt(plan.last))
