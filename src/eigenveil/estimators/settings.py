"""Parameters of an estimator, checked before any data are read or noise is drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenveil.algorithms import TrackedStream
from eigenveil.algorithms.algorithm import Algorithm, Options
from eigenveil.algorithms.registry import check_options, find_algorithm, listed, with_variances
from eigenveil.engines import Engine
from eigenveil.engines.engine_choice import read_engine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.per_column import check_mean
from eigenveil.estimators.progress import Progress
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.sources import Layout

_OWN = {"k", "epsilon", "delta", "units", "random_state", "engine", "columns", "center", "scaled"}
STREAM_OPTIONS = {
    name: parameter.default
    for name, parameter in inspect.signature(TrackedStream).parameters.items()
    if name not in _OWN
}
"""Options of `partial_fit`, with their defaults: stream options that are not parameters of DPPCA."""
AS_FITTED = ("n_components", "epsilon", "delta", "algorithm", "relation", "random_state")
"""Parameters that a fitted model reports as of its fit, regardless of later `set_params`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """Checked settings of a fit.

    `center` and `scale` are arrays if declared public; `scale` and `bounds` may be mappings.
    """

    k: int
    layout: Layout
    epsilon: float
    delta: float
    algorithm: Algorithm[Any]
    relation: Relation
    center: Any
    scale: Any
    bounds: Any
    options: dict[str, Any]
    ledger: Ledger | None
    random_state: int | None
    engine: Engine | None
    callback: Callable[[Progress], object] | None
    verbose: bool

    @property
    def buys_mean(self) -> bool:
        """Whether a private mean will be bought."""
        return self.center is True

    @property
    def buys_scale(self) -> bool:
        """Whether private scales will be bought for at least one column."""
        return _buys(self.scale)

    def declared_mean(self, d: int) -> Any:
        """Return the checked public mean, or None."""
        return None if isinstance(self.center, bool) else check_mean(self.center, d)

    @property
    def budget(self) -> Budget:
        """Budget that a fit charges to a ledger."""
        return self.algorithm.budget(self.run_options(), self.epsilon, self.delta)

    def run_options(self) -> Options:
        """Return the checked options of the algorithm."""
        made: Options = self.algorithm.options(**self.options)
        return made


def read_settings(estimator: Any, *, stream: bool = False) -> Settings:
    """Return the settings of an estimator, or raise an error that names the wrong parameter."""
    algorithm = find_algorithm(estimator.algorithm)
    if stream and algorithm.name != "tracked":
        raise InvalidInputError(f"partial_fit needs algorithm='tracked', got {algorithm.name!r}.")
    what = "partial_fit" if stream else f"algorithm {algorithm.name!r}"
    known = tuple(STREAM_OPTIONS) if stream else algorithm.option_names
    options = check_options(known, estimator.options, what=what)
    Budget.from_epsilon_delta(estimator.epsilon, estimator.delta)
    settings = Settings(
        k=_number_of_components(estimator.n_components),
        layout=Layout.of(estimator.columns, estimator.encode, estimator.fill),
        epsilon=float(estimator.epsilon),
        delta=float(estimator.delta),
        algorithm=algorithm,
        relation=Relation(estimator.relation),
        center=_center(estimator.center),
        scale=_scale(estimator.scale),
        bounds=_bounds(estimator.bounds, estimator.center, estimator.scale),
        options=options,
        ledger=_of_type("ledger", estimator.ledger, Ledger),
        random_state=_seed(estimator.random_state),
        engine=read_engine(estimator.engine),
        callback=_callback(estimator.callback),
        verbose=_verbose(estimator.verbose),
    )
    _check_whiten(estimator.whiten, settings, stream=stream)
    (_check_stream if stream else _check_batch)(settings)
    return settings


def parameters_of_fit(estimator: Any) -> dict[str, Any]:
    """Return the current values of the parameters in `AS_FITTED`; a fit stores them as `_fitted_with`."""
    return {name: getattr(estimator, name) for name in AS_FITTED}


def as_fitted(estimator: Any) -> dict[str, Any]:
    """Return the parameters in `AS_FITTED` as of the fit.

    A model reports its guarantee from these values and from its ledger.
    """
    found: dict[str, Any] = vars(estimator)["_fitted_with"]
    return found


