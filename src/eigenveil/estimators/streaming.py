"""The stream behind `partial_fit`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from eigenveil._typing import FloatArray
from eigenveil.algorithms import Release, TrackedStream
from eigenveil.algorithms.open_units import declare_layout
from eigenveil.algorithms.stream.blocks import bind_block
from eigenveil.errors import InvalidInputError, PrivacyWarning, users_line
from eigenveil.estimators.attributes import attributes
from eigenveil.estimators.per_column import Scales, read_scales
from eigenveil.estimators.progress import Lines
from eigenveil.estimators.settings import STREAM_OPTIONS, Settings
from eigenveil.operators.rescaled import dense, divided
from eigenveil.privacy import Purpose
from eigenveil.sources import Layout, Source, open_with
from eigenveil.sources.memory import in_memory


def new_stream(settings: Settings, layout: Layout, scales: Scales, *, people: bool) -> TrackedStream:
    """Return an empty stream, with public settings in its record and declared in its ledger.

    `scales` says which columns have a declared scale, and of which the stream buys one.
    """
    stream = TrackedStream(
        settings.k,
        epsilon=settings.epsilon,
        delta=settings.delta,
        units="people" if people else "rows",
        random_state=settings.random_state,
        engine=settings.engine,
        center=settings.buys_mean,
        scaled=None if not settings.buys_scale else [int(column) for column in scales.private],
        **settings.options,
    )
    stream.prepared = prepared_by(settings)
    for what, name, purpose in (("mean", "center", Purpose.MEAN), ("column scales", "scale", Purpose.SCALE)):
        if stream.prepared[name] is not None:
            some = name == "scale" and scales.which is not None
            note = "declared by the caller" + (f": {', '.join(scales.named)}" if some else "")
            stream.ledger.declare(what, note=note, purpose=purpose)
    declare_layout(stream.ledger, layout)
    return stream


def stream_scales(estimator: Any, settings: Settings) -> Scales:
    """Return which scales of the columns of a stream are declared, and which are bought."""
    names = vars(estimator).get("feature_names_in_")
    names = None if names is None else list(names)
    return read_scales(settings.scale, estimator.n_features_in_, names, estimator.layout_.flags)


def stream_attributes(estimator: Any, release: Release, settings: Settings) -> dict[str, Any]:
    """Return the fitted attributes that follow from the release of a stream, in the units of the data."""
    d, declared = estimator.n_features_in_, stream_scales(estimator, settings).declared
    by = np.ones(d) if declared is None else declared
    mean = settings.declared_mean(d) if release.mean is None else release.mean * by
    scale = declared if release.scale is None else release.scale * by
    return attributes(release, mean=mean, scale=scale, n_hat=None)


def prepared_by(settings: Settings) -> dict[str, Any]:
    """Return how these settings change rows before they are added to a stream, as JSON values."""
    given = {**settings.layout.plain, "center": settings.center, "scale": settings.scale}
    found: dict[str, Any] = json.loads(
        json.dumps({name: _plain(value) for name, value in given.items()}, default=str)
    )
    by_stream = [name for name in ("center", "scale") if not _is_declared(found[name])]
    return {**found, **dict.fromkeys(by_stream)}


def changed_settings(stream: TrackedStream, settings: Settings) -> list[str]:
    """Return the names of all settings that are not those with which the stream began."""
    began = stream.options
    given = {**STREAM_OPTIONS, **settings.options}
    own = {"n_components": "k", "epsilon": "epsilon", "delta": "delta", "random_state": "random_state"}
    changed = [name for name, field in own.items() if getattr(began, field) != getattr(settings, field)]
    changed += [f"options[{name!r}]" for name, value in given.items() if getattr(began, name) != value]
    changed += ["center"] * (began.center != settings.buys_mean)
    changed += ["scale"] * (_scaled_now(stream, settings) != began.scaled)
    now, then = prepared_by(settings), stream.prepared
    changed += [name for name in {**now, **then} if now.get(name) != then.get(name)]
    return changed if began.columns is None else [*changed, "columns"]  # a stream that was not made by a DPPCA


def _scaled_now(stream: TrackedStream, settings: Settings) -> list[int] | None:
    """Return the columns whose scales these settings buy, as the stream has them if no columns are named."""
    began, schema = stream.options.scaled, stream.schema
    if not settings.buys_scale or schema is None or (began is not None and isinstance(settings.scale, str)):
        return began if settings.buys_scale else None
    names = None if schema[1] is None else list(schema[1])
    return [int(column) for column in read_scales(settings.scale, schema[0], names).private]


def warn_of_a_fresh_start(method: str, discarded: str) -> None:
    """Warn that a method discards what the estimator was fitted to before."""
    warnings.warn(
        f"{method} starts from scratch: {discarded}, and for people in both the costs add up.",
        PrivacyWarning,
        stacklevel=users_line(),
    )


def add_to_stream(
    stream: TrackedStream,
    X: Any,
    units: Any,
    *,
    source: Source | None,
    layout: Layout,
    mean: FloatArray | None,
    scale: FloatArray | None,
) -> None:
    """Add rows to the stream, after subtracting a public mean and dividing by public scales.

    `source` is that of the rows, if they have been opened.
    """
    unchanged = layout == Layout() and mean is None and scale is None
    if unchanged and (source is None or units is not None):
        stream.add_prepared(X, units=units)
        return
    if units is None:
        source = open_with(X, layout) if source is None else source
        none = (sparse.csr_array if source.sparse else np.empty)((0, source.n_columns))
        blocks = (block.values for block in source.blocks())
        stream.add_prepared(
            _named(_changed(values, mean, scale), source.columns) for values in chain([none], blocks)
        )
        return
    if not in_memory.accepts(X):
        raise InvalidInputError(f"expected a block of rows in memory, got {type(X).__name__}.")
    rows = in_memory.hold(X, layout=layout, units=units)
    bind_block(stream.ledger, units)  # here, since not every kind of rows returns ids with their name
    changed = _changed(rows.between(0, rows.n_rows), mean, scale)
    stream.add_prepared(_named(changed, rows.columns), units=rows.ids(units))


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


def _is_declared(value: Any) -> bool:
    """Whether a mean or scales, as JSON values, have a number."""
    if isinstance(value, list):
        return any(_is_declared(one[1] if isinstance(one, list) else one) for one in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Return an array as a list, and a mapping as pairs, since columns may be positions."""
    if isinstance(value, Mapping):
        return [[int(key) if hasattr(key, "__index__") else str(key), _plain(one)] for key, one in value.items()]
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value


def _named(rows: Any, names: tuple[str, ...] | None) -> Any:
    """Return rows as a table if their columns have names."""
    return rows if names is None else pa.table(list(rows.T), names=list(names))


def _changed(values: Any, mean: FloatArray | None, scale: FloatArray | None) -> Any:
    if mean is None and scale is None and sparse.issparse(values):
        return values
    rows = dense(values)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = rows if mean is None else rows - mean
    return rows if scale is None else np.asarray(divided(rows, scale))
