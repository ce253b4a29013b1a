"""The stream behind `partial_fit`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.algorithms import TrackedStream
from eigenveil.algorithms.open_units import declare_layout
from eigenveil.algorithms.stream.blocks import bind_block
from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.estimators.progress import Lines
from eigenveil.estimators.settings import Settings
from eigenveil.operators.rescaled import dense, divided
from eigenveil.privacy import Purpose
from eigenveil.sources import Layout, open_with
from eigenveil.sources.memory import in_memory


def new_stream(settings: Settings, layout: Layout, *, people: bool) -> TrackedStream:
    """Return an empty stream, with public settings declared in its ledger."""
    if settings.buys_mean:
        warnings.warn(
            "partial_fit subtracts no mean: components are those of the second moment. Pass center=False to "
            "confirm this, or a public mean.",
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
    declare_layout(stream.ledger, layout)
    return stream


def warn_of_a_fresh_start(*, again: bool) -> None:
    """Warn if an earlier fit is discarded."""
    if again:
        warnings.warn(
            "partial_fit starts a stream from scratch: the earlier fit is discarded, and for people in both the "
            "costs add up.",
            PrivacyWarning,
            stacklevel=3,
        )


def add_to_stream(
    stream: TrackedStream, X: Any, units: Any, *, layout: Layout, mean: FloatArray | None, scale: FloatArray | None
) -> None:
    """Add rows to the stream, after subtracting a public mean and dividing by public scales."""
    if layout == Layout() and mean is None and scale is None:
        stream.add(X, units=units)
        return
    if units is None:
        source = open_with(X, layout)
        for block in source.blocks():
            stream.add(_named(_changed(block.values, mean, scale), source.columns))
        return
    if not in_memory.accepts(X):
        raise InvalidInputError(f"expected a block of rows in memory, got {type(X).__name__}.")
    rows = in_memory.hold(X, layout=layout, units=units)
    bind_block(stream.ledger, units)  # here, since not every kind of rows returns ids with their name
    changed = _changed(rows.between(0, rows.n_rows), mean, scale)
    stream.add(_named(changed, rows.columns), units=rows.ids(units))


@contextmanager
def shown_batches(stream: TrackedStream, *, verbose: bool) -> Iterator[None]:
    """Print on stderr how many batches are closed, now and then, and once more at the end if one closed."""
    if not verbose:
        yield
        return
    before, lines = stream.batches, Lines()
    with stream.ledger.watched(lambda _: lines.offer(f"stream: {stream.batches} batches closed"), own_thread=True):
        yield
    if stream.batches > before:
        lines.say(f"stream: {stream.batches} batches closed")


def _named(rows: Any, names: tuple[str, ...] | None) -> Any:
    """Return rows as a table if their columns have names."""
    return rows if names is None else pa.table(list(rows.T), names=list(names))


def _changed(values: Any, mean: FloatArray | None, scale: FloatArray | None) -> Any:
    if mean is None and scale is None and sparse.issparse(values):
        return values
    rows = dense(values)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = rows if mean is None else rows - mean
    return rows if scale is None else divided(rows, scale)