def made_by(estimator: Any) -> str:
    """Return the algorithm, or "a stream", that made the release of a fitted model."""
    return "a stream" if "_stream" in vars(estimator) else str(as_fitted(estimator)["algorithm"])


def changed_since(estimator: Any) -> list[str]:
    """Return the names of parameters in `AS_FITTED` that have changed since the fit."""
    return [name for name, value in as_fitted(estimator).items() if getattr(estimator, name) != value]


def _number_of_components(k: Any) -> int:
    if isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1:
        return int(k)
    raise InvalidInputError(
        f"n_components must be a whole number of at least 1, got {k!r}.",
        hint="The number of components that reach a share of variance is itself private. Fit more components than "
        "you need, say n_components=10; pca.components_for(0.9) then estimates, at no further cost, how many "
        "hold 90 %.",
    )


def _center(center: Any) -> Any:
    return bool(center) if isinstance(center, bool | np.bool_) else center


def _bounds(bounds: Any, center: Any, scale: Any) -> Any:
    if bounds is not None and not ((isinstance(center, bool | np.bool_) and center) or _buys(scale)):
        raise InvalidInputError(
            "bounds are used to find a mean and scales, but neither is bought.",
            hint='Leave bounds out, or pass center=True or scale="private".',
        )
    return bounds


def _buys(scale: Any) -> bool:
    values = scale.values() if isinstance(scale, Mapping) else [scale]
    return any(isinstance(value, str) for value in values)


def _scale(scale: Any) -> Any:
    for value in scale.values() if isinstance(scale, Mapping) else [scale]:
        if isinstance(value, str) and value != "private":
            raise InvalidInputError(
                f"scale must be None, 'private', one public number per column, or a mapping of columns to either, "
                f"got {value!r}.",
                hint="For example scale='private', or scale={'lab_*': 'private', 'age': 10.0}.",
            )
    return scale


def _seed(seed: Any) -> int | None:
    if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool)):
        return None if seed is None else int(seed)
    raise InvalidInputError(
        f"random_state must be None or a whole number, got {type(seed).__name__}.",
        hint="Privacy needs random_state=None: noise then comes from the operating system.",
    )


def _callback(callback: Any) -> Any:
    if callback is None or callable(callback):
        return callback
    raise InvalidInputError(f"callback must be None or a function of one argument, got {type(callback).__name__}.")


def _verbose(verbose: Any) -> bool:
    if isinstance(verbose, int | np.integer | np.bool_) and verbose in (0, 1):
        return bool(verbose)
    raise InvalidInputError(f"verbose must be 0 or 1, got {verbose!r}.")


def _of_type(name: str, value: Any, kind: type[Ledger]) -> Ledger | None:
    if value is None or isinstance(value, kind):
        return value
    raise InvalidInputError(f"{name} must be None or a {kind.__name__}, got {type(value).__name__}.")


def _check_whiten(whiten: Any, settings: Settings, *, stream: bool) -> None:
    without = not settings.algorithm.variances or settings.options.get("eigenvalues") is False
    if whiten and without and not stream:
        raise InvalidInputError(
            f"whiten=True divides by variances, which {settings.algorithm.name} does not release.",
            hint=f"Use an algorithm among {listed(with_variances())}, or whiten=False.",
        )


def _check_batch(settings: Settings) -> None:
    settings.run_options()  # which checks them
    if settings.relation is Relation.EMPTY_SLOT:
        raise InvalidInputError(
            "relation='empty-slot' applies to streams only.",
            hint="Use partial_fit, or 'add-remove' or 'replace' with fit.",
        )


def _check_stream(settings: Settings) -> None:
    if settings.relation is Relation.REPLACE:
        raise InvalidInputError(
            "partial_fit guarantees privacy under the empty-slot relation (the number of rows is public, the "
            "content of one unit is removed), not under relation='replace'.",
            hint="Leave relation at its default, or use fit.",
        )
    if settings.ledger is not None:
        raise InvalidInputError(
            "a stream has its own ledger, in which batches are parallel; it cannot charge a shared ledger.",
            hint="Leave ledger=None, and read ledger_.",
        )
    if settings.bounds is not None:
        raise InvalidInputError(
            "a stream takes no bounds.",
            hint="Leave bounds out. Larger batches, or a public mean and scales, help instead.",
        )
