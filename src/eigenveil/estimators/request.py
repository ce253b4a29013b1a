"""A fit request: checked before any data are read or noise is drawn, then planned and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from eigenveil.algorithms.open_units import check_k
from eigenveil.algorithms.release_warnings import large_delta
from eigenveil.algorithms.standard import Standard
from eigenveil.engines import LocalEngine
from eigenveil.engines.engine_choice import engine_for
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.attributes import attributes, noisy_number
from eigenveil.estimators.before_spending import before_spending
from eigenveil.estimators.inputs import open_operator
from eigenveil.estimators.per_column import read_bounds, read_scales
from eigenveil.estimators.progress import Reporter, Watch, count_rows
from eigenveil.estimators.refit_guard import check_search
from eigenveil.estimators.settings import Settings, parameters_of_fit, read_settings
from eigenveil.operators import Operator, made_of_rows
from eigenveil.privacy import Budget, Ledger
from eigenveil.sources import Layout


@dataclass(frozen=True, kw_only=True)
class FitPlan:
    """What a fit will do, known from parameters and schema alone.

    Parameters
    ----------
    columns : tuple of str, optional
        Names of the columns after encoding, if they have names.
    layout : Layout
        Which columns are read, and how.
    d, k : int
        Numbers of columns and of components.
    budget : Budget
        Budget that the fit charges to a ledger.
    buys_mean, buys_scale : bool
        Whether a mean and scales are bought.
    most_passes : int, optional
        Upper bound on the number of passes over the data, if the algorithm states one.
    hints : tuple of str
        What to consider before the budget is spent, from names and declared bounds.
    """

    columns: tuple[str, ...] | None
    layout: Layout
    d: int
    k: int
    budget: Budget
    buys_mean: bool
    buys_scale: bool
    most_passes: int | None
    hints: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FitRequest:
    """A fit that can be run: checked settings and data.

    Parameters
    ----------
    settings : Settings
        Checked parameters.
    operator : Operator
        The units.
    parameters : mapping
        Parameters that the fitted model will report.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenveil import DPPCA
    >>> request = FitRequest.of(DPPCA(2, algorithm="dp-gauss-1"), np.zeros((10, 5)))
    >>> request.plan().d, request.plan().most_passes
    (5, 13)
    """

    settings: Settings
    operator: Operator
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_k(self.settings.k, self.operator.d)
        standard, _ = self.standard, self.settings.budget  # which check what they are made of
        wanted = self.settings.buys_mean or standard.mean is not None or self.settings.scale is not None
        if wanted and not self.operator.has_rows:
            raise InvalidInputError(
                "units given as matrices have no rows, so they cannot be centred or scaled.",
                hint="Use center=False and scale=None, or give rows or people.",
            )

    @classmethod
    def of(
        cls, estimator: Any, X: Any, units: Any = None, *, columns: Any = None, settings: Settings | None = None
    ) -> Self:
        """Make a request from an estimator and data, and store the columns on the estimator.

        `columns` override those of the estimator. Pass `settings` if they were read before the data were opened.
        """
        settings = read_settings(estimator) if settings is None else settings
        layout = settings.layout if columns is None else settings.layout.choosing(columns)
        check_search(settings.ledger, seeded=settings.random_state is not None)
        parameters = parameters_of_fit(estimator)
        return cls(settings=settings, operator=open_operator(estimator, X, units, layout), parameters=parameters)

    @cached_property
    def standard(self) -> Standard:
        """Centring and scaling applied to rows before the algorithm runs."""
        settings, d = self.settings, self.operator.d
        names = self.columns
        scales = read_scales(settings.scale, d, names, () if self._source is None else self._source.layout.flags)
        bounds, bounded = read_bounds(settings.bounds, d, names)
        plain = Standard(
            mean=settings.declared_mean(d),
            scale=scales.declared,
            bounds=bounds,
            private=scales.private,
            buy_mean=settings.buys_mean,
            names=names,
        )
        return replace(
            plain,
            declared=None if scales.which is None else plain.labels(scales.which),
            bounded=None if bounded is None else plain.labels(bounded),
            flags=plain.labels(scales.flags),
        )

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have names."""
        return None if self._source is None else self._source.columns

    @property
    def _source(self) -> Any:
        return getattr(self.operator, "source", None)

    def plan(self) -> FitPlan:
        """Return what the fit will do; no value is read."""
        settings, d = self.settings, self.operator.d
        own = settings.run_options().most_passes(d, settings.k, settings.relation)
        return FitPlan(
            columns=self.columns,
            layout=Layout() if self._source is None else self._source.layout,
            d=d,
            k=settings.k,
            budget=settings.budget,
            buys_mean=settings.buys_mean,
            buys_scale=self.standard.private.size > 0,
            most_passes=None if own is None else own + self.standard.most_passes,
            hints=before_spending(self.standard, d, scaled=settings.scale is not None, mu=settings.budget.mu),
        )

    def charging(self, ledger: Ledger | None) -> Self:
        """Return the same request, charged to this ledger."""
        return replace(self, settings=replace(self.settings, ledger=ledger))

    def of_rows(self, operator: Operator) -> Self:
        """Return the same request with the same rows read through another operator."""
        return replace(self, operator=operator)

    def counted_by(self, watch: Watch) -> Self:
        """Return the same request; the watch counts its rows, unless the workers of a cluster read them."""
        watch.expect(self.plan().most_passes)
        here = isinstance(engine_for(self.operator, self.settings.engine), LocalEngine)
        if not (here and made_of_rows(self.operator)):
            return self
        return self.of_rows(count_rows(self.operator, watch))

    def run(self, reporter: Reporter) -> dict[str, Any]:
        """Open and standardise the units, run the algorithm, and return the fitted attributes by name."""
        settings = self.settings
        operator = self.operator if reporter.watch is None else self.counted_by(reporter.watch).operator
        options = settings.run_options()
        units = settings.algorithm.open(
            operator,
            options,
            epsilon=settings.epsilon,
            delta=settings.delta,
            relation=settings.relation,
            ledger=settings.ledger,
            random_state=settings.random_state,
            engine=settings.engine,
        )
        ledger = units.veil.ledger
        with reporter.watching(ledger, units.budget.mu, before=ledger.mu, passes=units.passes):
            standard, n = self.standard, settings.options.get("n")
            release = settings.algorithm.fit(units, settings.k, options, standard, n=n)
        n_hat = noisy_number(release)
        warned = (*release.warnings, *large_delta(settings.delta, n_hat))
        release = replace(release, warnings=warned)
        return attributes(release, mean=release.mean, scale=release.scale, n_hat=n_hat)
