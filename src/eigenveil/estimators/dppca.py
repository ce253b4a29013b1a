"""The DPPCA estimator: `sklearn.decomposition.PCA` with differential privacy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from eigenveil.algorithms import TrackedStream
from eigenveil.algorithms.open_units import check_k, unit_of
from eigenveil.algorithms.release_warnings import show
from eigenveil.engines import Engine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.inputs import note_columns, open_block
from eigenveil.estimators.missing_attributes import FITTED
from eigenveil.estimators.model import ReleasedModel
from eigenveil.estimators.progress import CallbackSupportMixin, Progress, Reporter, with_callbacks
from eigenveil.estimators.refit_guard import Family, check_search, warn_of_another_unit, warn_of_relatives
from eigenveil.estimators.request import FitRequest
from eigenveil.estimators.settings import Settings, changed_since, parameters_of_fit, read_settings
from eigenveil.estimators.streaming import (
    add_to_stream,
    changed_settings,
    new_stream,
    shown_batches,
    stream_attributes,
    stream_scales,
    warn_of_a_fresh_start,
)
from eigenveil.estimators.uncertainty import UncertaintyMixin
from eigenveil.privacy import Ledger, Unit
from eigenveil.sources import Layout


def _streams(estimator: DPPCA) -> bool:
    """Return whether the algorithm supports streams."""
    if estimator.algorithm != "tracked":
        raise AttributeError(f"partial_fit needs algorithm='tracked', got {estimator.algorithm!r}.")
    return True


class DPPCA(CallbackSupportMixin, UncertaintyMixin, ReleasedModel):  # type: ignore[misc]  # scikit-learn has no types
    """Principal component analysis with differential privacy.

    Parameters
    ----------
    n_components : int
        Number of components. It cannot be a share of variance: the number of components that reach a share is
        itself private. After a fit, `components_for` estimates it at no further cost.
    columns : list of str or int, optional
        Columns to use, in this order: names or globs such as "lab_*", or positions in arrays. By default all
        columns except the unit column. `transform` finds the same columns by name.
    encode : mapping, optional
        How to encode columns that are not numeric, by name or glob. A public list of values, as in ``{"site":
        ["north", "south"]}``, gives one 0/1 column per value; other values become all zeros. Text such as "days
        since 2020-01-01" turns dates into numbers. Declared in the ledger.
    fill : float or mapping, optional
        Public replacement for missing values, as ``0`` or ``{"bmi": 25, "lab_*": 0}``. By default rows with
        missing values are excluded. Declared in the ledger.
    epsilon, delta : float
        Privacy budget of one fit. A second fit spends it again.
    algorithm : {"tracked", "k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-gauss-2", "dp-power"}
        The algorithm: see the function of the same name (`tracked_pca`, `k_dp_pca`, ...).
    relation : {"add-remove", "replace"}
        Neighbouring relation of `fit`. `partial_fit` uses the empty-slot relation instead.
    center : bool or array of shape (d,)
        True: find rough locations and spreads of the columns, buy a private mean in that frame, and subtract it.
        An array: a public mean, which costs nothing and is declared in the ledger.
    scale : None, "private", array of shape (d,) or mapping
        Scales that the columns are divided by. "private": private standard deviations; Boolean and encoded
        columns keep scale 1. An array: public scales, declared in the ledger. A mapping: either of these for
        some columns, by name, glob or position; other columns are not scaled. Use it instead of a StandardScaler,
        which is not private.
    bounds : pair (low, high) or mapping, optional
        Public bounds of the columns: two numbers, two arrays, or pairs for some columns as in `scale`. They narrow
        the search for locations and spreads. Values are not clipped to them. Declared in the ledger.
    whiten : bool
        Whether `transform` divides scores by the square roots of the released variances.
    engine : "auto", "dask", "spark", a Dask client or an engine
        Where sums are computed: on this machine, or on a Dask or Spark cluster.
    ledger : Ledger, optional
        A ledger to charge, which other fits may share, up to its total budget. Clones share it. Required inside
        a search or cross-validation.
    random_state : int, optional
        A seed, for tests and teaching. The result is then marked "not private" everywhere.
    options : mapping, optional
        Options of the algorithm's function, by name: ``{"spectrum": [9, 4]}`` declares public eigenvalues,
        ``{"batch_size": 2000}`` is for `partial_fit`. Unknown options raise an error that lists the known ones.
        Bounds on rows apply to the centred and scaled rows.
    callback : callable, optional
        Called with a `Progress` after every charge.
    verbose : int
        1: show progress on stderr, as a bar on a terminal (with rich) and otherwise as lines. 0: show nothing.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Principal components: orthonormal rows, in order of decreasing variance.
    mean_ : array of shape (d,)
        The subtracted mean, private or declared; 0 if none was subtracted.
    scale_ : array of shape (d,) or None
        The scales that columns were divided by.
    explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_ : array, array, array, float
        Computed from released variances. If the algorithm releases none, accessing them raises an error that
        says why.
    n_samples_ : float
        The noisy number of valid units, never the exact one. (Algorithms of the paper may use a declared number,
        or the number of rows, which is public under "replace".)
    n_samples_seen_ : int
        Number of rows that a stream has received; public.
    n_components_, n_features_in_, feature_names_in_
        As in scikit-learn; the schema is public. Columns are counted and named after encoding.
    layout_ : Layout
        Which columns were read (`columns`), and how (`encode`, `fill`), as declared.
    ledger_ : Ledger
        Every charge: its cost, its purpose and the neighbouring relation.
    release_ : Release
        What the algorithm returned, with its diagnostics.
    warnings_ : tuple of ReleaseWarning
        Warnings about the quality of the release: code, text and numbers.

    Notes
    -----
    *Formal guarantees.* One `fit` is (epsilon, delta)-DP under `relation`, for everything it sets: all attributes
    with a trailing underscore are releases, functions of releases, or declared public. Mean and scales are paid
    from the same (epsilon, delta). `set_params` after a fit does not change it: repr, saved files and reports
    state the cost of the fit. All calls of `partial_fit` together are (epsilon, delta)-DP under the empty-slot
    relation.

    *Not covered:* anything fitted to the same rows beforehand (a StandardScaler, an imputer, feature selection),
    and the output of `transform` for the training rows, which depends on single rows.

    ===============================  ==================================================================
    edge case                        answer
    ===============================  ==================================================================
    no rows, few rows                components dominated by noise, with a warning based on released numbers
    nan, inf, norm above 1e154       such rows are excluded and counted with noise; `transform` returns nan for nan
    norm above 1e77                  not in components and variances, but perhaps in `n_samples_` and `mean_`
    n_components = d, d = 1          no special case
    a private scale cannot be found  the scale is too large rather than too small; a warning names the column
    n_components > d                 refused before any noise is drawn
    units given as matrices          center=False and scale=None only
    search, cross-validation         refused without a shared ledger; warns that its scores are not private
    a ledger in another process      a copy, which cannot be charged: use n_jobs=1, threads, or one ledger per fit
    ===============================  ==================================================================

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1] + 10
    >>> pca = DPPCA(n_components=2, epsilon=1.0, delta=1e-6).fit(X)
    >>> pca.components_.shape, pca.transform(X[:3]).shape
    ((2, 6), (3, 2))
    >>> bool(np.all(np.abs(pca.components_[:, :2]).max(axis=1) > 0.95)), pca.ledger_.private
    (True, True)
    >>> round(pca.ledger_.epsilon(1e-6), 6) <= 1.0
    True
    """

    layout_: Layout

    def __init__(
        self,
        n_components: int = 2,
        *,
        columns: Any = None,
        encode: Mapping[str, Any] | None = None,
        fill: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        algorithm: str = "tracked",
        relation: str = "add-remove",
        center: Any = True,
        scale: Any = None,
        bounds: Any = None,
        whiten: bool = False,
        engine: str | Engine = "auto",
        ledger: Ledger | None = None,
        random_state: int | None = None,
        options: Mapping[str, Any] | None = None,
        callback: Callable[[Progress], object] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.columns = columns
        self.encode = encode
        self.fill = fill
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.relation = relation
        self.center = center
        self.scale = scale
        self.bounds = bounds
        self.whiten = whiten
        self.engine = engine
        self.ledger = ledger
        self.random_state = random_state
        self.options = options
        self.callback = callback
        self.verbose = verbose

    # -- fitting ---------------------------------------------------------------------------------

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, units: Any = None, columns: Any = None) -> Self:  # noqa: ARG002
        """Fit the model.

        Parameters
        ----------
        X : anything that holds rows, or what `eigenveil.samples` makes
            Arrays, sparse matrices, data frames (also lazy ones), Arrow tables, paths and globs, lists of blocks.
        y : ignored
            For pipelines.
        units : str or array-like of ids, optional
            The owner of each row: a column name, or one id per row. All rows of a person then form one unit.
        columns : list of str or int, optional
            Columns to use instead of those of the estimator.

        Returns
        -------
        DPPCA
            The fitted estimator.
        """
        return self.run_request(FitRequest.of(self, X, units, columns=columns))

    def run_request(self, request: FitRequest) -> Self:
        """Run a fit request made from this estimator, as `fit` and the command line do.

        Parameters
        ----------
        request : FitRequest
            Checked settings and data; see `eigenveil.estimators.request`.

        Returns
        -------
        DPPCA
            The fitted estimator.
        """
        if request.parameters != parameters_of_fit(self):
            raise InvalidInputError(
                "the parameters of this estimator have changed since the request was made.",
                hint="Make a new request with FitRequest.of(estimator, X), or use fit.",
            )
        self._count_in_family(request.settings)
        stream = vars(self).get("_stream")
        if stream is not None and stream.arrivals:
            dropped = f"the stream is discarded, {stream.open_slots} rows of its open batch are dropped"
            warn_of_a_fresh_start("fit", dropped)
        warn_of_another_unit(self, unit_of(request.operator), seeded=request.settings.random_state is not None)
        self._forget()
        self._fitted_with = dict(request.parameters)
        reporter = Reporter(request.settings.callback, self, verbose=request.settings.verbose)
        reporter.say(request.plan().hints)
        with reporter.task():
            self.__dict__.update(request.run(reporter))
        show(self.release_.warnings)
        return self

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, units: Any = None) -> Self:  # noqa: ARG002
        """Add rows to a stream. Every row is used once; attributes are those of the last closed batch.

        After `fit` it starts from scratch, with its own budget.

        Parameters
        ----------
        X : anything that holds rows
            The next rows, in any number.
        y : ignored
            For pipelines.
        units : str or array-like of ids, optional
            The owner of each row. Only the first row of each person counts. Pass it always or never.

        Returns
        -------
        DPPCA
            The estimator. It is not fitted before the first batch closes.
        """
        settings = read_settings(self, stream=True)
        check_search(None, seeded=settings.random_state is not None)
        stream = vars(self).get("_stream")
        if stream is not None:
            self._refuse_another_stream(stream, settings, changed_since(self))
        X, source = open_block(self, X, units, settings.layout, first=stream is None or stream.schema is None)
        scales = stream_scales(self, settings)
        mean, scale = settings.declared_mean(self.n_features_in_), scales.declared
        if stream is None:
            check_k(settings.k, self.n_features_in_)
            self._count_in_family(settings)
            if "components_" in vars(self):
                warn_of_a_fresh_start("partial_fit", "the earlier fit is discarded")
            unit = Unit("row" if units is None else "person")
            warn_of_another_unit(self, unit, seeded=settings.random_state is not None)
            stream = new_stream(settings, self.layout_, scales, people=units is not None)
            self._forget()
            self._fitted_with = parameters_of_fit(self)
        reports = Reporter(settings.callback).watching(stream.ledger, stream.budget.mu)
        complete = False
        try:
            with reports, shown_batches(stream, verbose=settings.verbose):
                add_to_stream(stream, X, units, source=source, layout=self.layout_, mean=mean, scale=scale)
            complete = True
        finally:
            if complete or stream.arrivals:  # rows that were taken before an exception are in the stream
                self._stream = stream
                self._take_from_stream(settings)
        return self

    # -- streams ---------------------------------------------------------------------------------

    @property
    def stream(self) -> TrackedStream:
        """The stream behind `partial_fit`. It holds the rows of the open batch, so it is *not private*."""
        stream: TrackedStream | None = vars(self).get("_stream")
        if stream is None:
            raise AttributeError("there is no stream before the first partial_fit.")
        return stream

    def resume(self, path: str | os.PathLike[str]) -> Self:
        """Resume a stream from a checkpoint written by ``pca.stream.save(path)``.

        This estimator must have the parameters with which the stream began. If not, the checkpoint is not taken.
        """
        settings = read_settings(self, stream=True)
        stream = TrackedStream.load(
            path, engine=settings.engine, check=lambda stream: self._refuse_another_stream(stream, settings, [])
        )
        self._forget()
        self._fitted_with = parameters_of_fit(self)
        self._stream = stream
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.layout_ = settings.layout
        if stream.schema is not None:
            note_columns(self, *stream.schema)
        self._take_from_stream(settings)
        return self

    # -- scikit-learn ----------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = self.random_state is None
        return tags

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        family = vars(self).get("_family") or Family()
        self._family, twin._family = family, family
        return twin

    def __getstate__(self) -> dict[str, Any]:
        if "_stream" in vars(self):
            raise InvalidInputError(
                "a DPPCA in the middle of a stream cannot be copied or pickled: it holds raw rows of the open "
                "batch, and a copy that continues would spend the same people's budget again.",
                hint="pca.stream.save(path) writes a checkpoint, and DPPCA(...).resume(path) continues from it.",
            )
        state: dict[str, Any] = super().__getstate__()
        return state

    # -- inside ----------------------------------------------------------------------------------

    def _count_in_family(self, settings: Settings) -> None:
        """Count this estimator once, and only if no shared ledger adds up the spending of its clones."""
        family = vars(self).get("_family")
        alone = settings.ledger is None and settings.random_state is None
        if family is not None and alone and not vars(self).get("_counted", False):
            self._counted = True
            warn_of_relatives(family)

    def _forget(self) -> None:
        """Delete everything from an earlier fit except the schema of the present data."""
        for name in [*(FITTED - {"feature_names_in_", "layout_"}), "_stream", "_fitted_with"]:
            self.__dict__.pop(name, None)

    def _refuse_another_stream(self, stream: TrackedStream, settings: Settings, changed: list[str]) -> None:
        """Raise if parameters have changed: cost and preparation of rows are fixed when a stream begins."""
        names = dict.fromkeys([*changed, *changed_settings(stream, settings)])
        if names:
            raise InvalidInputError(
                f"the stream began with a different {', '.join(names)}, which cannot change within a stream.",
                hint="Restore it to continue this stream, or start another one with a new DPPCA.",
            )

    def _take_from_stream(self, settings: Settings) -> None:
        self.n_samples_seen_ = self._stream.arrivals
        if self._stream.released:
            self.__dict__.update(stream_attributes(self, self._stream.release(), settings))
