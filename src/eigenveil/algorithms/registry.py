"""Registry of all algorithms by name, for estimators, the command line and the planner."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from eigenveil.algorithms.algorithm import Algorithm
from eigenveil.algorithms.baselines.dp_gauss_1 import DP_GAUSS_1
from eigenveil.algorithms.baselines.dp_gauss_2 import DP_GAUSS_2
from eigenveil.algorithms.baselines.dp_power_method import DP_POWER
from eigenveil.algorithms.deflation.k_dp_ojas import K_DP_OJAS
from eigenveil.algorithms.deflation.k_dp_pca import K_DP_PCA
from eigenveil.algorithms.tracked import TRACKED
from eigenveil.errors import InvalidInputError

ALGORITHMS: Mapping[str, Algorithm[Any]] = MappingProxyType(
    {one.name: one for one in (TRACKED, K_DP_PCA, K_DP_OJAS, DP_GAUSS_1, DP_GAUSS_2, DP_POWER)}
)


def find_algorithm(name: Any) -> Algorithm[Any]:
    """Return the algorithm with a given name.

    Examples
    --------
    >>> find_algorithm("dp-gauss-1").option_names
    ('beta', 'n', 'quantile', 'noise', 'eigenvalues')
    """
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise InvalidInputError(f"algorithm must be one of {listed(ALGORITHMS)}, got {name!r}.")
    return ALGORITHMS[name]


def check_options(known: tuple[str, ...], options: Any, *, what: str) -> dict[str, Any]:
    """Return the options as a dict, or raise if one of them is unknown. `what` names their owner in the error.

    Examples
    --------
    >>> check_options(("batch_size", "memory"), {"batchsize": 100}, what="partial_fit")
    Traceback (most recent call last):
    ...
    eigenveil.errors.InvalidInputError: partial_fit takes no option 'batchsize'.
    Hint: Its options are 'batch_size', 'memory'.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidInputError(
            f"options must be a mapping of names to values or None, got {type(options).__name__}.",
            hint=f"The options of {what} are {listed(known)}.",
        )
    unknown = [name for name in options if name not in known]
    if unknown:
        hint = f"Its options are {listed(known)}." if known else "It has none."
        raise InvalidInputError(f"{what} takes no option {listed(unknown)}.", hint=hint)
    return dict(options)


def with_variances() -> list[str]:
    """Return the names of the algorithms that release variances along their components."""
    return [name for name, algorithm in ALGORITHMS.items() if algorithm.variances]


def listed(names: Any) -> str:
    """Return names with quotes, separated by commas."""
    return ", ".join(map(repr, names))
