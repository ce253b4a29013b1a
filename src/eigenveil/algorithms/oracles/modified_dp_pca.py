"""ModifiedDP-PCA: choose the oracle for a range finder and a mean estimator."""

from __future__ import annotations

from typing import Literal

from eigenveil.algorithms.oracles.literal_dp_pca import LiteralDPPCA
from eigenveil.algorithms.oracles.steps import Rates, check_range, check_word
from eigenveil.algorithms.oracles.tracked_dp_pca import TrackedDPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.mechanisms.paper.gradients import check_tau

MeanEstimator = Literal["tracked", "privmean"]
RangeFinder = Literal["tracked", "privrange"] | float
ModifiedDPPCA = LiteralDPPCA | TrackedDPPCA


def modified_dp_pca(
    *,
    mean_estimator: MeanEstimator = "tracked",
    range_finder: RangeFinder | None = None,
    batch_size: int | None = None,
    learning_rates: Rates | None = None,
    tau: float = 0.01,
    K: float = 1.0,
    a: float = 1.0,
    C1: float = 1.0,
    halves: Literal["shared", "disjoint"] = "shared",
) -> ModifiedDPPCA:
    """Return the tracked oracle, or the literal one if an option selects one of the paper's own primitives.

    Parameters
    ----------
    mean_estimator : {"tracked", "privmean"}
        A mean clipped around a tracked centre (practical, both relations), or PrivMean (literal, replace only).
    range_finder : {"tracked", "privrange"} or float, optional
        A radius search, PrivRange, or a threshold fixed in advance: a radius for the tracked mean, a top
        eigenvalue for PrivMean. By default "tracked" for the tracked mean, and "privrange" for PrivMean.
    batch_size, learning_rates
        As in both oracles.
    tau, K, a, C1, halves
        As in `LiteralDPPCA`. The tracked oracle ignores them.

    Examples
    --------
    >>> type(modified_dp_pca()).__name__, type(modified_dp_pca(range_finder="privrange")).__name__
    ('TrackedDPPCA', 'LiteralDPPCA')
    """
    check_tau(tau)
    check_word("mean_estimator", mean_estimator, ("tracked", "privmean"))
    check_word("halves", halves, ("shared", "disjoint"))
    own: RangeFinder = "privrange" if mean_estimator == "privmean" else "tracked"
    finder = own if range_finder is None else range_finder
    _check_range_finder(finder, mean_estimator)
    if mean_estimator == "tracked" and finder != "privrange":
        radius: Literal["tracked"] | float = "tracked" if isinstance(finder, str) else finder
        return TrackedDPPCA(range_finder=radius, batch_size=batch_size, learning_rates=learning_rates)
    return LiteralDPPCA(
        range_finder="privrange" if isinstance(finder, str) else finder,
        mean_estimator=mean_estimator,
        batch_size=batch_size,
        learning_rates=learning_rates,
        tau=tau,
        K=K,
        a=a,
        C1=C1,
        halves=halves,
    )


def _check_range_finder(finder: RangeFinder, mean_estimator: MeanEstimator) -> None:
    check_range(finder, words=("tracked", "privrange"))
    if finder == "tracked" and mean_estimator == "privmean":
        raise InvalidInputError(
            "PrivMean needs the top eigenvalue of the gradients' covariance, but a radius measures its trace.",
            hint="Use range_finder='privrange', or pass the top eigenvalue as a number.",
        )
