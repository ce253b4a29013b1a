"""What an algorithm is: options that are checked when they are made, and a run on units that are already open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, Unpack

from eigenveil.privacy import Budget, Relation
from eigenveil.subspace.opening import RunArguments, check_k, open_units
from eigenveil.subspace.release import Release
from eigenveil.subspace.release_warnings import show
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of an algorithm's options: public, and checked when they are made."""

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:  # noqa: ARG002
        """The part of (epsilon, delta) that is spent on noise that is not Gaussian."""
        return 0.0, 0.0

    def most_passes(self, d: int, k: int, relation: Relation) -> int | None:  # noqa: ARG002
        """How often a run reads the data at most; None where that is not known in advance."""
        return None


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True, kw_only=True)
class Algorithm(Generic[OptionsT]):
    """One way to find directions.

    Parameters
    ----------
    name : str
        As users write it.
    options : type of Options
        Its options.
    run : callable
        (units, k, options) -> Release, on units that are open, with all of their budget.
    variances : bool
        Whether it releases variances along its directions.
    """

    name: str
    options: type[OptionsT]
    run: Callable[[Units, int, OptionsT], Release]
    variances: bool

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of its options; `center` is not among them: callers have it apart."""
        return tuple(field.name for field in fields(self.options) if field.name != "center")

    @property
    def centres(self) -> bool:
        """Whether it buys a mean itself if asked to (its option `center`)."""
        return any(field.name == "center" for field in fields(self.options))

    def budget(self, options: OptionsT, epsilon: float, delta: float) -> Budget:
        """What a run asks of a ledger."""
        epsilon_aside, delta_aside = options.aside(epsilon, delta)
        return Budget.from_epsilon_delta(epsilon, delta, epsilon_aside=epsilon_aside, delta_aside=delta_aside)

    def open(
        self, samples: Any, options: OptionsT, *, epsilon: float, delta: float, **arguments: Unpack[RunArguments]
    ) -> Units:
        """Units for one run, with the part of the budget set aside that these options spend."""
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
        """Open units, run on them, and show what the release warns of: all that the public functions do."""
        units = self.open(samples, options, epsilon=epsilon, delta=delta, **arguments)
        found = self.run(units, check_k(k, units.d), options)
        show(found.warnings)
        return found
