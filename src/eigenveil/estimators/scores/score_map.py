"""The noisy histogram of scores that `private_scores` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.privacy import Ledger


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreMap:
    """A released two-dimensional histogram of scores. Everything in it is released or public.

    Parameters
    ----------
    counts : array of shape (bins, bins), or (groups, bins, bins)
        Noisy number of units in every cell; not integers, and possibly negative.
    outside : float, or array of shape (groups,)
        Noisy number of units beyond the edges.
    edges : (array, array)
        Edges of the cells along the first and the second axis of `counts`.
    components : (int, int)
        Components on the axes, counted from 1.
    labels : tuple, optional
        The groups, in the order of `counts`.
    noise : float
        Standard deviation of the noise in every count.
    ledger : Ledger
        The ledger that was charged.
    """

    counts: FloatArray
    outside: FloatArray
    edges: tuple[FloatArray, FloatArray]
    components: tuple[int, int]
    labels: tuple[Any, ...] | None
    noise: float
    ledger: Ledger

    @property
    def private(self) -> bool:
        """Whether the guarantee holds; if not, the ledger says why."""
        return self.ledger.private

    def non_negative(self) -> Self:
        """Return the nearest histogram without negative counts and with the same total (post-processing)."""
        both = np.concatenate([self.counts.ravel(), np.ravel(self.outside)])
        nearest = nearest_histogram(both)
        counts = nearest[: self.counts.size].reshape(self.counts.shape)
        outside = nearest[self.counts.size :].reshape(np.shape(self.outside))
        return replace(self, counts=counts, outside=outside)

    def __repr__(self) -> str:
        verdict = "" if self.private else f" NOT PRIVATE: {'; '.join(self.ledger.reasons)};"
        cells = " x ".join(map(str, self.counts.shape))
        return (
            f"<ScoreMap of components {self.components[0]} and {self.components[1]}:{verdict} {cells} "
            f"cells, noise {self.noise:.4g}, {self.ledger!r}>"
        )


def nearest_histogram(sums: FloatArray) -> FloatArray:
    """Return the nearest non-negative numbers, in squared distance, with the same total (0 if it is negative).

    Post-processing. Setting negative counts to 0 would inflate the total if many cells are empty.

    Examples
    --------
    >>> nearest_histogram(np.array([5.0, 1.0, -2.0])).tolist()
    [4.0, 0.0, 0.0]
    """
    flat = np.sort(sums, axis=None)[::-1]
    total = max(0.0, float(flat.sum()))
    levels = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    used = np.flatnonzero(flat > levels)
    level = levels[used[-1]] if used.size else float(np.max(flat, initial=0.0))
    nearest: FloatArray = np.maximum(sums - level, 0.0)
    return nearest
