"""Projection of rows to scores by a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.operators.rescaled import dense


def scores_of(model: Any, rows: Any) -> FloatArray:
    """Return the coordinates of dense or sparse rows along the components of a fitted model."""
    axes = axes_of(model)
    with np.errstate(invalid="ignore", over="ignore"):
        thin = sparse.issparse(rows)
        scores = rows @ axes.T - model.mean_ @ axes.T if thin else centred(model, rows) @ axes.T
    out: FloatArray = np.asarray(scores, dtype=np.float64) / whitening_of(model)
    return out


def centred(model: Any, rows: Any) -> FloatArray:
    """Subtract the mean of the model from rows."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(dense(rows) - model.mean_)


def axes_of(model: Any) -> FloatArray:
    """Return the matrix that centred rows are multiplied with."""
    return np.asarray(model.components_ if model.scale_ is None else model.components_ / model.scale_)


def whitening_of(model: Any) -> Any:
    """Return the divisors of scores: 1 unless the model whitens."""
    if not model.whiten:
        return 1.0
    return np.maximum(np.sqrt(model.explained_variance_), np.finfo(np.float64).eps)
