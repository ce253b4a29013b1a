"""Choice of the engine from the user's setting and the data."""

from __future__ import annotations

from typing import Any

from eigenveil.engines.dask_engine import DaskEngine
from eigenveil.engines.engine import Engine
from eigenveil.engines.local import LocalEngine
from eigenveil.engines.spark_engine import SparkEngine
from eigenveil.errors import InvalidInputError
from eigenveil.operators import Operator
from eigenveil.sources.clusters.dask_collections import DaskPeople, DaskSource
from eigenveil.sources.clusters.spark_frames import SparkSource
from eigenveil.sources.wrapped import Wrapped

_BY_NAME: dict[str, Engine | None] = {"auto": None, "dask": DaskEngine(), "spark": SparkEngine()}


def read_engine(engine: Any) -> Engine | None:
    """Return the engine for a user's setting, or None if the data decide (`engine_for`)."""
    if isinstance(engine, str):
        if engine in _BY_NAME:
            return _BY_NAME[engine]
    elif all(callable(getattr(engine, name, None)) for name in ("reduce", "map")):
        return engine  # type: ignore[no-any-return]  # any object with the methods of Engine
    elif type(engine).__module__.startswith("distributed.") and hasattr(engine, "compute"):
        return DaskEngine(engine)
    raise InvalidInputError(
        "engine must be 'auto', 'dask', 'spark', a Dask client, or an engine such as LocalEngine(), "
        f"got {engine!r}."
    )


def engine_for(operator: Operator, engine: Engine | None) -> Engine:
    """Return `engine`, or by default the engine of the data: Dask, Spark, or the threads of this machine."""
    if engine is not None:
        return engine
    source = getattr(operator, "source", None)
    while isinstance(source, Wrapped):
        source = source.source
    if isinstance(source, DaskSource | DaskPeople):
        return DaskEngine()
    return SparkEngine() if isinstance(source, SparkSource) else LocalEngine()
