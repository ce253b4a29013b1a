"""The algorithms of the house by name, and the options that each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget
from eigenveil.subspace import (
    Release,
    TrackedStream,
    dp_gauss_1,
    dp_gauss_2,
    dp_power_method,
    k_dp_ojas,
    k_dp_pca,
    tracked_pca,
)
from eigenveil.subspace.dp_gauss_2 import cost_of_test

_OWN = frozenset(
    {
        "samples",
        "k",
        "epsilon",
        "delta",
        "relation",
        "center",
        "ledger",
        "random_state",
        "engine",
        "units",
        "columns",
    }
)
"""What DPPCA has parameters of its own for."""


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One way to find directions.

    Parameters
    ----------
    run : callable
        The function of the house, or the class of a stream.
    values : bool
        Whether it estimates the variances along its directions.
    aside : callable, optional
        (epsilon, delta) -> the part of it that its default options spend on noise that is not Gaussian.
    """

    run: Callable[..., Any]
    values: bool
    aside: Callable[[float, float], tuple[float, float]] | None = None

    @property
    def centres(self) -> bool:
        """Whether it has a `center` of its own."""
        return "center" in inspect.signature(self.run).parameters

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options it takes beyond what DPPCA has itself."""
        return tuple(name for name in inspect.signature(self.run).parameters if name not in _OWN)

    def budget(self, epsilon: float, delta: float) -> Budget:
        """What a run with default options asks of a ledger."""
        epsilon_aside, delta_aside = (0.0, 0.0) if self.aside is None else self.aside(epsilon, delta)
        return Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=epsilon_aside, delta_aside=delta_aside)

    def __call__(self, samples: Any, k: int, **arguments: Any) -> Release:
        """Run it."""
        release: Release = self.run(samples, k, **arguments)
        return release


def _of_the_test(epsilon: float, delta: float) -> tuple[float, float]:
    return cost_of_test(epsilon, delta, None, None)


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "tracked": Algorithm(run=tracked_pca, values=True),
        "k-dp-pca": Algorithm(run=k_dp_pca, values=False),
        "k-dp-ojas": Algorithm(run=k_dp_ojas, values=False),
        "dp-gauss-1": Algorithm(run=dp_gauss_1, values=True),
        "dp-gauss-2": Algorithm(run=dp_gauss_2, values=False, aside=_of_the_test),
        "dp-power": Algorithm(run=dp_power_method, values=True),
    }
)
STREAM = Algorithm(run=TrackedStream, values=True)


def find_algorithm(name: Any) -> Algorithm:
    """The algorithm of that name.

    Examples
    --------
    >>> find_algorithm("dp-gauss-1").options
    ('beta', 'n', 'quantile', 'noise', 'eigenvalues')
    """
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise InvalidInputError(f"algorithm must be one of {_listed(ALGORITHMS)}, got {name!r}.")
    return ALGORITHMS[name]


def check_options(algorithm: Algorithm, options: Any, *, what: str) -> dict[str, Any]:
    """The options, if `algorithm` takes all of them; `what` names it in the error.

    Examples
    --------
    >>> check_options(STREAM, {"batchsize": 100}, what="partial_fit")
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: partial_fit takes no option 'batchsize'.
    Hint: Its options are 'batch_size', 'oversampling', 'memory', 'ids_never_return'.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidInputError(
            f"options must be a mapping of names to values or None, got {type(options).__name__}.",
            hint=f"Those of {what} are {_listed(algorithm.options)}.",
        )
    unknown = [name for name in options if name not in algorithm.options]
    if unknown:
        hint = f"Its options are {_listed(algorithm.options)}." if algorithm.options else "It has none."
        raise InvalidInputError(f"{what} takes no option {_listed(unknown)}.", hint=hint)
    return dict(options)


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
