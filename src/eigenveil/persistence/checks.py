"""Validation of loaded models: types, shapes and consistency of attributes and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenveil.algorithms import Release
from eigenveil.algorithms.registry import ALGORITHMS
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.estimators.missing_attributes import FITTED
from eigenveil.persistence.strict_json import DamagedFileError

OWN = frozenset({"n_features_in_", "_sklearn_output_config"})
"""Saved attributes beyond those in `absent.FITTED`: the schema, and the output format of scores."""
KEPT = (FITTED | OWN) - {"release_", "ledger_", "warnings_"}
"""Attributes saved under "attributes". Release and ledger are saved separately."""
SHAPES = {
    "components_": ("k", "d"),
    "mean_": ("d",),
    "scale_": ("d",),
    "explained_variance_": ("k",),
    "explained_variance_ratio_": ("k",),
    "singular_values_": ("k",),
}
"""Attributes that are float64 arrays, and their shapes."""
_NUMBERS = ("noise_variance_", "n_samples_")
_NOT_NEGATIVE = ("explained_variance_", "singular_values_")


def check_attributes(found: Mapping[str, Any], release: Release) -> None:
    """Raise unless attributes have the types and shapes of a fitted DPPCA and are consistent with each other."""
    _check_release(release)
    k, d = release.components.shape
    sizes = {"k": k, "d": d}
    for name, axes in SHAPES.items():
        if name in found and not (name == "scale_" and found[name] is None):
            _require(_is_floats(found[name], tuple(sizes[axis] for axis in axes)), name)
    for name in ("components_", "mean_", "scale_", "n_components_", "n_features_in_"):
        _require(name in found, name)
    _require(np.array_equal(found["components_"], release.components), "components_")
    for name, number in (("n_components_", k), ("n_features_in_", d)):
        _require(type(found[name]) is int and found[name] == number, name)
    for name in _NUMBERS:
        _require(name not in found or _is_number(found[name]), name)
    for name in _NOT_NEGATIVE:
        _require(name not in found or bool(np.all(found[name] >= 0)), name)
    _require(found["scale_"] is None or bool(np.all(found["scale_"] > 0)), "scale_")
    _check_names(found, d)


def check_parameters(found: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise if DPPCA does not have these parameters, or could not have been fitted with them."""
    if not set(found) <= set(known):
        raise DamagedFileError(
            "the model has parameters that DPPCA does not have.",
            hint="It may have been saved by a newer version of eigenveil.",
        )
    _require(isinstance(found.get("algorithm"), str) and found["algorithm"] in ALGORITHMS, "algorithm")
    _require(isinstance(found.get("whiten", False), bool | np.bool_), "whiten")
    _require(isinstance(found.get("relation", ""), str), "relation")
    for name in ("epsilon", "delta", "n_components"):
        _require(_is_number(found.get(name, 1)), name)
    _require(isinstance(found.get("options"), dict | None), "options")
    _require(_is_number(found.get("verbose", 0)), "verbose")
    _require(found.get("engine", "auto") == "auto" and found.get("callback") is None, "engine")


def _check_release(release: Release) -> None:
    components = release.components
    _require(
        isinstance(components, np.ndarray) and components.ndim == 2 and 0 not in components.shape, "components"
    )
    k, d = components.shape
    _require(_is_floats(components, (k, d)), "components")
    _require(release.eigenvalues is None or _is_floats(release.eigenvalues, (k,)), "eigenvalues")
    for name in ("scale_errors", "mean_errors"):
        errors = getattr(release, name)
        _require(errors is None or (_is_floats(errors, (d,)) and bool(np.all(errors >= 0))), name)
    _require(release.mean is None or _is_floats(release.mean, (d,)), "mean")
    _require(isinstance(release.algorithm, str) and isinstance(release.diagnostics, Mapping), "release")
    if release.variances is not None:
        _check_variances(release.variances, k)


def _check_variances(variances: NoisyVariances, k: int) -> None:
    for name, value in vars(variances).items():
        if name == "rows":
            _require(type(value) is bool, "variances.rows")
            continue
        array = isinstance(value, np.ndarray)
        _require(
            _is_floats(value, (k,)) if name == "explained" else array or _is_number(value), f"variances.{name}"
        )


def _check_names(found: Mapping[str, Any], d: int) -> None:
    names = found.get("feature_names_in_", [""] * d)
    _require(isinstance(names, list) and len(names) == d and all(type(name) is str for name in names), "names")
    output = found.get("_sklearn_output_config", {})
    _require(isinstance(output, dict) and all(isinstance(one, str) for one in output.values()), "output")
    seen = found.get("n_samples_seen_", 0)
    _require(type(seen) is int and seen >= 0, "n_samples_seen_")


def _is_floats(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _require(valid: bool, what: str) -> None:  # noqa: FBT001
    if not valid:
        raise DamagedFileError(f"the model's {what} is not valid for a DPPCA.")
