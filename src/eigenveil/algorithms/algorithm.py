"""Interface of an algorithm: options that are checked when they are created, and a run on open units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, Unpack

from eigenveil.algorithms.open_units import RunArguments, check_k, open_units
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.release_warnings import show
from eigenveil.privacy import Budget, Relation
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base class of the options of an algorithm. They are public, and checked when they are created."""

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG002
        """Return the part of (epsilon, delta) for noise that is not Gaussian."""
        return 0.0, 0.0

    def most_passes(self, d: int, k: int, relation: Relation) -> int | None:  # noqa: ARG002
        """Return the maximal number of passes over the data, or None if it is not known in advance."""
        return None


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True, kw_only=True)
class Algorithm(Generic[OptionsT]):
    """Algorithm that finds k components.

    Parameters
    ----------
    name : str
        Name for users.
    options : type of Options
        Class of its options.
    run : callable
        Function (units, k, options) -> Release that runs on open units, with all of their budget.
    variances : bool
        Whether it releases variances along its components.
    """

    name: str
    options: type[OptionsT]
    run: Callable[[Units, int, OptionsT], Release]
    variances: bool

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of its options except `center`, which callers handle separately."""
        return tuple(field.name for field in fields(self.options) if field.name != "center")

    @property
    def centres(self) -> bool:
        """Whether it can buy a mean itself (its option `center`)."""
        return any(field.name == "center" for field in fields(self.options))

    def budget(self, options: OptionsT, epsilon: float, delta: float) -> Budget:
        """Return the budget that a run needs from a ledger."""
        epsilon_aside, delta_aside = options.aside(epsilon, delta)
        return Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=epsilon_aside, delta_aside=delta_aside)

    def open(
        self, samples: Any, options: OptionsT, *, epsilon: float, delta: float, **arguments: Unpack[RunArguments]
    ) -> Units:
        """Return the units of one run, with the part of the budget set aside that these options need."""
        aside = options.aside(epsilon, delta)
        return open_units(samples, epsilon=epsilon, delta=delta, aside=aside, **arguments)

    def release(
        self,
        samples: Any,
        k: int,
        options: OptionsT,
        *,
        epsilon: float,
        delta: float,
        **arguments: Unpack[RunArguments],
    ) -> Release:
        """Open units, run on them, and show the warnings of the release. The public functions call this."""
        units = self.open(samples, options, epsilon=epsilon, delta=delta, **arguments)
        found = self.run(units, check_k(k, units.d), options)
        show(found.warnings)
        return found
