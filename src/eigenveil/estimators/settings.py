"""The parameters of an estimator, checked before anything is read or drawn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenveil.engines import Engine
from eigenveil.engines.choosing import read_engine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.progress import Progress
from eigenveil.estimators.rescaling import check_mean
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.sources import Layout
from eigenveil.subspace import TrackedStream
from eigenveil.subspace.algorithm import Algorithm, Options
from eigenveil.subspace.registry import check_options, find_algorithm, listed, with_variances

_OWN = {"k", "epsilon", "delta", "units", "random_state", "engine", "columns"}
STREAM_OPTIONS = tuple(name for name in inspect.signature(TrackedStream).parameters if name not in _OWN)
"""Options of `partial_fit`: those of a stream that DPPCA has no parameters of its own for."""
AS_FITTED = ("n_components", "epsilon", "delta", "algorithm", "relation", "random_state")
"""Parameters that a fitted model shows as they were in the fit, whatever `set_params` has done since."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """What a fit is to do.

    `center` and `scale` are arrays where public ones were given; `scale` and `bounds` may be mappings.
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

    @property
    def buys_mean(self) -> bool:
        """Whether a mean is to be bought."""
        return self.center is True

    @property
    def buys_scale(self) -> bool:
        """Whether scales are to be bought, of some columns at least."""
        return _buys(self.scale)

    def declared_mean(self, d: int) -> Any:
        """The public mean, checked, or None."""
        return None if isinstance(self.center, bool) else check_mean(self.center, d)

    @property
    def budget(self) -> Budget:
        """What a fit asks of a ledger."""
        return self.algorithm.budget(self.run_options(), self.epsilon, self.delta)

    def run_options(self, *, center: bool = False) -> Options:
        """The algorithm's options, checked; `center` asks an algorithm that centres itself to do so."""
        given = {**self.options, "center": center} if self.algorithm.centres else self.options
        made: Options = self.algorithm.options(**given)
        return made


def read_settings(estimator: Any, *, stream: bool = False) -> Settings:
    """The settings of an estimator, or an error that says which parameter is wrong."""
    algorithm = find_algorithm(estimator.algorithm)
    if stream and algorithm.name != "tracked":
        raise InvalidInputError(f"partial_fit needs algorithm='tracked', got {algorithm.name!r}.")
    what = "partial_fit" if stream else f"algorithm {algorithm.name!r}"
    known = STREAM_OPTIONS if stream else algorithm.option_names
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
        bounds=_bounds(estimator.bounds, estimator.center),
        options=options,
        ledger=_of_type("ledger", estimator.ledger, Ledger),
        random_state=_seed(estimator.random_state),
        engine=read_engine(estimator.engine),
        callback=_callback(estimator.callback),
    )
    _check_whiten(estimator.whiten, settings, stream=stream)
    (_check_stream if stream else _check_batch)(settings)
    return settings


def parameters_of_fit(estimator: Any) -> dict[str, Any]:
    """The parameters in `AS_FITTED` as they are now; a model keeps them as `_fitted_with` when it is fitted."""
    return {name: getattr(estimator, name) for name in AS_FITTED}


def as_fitted(estimator: Any) -> dict[str, Any]:
    """The parameters in `AS_FITTED` as they were in the fit that made the attributes of this model.

    What a model tells of its guarantee comes from here and from its ledger.
    """
    found: dict[str, Any] = vars(estimator)["_fitted_with"]
    return found


def made_by(estimator: Any) -> str:
    """What has made the release of a fitted model."""
    return "a stream" if "_stream" in vars(estimator) else str(as_fitted(estimator)["algorithm"])


def changed_since(estimator: Any) -> list[str]:
    """Names of the parameters in `AS_FITTED` that are others by now."""
    return [name for name, value in as_fitted(estimator).items() if getattr(estimator, name) != value]


def _number_of_components(k: Any) -> int:
    if isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1:
        return int(k)
    raise InvalidInputError(
        f"n_components must be a whole number of at least 1, got {k!r}.",
        hint="How many components a share of variance takes is itself private. Fit more of them than you need, as "
        "n_components=10; then pca.components_for(0.9) says, at no further cost, how many hold 90 %.",
    )


def _center(center: Any) -> Any:
    return bool(center) if isinstance(center, bool | np.bool_) else center


def _bounds(bounds: Any, center: Any) -> Any:
    if bounds is not None and not (isinstance(center, bool | np.bool_) and center):
        raise InvalidInputError(
            "bounds tell where to look for the mean, which center=True buys; here none is bought.",
            hint="Leave bounds out, or pass center=True.",
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
            "relation='empty-slot' is that of streams.",
            hint="Use partial_fit, or 'add-remove' or 'replace' with fit.",
        )


def _check_stream(settings: Settings) -> None:
    if settings.relation is Relation.REPLACE:
        raise InvalidInputError(
            "partial_fit promises privacy under empty slots (arrivals are public, one unit's content is replaced "
            "by nothing), not under relation='replace'.",
            hint="Leave relation at its default, or use fit.",
        )
    if settings.ledger is not None:
        raise InvalidInputError(
            "a stream keeps a ledger of its own, in which batches are parallel; it cannot charge a shared one.",
            hint="Leave ledger=None, and read ledger_.",
        )
    if settings.bounds is not None:
        raise InvalidInputError(
            "a stream buys no mean, so bounds tell it nothing.", hint="Leave bounds out, or pass a public mean."
        )
    if settings.buys_scale:
        raise InvalidInputError(
            "scale='private' cannot be bought from a stream.", hint="Pass public scales, or None."
        )
