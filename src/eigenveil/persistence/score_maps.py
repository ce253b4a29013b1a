"""A bought map of scores beside the model that it belongs to: one JSON file, checked as a model is."""

from __future__ import annotations

import hashlib
import json
import pathlib
from typing import Any

import numpy as np

from eigenveil._atomic_files import written_whole
from eigenveil.estimators import DPPCA
from eigenveil.estimators.score_picture import ScoreHistogram
from eigenveil.persistence.strict_json import DamagedFileError, parse

NAME = "score-map.json"
_FORMAT = "eigenveil score map 1"
_KEYS = {"format", "model", "components", "edges", "counts", "outside", "labels", "noise"}
_MOST = 1 << 29


def plain_map(scores: ScoreHistogram) -> dict[str, Any]:
    """The released numbers of a map, for JSON."""
    return {
        "components": [int(number) for number in scores.components],
        "edges": [np.asarray(edges).tolist() for edges in scores.edges],
        "counts": np.asarray(scores.counts).tolist(),
        "outside": np.asarray(scores.outside).tolist(),
        "labels": None if scores.labels is None else [str(label) for label in scores.labels],
        "noise": float(scores.noise),
    }


def save_map(scores: ScoreHistogram | None, model: DPPCA, folder: pathlib.Path) -> None:
    """Write the map into the folder of its model; None takes away one that is there.

    Notes
    -----
    *Formal guarantees.* The file holds what was released and what says which model it belongs to, itself released.
    """
    if scores is None:
        (folder / NAME).unlink(missing_ok=True)
        return
    if scores.ledger is not model.ledger_:
        raise ValueError("a map is kept beside the model whose ledger has paid for it")
    content = {"format": _FORMAT, "model": _fingerprint(model), **plain_map(scores)}
    with written_whole(folder / NAME) as part:
        part.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")


def load_map(model: DPPCA, folder: pathlib.Path) -> ScoreHistogram | None:
    """The map beside a model that was loaded from this folder; None where there is none.

    Raises
    ------
    InvalidInputError
        The file is damaged or made up, or it is the map of another model.
    """
    path = folder / NAME
    if not path.exists():
        return None
    if path.stat().st_size > _MOST:
        raise DamagedFileError(f"{NAME} is of a size that it cannot have.")
    found = parse(path.read_bytes())
    if not isinstance(found, dict) or set(found) != _KEYS or found["format"] != _FORMAT:
        raise DamagedFileError(f"{NAME} does not hold what a map of scores has.")
    if found["model"] != _fingerprint(model):
        raise DamagedFileError(
            f"{NAME} is the map of another model than the one beside it.", hint="Take the file away."
        )
    return _checked(found, model)


def _fingerprint(model: DPPCA) -> str:
    """Which model it is: its released components and mean."""
    parts = (model.components_, model.mean_)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def _checked(found: dict[str, Any], model: DPPCA) -> ScoreHistogram:
    edges, components, labels = found["edges"], found["components"], found["labels"]
    _need(isinstance(edges, list) and len(edges) == 2)
    grids = [_numbers(grid, axes=1) for grid in edges]
    _need(all(grid.size >= 2 and bool(np.all(np.diff(grid) > 0)) for grid in grids))
    _need(labels is None or (isinstance(labels, list) and all(type(label) is str for label in labels)))
    groups = () if labels is None else (len(labels),)
    counts = _numbers(found["counts"], axes=len(groups) + 2)
    outside = _numbers(found["outside"], axes=len(groups))
    noise = _numbers(found["noise"], axes=0)
    _need(counts.shape == (*groups, *(grid.size - 1 for grid in grids)) and outside.shape == groups and noise > 0)
    _need(isinstance(components, list) and len(components) == 2 and components[0] != components[1])
    _need(all(type(number) is int and 1 <= number <= model.n_components_ for number in components))
    return ScoreHistogram(
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
    _need(array.dtype == np.float64 and array.ndim == axes and bool(np.all(np.isfinite(array))))
    return array


def _need(holds: Any) -> None:
    if not holds:
        raise DamagedFileError(f"{NAME} does not hold what a map of scores has.")
