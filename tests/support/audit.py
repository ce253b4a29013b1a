"""An attack on two piles of releases: what mu must be at least, at a given confidence."""

from __future__ import annotations

import numpy as np
from scipy import stats

CONFIDENCE = 1 - 1e-5


def mu_lower_bound(without: np.ndarray, with_unit: np.ndarray) -> float:
    """The threshold with the best bound on one half of the scores; its bound on the other half."""
    half = len(without) // 2
    thresholds = np.quantile(np.concatenate([without[:half], with_unit[:half]]), np.linspace(0.01, 0.99, 99))
    best = max(thresholds, key=lambda t: _bound(without[:half], with_unit[:half], t))
    return _bound(without[half:], with_unit[half:], best)


def _bound(without: np.ndarray, with_unit: np.ndarray, threshold: float) -> float:
    """Clopper-Pearson for false alarms and misses, and the mu that no test with those errors can be below."""
    false_alarms = _upper(int(np.sum(without > threshold)), len(without))
    misses = _upper(int(np.sum(with_unit <= threshold)), len(with_unit))
    return float(-stats.norm.ppf(false_alarms) - stats.norm.ppf(misses))


def _upper(hits: int, n: int) -> float:
    return float(stats.beta.ppf(1 - (1 - CONFIDENCE) / 2, hits + 1, n - hits)) if hits < n else 1.0
