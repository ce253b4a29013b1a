"""Interface of an algorithm: options that are checked when they are created, and a run on open units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar, Unpack

from eigenveil.algorithms.counting import COUNT_SHARE, buy_count
from eigenveil.algorithms.open_units import RunArguments, check_k, open_units
from eigenveil.algorithms.release import Release
from eigenveil.algorithms.release_warnings import show
from eigenveil.algorithms.standard import Standard, standardise, standardised_release, with_declared
from eigenveil.privacy import Budget, Relation, split_mu
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
        """Names of its options except `standard`, which callers handle separately."""
        return tuple(field.name for field in fields(self.options) if field.name != "standard")

    @property
    def standardises(self) -> bool:
        """Whether it centres and scales the rows itself (its option `standard`)."""
        return any(field.name == "standard" for field in fields(self.options))

    def fit(self, units: Units, k: int, options: OptionsT, standard: Standard, *, n: int | None = None) -> Release:
        """Centre and scale the rows as `standard` says, and run.

        Unless the algorithm does that itself, n units are counted first, if a mean or scales are bought and their
        number is not public (1 % of mu^2).
        """
        if self.standardises:
            return self.run(units, k, replace(options, standard=standard))  # type: ignore[call-arg]
        units = with_declared(units, standard)
        n_hat, mu = math.nan, units.budget.mu
        if standard.buys:
            ask = n is None and not units.number_is_public
            mu_count, mu = split_mu(mu, [COUNT_SHARE * ask, 1 - COUNT_SHARE * ask])
            # a public n is declared by the algorithm, whose option it is
            n_hat = buy_count(units, n=None, mu=mu_count).value if n is None else float(n)
        ready = standardise(units, standard, n_hat=n_hat, mu=mu)
        left = replace(ready.units, budget=replace(units.budget, mu=ready.mu))
        return standardised_release(self.run(left, k, options), ready, standard)

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
