"""What a loaded model must look like, so that all that is done with it is sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenveil.estimators.absent import FITTED
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.subspace import Release
from eigenveil.subspace.registry import ALGORITHMS
from eigenveil.subspace.variances import NoisyVariances

OWN = frozenset({"n_features_in_", "_unit_column", "_sklearn_output_config"})
"""Kept beyond what `absent.FITTED` lists: the schema, and how scores are handed out."""
KEPT = (FITTED | OWN) - {"release_", "ledger_", "warnings_"}
"""Attributes that stand in the file; release and ledger have places of their own."""
SHAPES = {
    "components_": ("k", "d"),
    "mean_": ("d",),
    "scale_": ("d",),
    "explained_variance_": ("k",),
    "explained_variance_ratio_": ("k",),
    "singular_values_": ("k",),
}
"""Attributes that are arrays of float64, and their shapes."""
_NUMBERS = ("noise_variance_", "n_samples_")
_NOT_NEGATIVE = ("explained_variance_", "singular_values_")


def check_attributes(found: Mapping[str, Any], release: Release) -> None:
    """Refuse attributes of another type or shape than a fitted DPPCA has, or that contradict each other."""
    _check_release(release)
    k, d = release.components.shape
    sizes = {"k": k, "d": d}
    for name, axes in SHAPES.items():
        if name in found and not (name == "scale_" and found[name] is None):
            _need(_is_floats(found[name], tuple(sizes[axis] for axis in axes)), name)
    for name in ("components_", "mean_", "scale_", "n_components_", "n_features_in_"):
        _need(name in found, name)
    _need(np.array_equal(found["components_"], release.components), "components_")
    for name, number in (("n_components_", k), ("n_features_in_", d)):
        _need(type(found[name]) is int and found[name] == number, name)
    for name in _NUMBERS:
        _need(name not in found or _is_number(found[name]), name)
    for name in _NOT_NEGATIVE:
        _need(name not in found or bool(np.all(found[name] >= 0)), name)
    _need(found["scale_"] is None or bool(np.all(found["scale_"] > 0)), "scale_")
    _check_words(found, d)


def check_parameters(found: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse parameters that a DPPCA does not have, or that no DPPCA could have been fitted with."""
    if not set(found) <= set(known):
        raise DamagedFileError(
            "the model has parameters that a DPPCA does not have.", hint="A newer eigenveil may have written it."
        )
    _need(isinstance(found.get("algorithm"), str) and found["algorithm"] in ALGORITHMS, "algorithm")
    _need(isinstance(found.get("whiten", False), bool | np.bool_), "whiten")
    _need(isinstance(found.get("relation", ""), str), "relation")
    for name in ("epsilon", "delta", "n_components"):
        _need(_is_number(found.get(name, 1)), name)
    _need(isinstance(found.get("options"), dict | None), "options")
    _need(found.get("engine", "auto") == "auto" and found.get("callback") is None, "engine")


def _check_release(release: Release) -> None:
    components = release.components
    _need(isinstance(components, np.ndarray) and components.ndim == 2 and 0 not in components.shape, "components")
    k, d = components.shape
    _need(_is_floats(components, (k, d)), "components")
    _need(release.eigenvalues is None or _is_floats(release.eigenvalues, (k,)), "eigenvalues")
    errors = release.scale_errors
    _need(errors is None or (_is_floats(errors, (d,)) and bool(np.all(errors >= 0))), "scale_errors")
    _need(release.mean is None or _is_floats(release.mean, (d,)), "mean")
    _need(isinstance(release.algorithm, str) and isinstance(release.diagnostics, Mapping), "release")
    if release.variances is not None:
        _check_variances(release.variances, k)


def _check_variances(variances: NoisyVariances, k: int) -> None:
    for name, value in vars(variances).items():
        if name == "rows":
            _need(type(value) is bool, "variances.rows")
            continue
        array = isinstance(value, np.ndarray)
        _need(_is_floats(value, (k,)) if name == "explained" else array or _is_number(value), f"variances.{name}")


def _check_words(found: Mapping[str, Any], d: int) -> None:
    names = found.get("feature_names_in_", [""] * d)
    _need(isinstance(names, list) and len(names) == d and all(type(name) is str for name in names), "names")
    _need(isinstance(found.get("_unit_column"), str | None), "_unit_column")
    output = found.get("_sklearn_output_config", {})
    _need(isinstance(output, dict) and all(isinstance(one, str) for one in output.values()), "output")
    seen = found.get("n_samples_seen_", 0)
    _need(type(seen) is int and seen >= 0, "n_samples_seen_")


def _is_floats(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _need(holds: bool, what: str) -> None:  # noqa: FBT001
    if not holds:
        raise DamagedFileError(f"the model's {what} is not what a DPPCA has.")
