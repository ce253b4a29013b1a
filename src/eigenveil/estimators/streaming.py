"""The stream behind `partial_fit`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.rescaling import dense, divided
from eigenveil.estimators.settings import Settings
from eigenveil.privacy import Purpose
from eigenveil.sources import memory, open_source
from eigenveil.subspace import TrackedStream


def new_stream(settings: Settings, *, people: bool) -> TrackedStream:
    """An empty stream; what is declared public is written in its ledger."""
    if settings.buys_mean:
        warnings.warn(
            "partial_fit takes no mean off the rows: directions are those of the second moment. Pass center=False "
            "to say that this is meant, or a mean that is public anyway.",
            UserWarning,
            stacklevel=3,
        )
    stream = TrackedStream(
        settings.k,
        epsilon=settings.epsilon,
        delta=settings.delta,
        units="people" if people else "rows",
        random_state=settings.random_state,
        engine=settings.engine,
        **settings.options,
    )
    for what, given, purpose in (
        ("mean", not isinstance(settings.center, bool), Purpose.MEAN),
        ("column scales", settings.scale is not None, Purpose.SCALE),
    ):
        if given:
            stream.ledger.declare(what, note="declared by the caller", purpose=purpose)
    return stream


def add_to_stream(
    stream: TrackedStream, X: Any, units: Any, *, mean: FloatArray | None, scale: FloatArray | None
) -> None:
    """Hand rows to the stream, less a public mean and divided by public scales."""
    if mean is None and scale is None:
        stream.add(X, units=units)
        return
    if units is None:
        for block in open_source(X).blocks():
            stream.add(_changed(block.values, mean, scale))
        return
    if not memory.accepts(X):
        raise InvalidInputError(f"expected a block of rows in memory, got {type(X).__name__}.")
    rows = memory.hold(X, columns=None, units=units)
    stream.add(_changed(rows.between(0, rows.n_rows), mean, scale), units=rows.ids(units))


def _changed(values: Any, mean: FloatArray | None, scale: FloatArray | None) -> Any:
    rows = dense(values)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = rows if mean is None else rows - mean
    return rows if scale is None else divided(rows, scale)
