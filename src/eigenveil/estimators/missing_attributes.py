"""Attributes of scikit-learn's PCA that a fitted DPPCA may not have, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_NO_VALUES = "{algorithm} releases directions only, and variances along them would cost extra"
_NO_TOTAL = "no total variance was released by {algorithm}"
_NO_COUNT = "the number of rows is private, and {algorithm} has bought no noisy count"

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "explained_variance_": _NO_VALUES,
        "explained_variance_ratio_": _NO_TOTAL,
        "noise_variance_": _NO_TOTAL,
        "singular_values_": "{algorithm} has not released both variances and a noisy count",
        "n_samples_": _NO_COUNT,
        "n_samples_seen_": "only a stream (partial_fit) makes the number of arrivals public",
        "feature_names_in_": "the data had no column names",
    }
)
"""Why each attribute may be missing after fit."""

FITTED = frozenset(
    {*REASONS, "components_", "layout_", "mean_", "scale_", "ledger_", "n_components_", "release_", "warnings_"}
)
"""All attributes that exist only after fit."""

_CURES = "Hint: algorithm='tracked' releases the most."


def why_absent(name: str, algorithm: str) -> str:
    """Return the error message for an attribute that a fitted estimator does not have.

    Examples
    --------
    >>> print(why_absent("n_samples_", "k-dp-ojas"))
    DPPCA has no n_samples_: the number of rows is private, and k-dp-ojas has bought no noisy count.
    Hint: algorithm='tracked' releases the most.
    """
    message = f"DPPCA has no {name}: {REASONS[name].format(algorithm=algorithm)}."
    return f"{message}\n{_CURES}" if "{algorithm}" in REASONS[name] and algorithm != "tracked" else message
