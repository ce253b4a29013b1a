"""Save and load a map of scores: one JSON file in the folder of its model, with the same checks as a model."""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

import numpy as np

from eigenveil._atomic_files import written_whole
from eigenveil.estimators import DPPCA
from eigenveil.estimators.scores.score_map import ScoreMap
from eigenveil.persistence.folders import read_regular
from eigenveil.persistence.strict_json import DamagedFileError, parse

NAME = "score-map.json"
_FORMAT = "eigenveil score map 1"
_KEYS = {"format", "model", "components", "edges", "counts", "outside", "labels", "noise"}
_MOST = 1 << 29


def plain_map(scores: ScoreMap) -> dict[str, Any]:
    """Convert the released numbers of a map to JSON values."""
    return {
        "components": [int(number) for number in scores.components],
        "edges": [np.asarray(edges).tolist() for edges in scores.edges],
        "counts": np.asarray(scores.counts).tolist(),
        "outside": np.asarray(scores.outside).tolist(),
        "labels": None if scores.labels is None else [str(label) for label in scores.labels],
        "noise": float(scores.noise),
    }


def save_map(scores: ScoreMap | None, model: DPPCA, folder: pathlib.Path) -> None:
    """Save the map to the folder of its model. If `scores` is None, remove an existing map.

    Notes
    -----
    *Formal guarantees.* The file contains released values, and a fingerprint of the model, which is computed from
    released values.
    """
    if scores is None:
        (folder / NAME).unlink(missing_ok=True)
        return
    if scores.ledger is not model.ledger_:
        raise ValueError("a map can only be saved with the model whose ledger has paid for it")
    content = {"format": _FORMAT, "model": _fingerprint(model), **plain_map(scores)}
    with written_whole(folder / NAME) as part:
        part.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")


def load_map(model: DPPCA, folder: pathlib.Path) -> ScoreMap | None:
    """Load the map of a model that was loaded from this folder. Return None if there is no map.

    Raises
    ------
    InvalidInputError
        The file is damaged or forged, or it is the map of another model.
    """
    path = folder / NAME
    if not path.exists():
        return None
    found = parse(read_regular(path, most=_MOST))
    if not isinstance(found, dict) or set(found) != _KEYS or found["format"] != _FORMAT:
        raise DamagedFileError(f"{NAME} does not have the fields of a map of scores.")
    if found["model"] != _fingerprint(model):
        raise DamagedFileError(
            f"{NAME} is the map of another model, not of the model in its folder.", hint="Remove the file."
        )
    return _checked(found, model)


def _fingerprint(model: DPPCA) -> str:
    """Return a hash of the released components and mean, which identifies the model."""
    parts = (model.components_, model.mean_)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def _checked(found: dict[str, Any], model: DPPCA) -> ScoreMap:
    edges, components, labels = found["edges"], found["components"], found["labels"]
    _require(isinstance(edges, list) and len(edges) == 2)
    grids = [_numbers(grid, axes=1) for grid in edges]
    _require(all(grid.size >= 2 and bool(np.all(np.diff(grid) > 0)) for grid in grids))
    _require(labels is None or (isinstance(labels, list) and all(type(label) is str for label in labels)))
    groups = () if labels is None else (len(labels),)
    counts = _numbers(found["counts"], axes=len(groups) + 2)
    outside = _numbers(found["outside"], axes=len(groups))
    noise = _numbers(found["noise"], axes=0)
    _require(
        counts.shape == (*groups, *(grid.size - 1 for grid in grids)) and outside.shape == groups and noise > 0
    )
    _require(isinstance(components, list) and len(components) == 2 and components[0] != components[1])
    _require(all(type(number) is int and 1 <= number <= model.n_components_ for number in components))
    return ScoreMap(
        counts=counts,
        outside=outside,
        edges=(grids[0], grids[1]),
        components=(components[0], components[1]),
        labels=None if labels is None else tuple(labels),
        noise=float(noise),
        ledger=model.ledger_,
    )


def _numbers(plain: Any, *, axes: int) -> Any:
    try:
        array = np.asarray(plain, dtype=object if isinstance(plain, str) else np.float64)
    except (ValueError, TypeError, OverflowError):
        array = np.zeros(0, dtype=object)
    _require(array.dtype == np.float64 and array.ndim == axes and bool(np.all(np.isfinite(array))))
    return array


def _require(valid: Any) -> None:
    if not valid:
        raise DamagedFileError(f"{NAME} is not a valid map of scores.")
