"""DPPCA: what `sklearn.decomposition.PCA` does, with a guarantee for every person in the data."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from eigenveil._typing import FloatArray
from eigenveil.engines import Engine
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.absent import FITTED
from eigenveil.estimators.by_name import read_scales
from eigenveil.estimators.inputs import note_columns, open_block
from eigenveil.estimators.model import ReleasedModel
from eigenveil.estimators.progress import CallbackSupportMixin, Progress, Reporter, with_callbacks
from eigenveil.estimators.released import attributes
from eigenveil.estimators.repeated_fits import Family, check_search, warn_of_relatives
from eigenveil.estimators.request import FitRequest
from eigenveil.estimators.settings import Settings, as_fitted, changed_since, parameters_of_fit, read_settings
from eigenveil.estimators.streaming import add_to_stream, new_stream, warn_of_a_fresh_start
from eigenveil.estimators.uncertainty import UncertaintyMixin
from eigenveil.privacy import Ledger
from eigenveil.sources import Layout
from eigenveil.subspace import TrackedStream
from eigenveil.subspace.opening import check_k, declare_layout
from eigenveil.subspace.release_warnings import show

_COVERS = "the guarantee covers its own input; a scaler or imputer fitted before it is not private"


def _streams(estimator: DPPCA) -> bool:
    """Whether the algorithm has a form for streams."""
    if estimator.algorithm != "tracked":
        raise AttributeError(f"partial_fit needs algorithm='tracked', got {estimator.algorithm!r}.")
    return True


class DPPCA(CallbackSupportMixin, UncertaintyMixin, ReleasedModel):  # type: ignore[misc]  # scikit-learn has no types
    """Principal component analysis with differential privacy.

    Parameters
    ----------
    n_components : int
        How many directions. A share of variance cannot be asked for: how many that takes is itself private; after
        a fit, `components_for` says it.
    columns : list of str or int, optional
        Which columns to take, in this order: names or globs such as "lab_*", or positions in arrays. All but the
        unit column by default. They are found by name again in what `transform` gets.
    encode : mapping, optional
        How columns that hold no numbers are read, by name or glob. A public list of values, as in ``{"site":
        ["north", "south"]}``: one column of 0 and 1 for each, all 0 for any other value. Text such as "days since
        2020-01-01": dates as numbers. Declared in the ledger.
    fill : float or mapping, optional
        A public number for missing values, as ``0`` or ``{"bmi": 25, "lab_*": 0}``. By default a row with a
        missing value is left out. Declared in the ledger.
    epsilon, delta : float
        What one fit may cost. A second fit is a new spend.
    algorithm : {"tracked", "k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-gauss-2", "dp-power"}
        How directions are found: see the function of the same name (`tracked_pca`, `k_dp_pca`, ...).
    relation : {"add-remove", "replace"}
        What neighbours are; `partial_fit` counts under empty slots instead.
    center : bool or array of shape (d,)
        True: buy a private mean and take it off (8 % of the budget). An array: a mean that is public anyway, which
        costs nothing and is written in the ledger as declared.
    scale : None, "private", array of shape (d,) or mapping
        What columns are divided by. "private": a private standard deviation each (16 % of the budget). An array:
        public scales, declared in the ledger. A mapping: either for some columns, by name, pattern or position;
        the others are left as they are. Takes the place of a StandardScaler, which is not private.
    bounds : pair (low, high) or mapping, optional
        Public bounds of the columns, numbers or one per column, or pairs for some columns as in `scale`: a mean,
        and private scales, are then bought around their middle, with less noise. Nothing is clipped to them.
        Declared in the ledger.
    whiten : bool
        Whether `transform` divides by the root of the released variances.
    engine : "auto", "dask", "spark", a Dask client or an engine
        Who does the sums.
    ledger : Ledger, optional
        One to charge that other fits charge too, up to its cap; clones share it. Needed inside a search.
    random_state : int, optional
        A seed, for tests and teaching: everything then says "not private".
    options : mapping, optional
        Options of the algorithm's function, by name: ``{"n": 5000}`` declares a public number of units,
        ``{"batch_size": 2000}`` is for `partial_fit`. Unknown ones are refused with the list. Bounds on rows are
        meant for rows less mean and divided by scale, as the algorithm gets them.
    callback : callable, optional
        Called with a `Progress` after every charge.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Orthonormal rows, best first.
    mean_ : array of shape (d,)
        The mean that was taken off, private or declared; 0 where none was.
    scale_ : array of shape (d,) or None
        What columns were divided by.
    explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_ : array, array, array, float
        From released variances; absent, with an error that names the reason, where the algorithm releases none.
    n_samples_ : float
        The noisy number of units, never the number itself (but under "replace", which makes the number of rows
        public; that of people stays noisy).
    n_samples_seen_ : int
        Arrivals in a stream; public there.
    n_components_, n_features_in_, feature_names_in_
        As in scikit-learn; schema is public. Columns are counted and named as they are once values are encoded.
    layout_ : Layout
        Which columns of the data were read (`columns`), and how (`encode`, `fill`): as declared.
    ledger_ : Ledger
        What was spent, on what, under which relation.
    release_ : Release
        What the algorithm returned, with its diagnostics.
    warnings_ : tuple of ReleaseWarning
        What a reader of the release must be warned of: code, text and numbers.

    Notes
    -----
    *Formal guarantees.* One `fit` is (epsilon, delta)-DP under `relation`, for everything it sets: all attributes
    with a trailing underscore are releases, follow from releases, or are declared public. Mean and scales are paid
    from the same (epsilon, delta). `set_params` after a fit changes nothing of it: repr, saved files and reports
    tell what the fit has cost. All calls of `partial_fit` together are (epsilon, delta)-DP under empty slots.

    *Not covered:* what is fitted to the same rows before it (a StandardScaler, an imputer, feature selection), and
    what `transform` returns for the rows it was fitted to, which is a function of single rows.

    ==============================  ==================================================================
    edge case                       answer
    ==============================  ==================================================================
    no rows, few rows               directions full of noise, and a warning from released numbers
    nan, inf, norm above 1e154      such rows are left out, and counted with noise; `transform` gives nan for nan
    n_components = d, d = 1         as any
    a private scale that is lost    too large rather than too small; a warning names the column
    n_components > d                refused before anything is drawn
    units given as matrices         center=False and scale=None only
    a search, a cross-validation    refused unless a ledger is shared; scores and choice are not covered: it warns
    a ledger in another process     a copy, which is not charged: use n_jobs=1, threads, or a ledger each
    ==============================  ==================================================================

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

    # -- fitting ---------------------------------------------------------------------------------

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, units: Any = None, columns: Any = None) -> Self:  # noqa: ARG002
        """Find the directions.

        Parameters
        ----------
        X : anything that holds rows, or what `eigenveil.samples` makes
            Arrays, sparse matrices, frames (lazy ones too), Arrow tables, paths and globs, lists of blocks.
        y : ignored
            For pipelines.
        units : str or array-like of ids, optional
            Whose row each row is: a column's name, or one id per row. All rows of a person are then one unit.
        columns : list of str or int, optional
            Which columns to take, in place of those of the estimator.

        Returns
        -------
        DPPCA
            Itself.
        """
        return self.run_request(FitRequest.of(self, X, units, columns=columns))

    def run_request(self, request: FitRequest) -> Self:
        """Fit as a request says that was made of this estimator: what `fit` does, and the command line.

        Parameters
        ----------
        request : FitRequest
            Checked settings and data; see `eigenveil.estimators.request`.

        Returns
        -------
        DPPCA
            Itself.
        """
        if request.parameters != parameters_of_fit(self):
            raise InvalidInputError(
                "the request was made of an estimator with other parameters than this one has now.",
                hint="Make it anew with FitRequest.of(estimator, X), or use fit.",
            )
        self._count_in_family(request.settings)
        self._forget()
        self._fitted_with = dict(request.parameters)
        reporter = Reporter(request.settings.callback, self)
        with reporter.task():
            self.__dict__.update(request.run(reporter))
        show(self.release_.warnings)
        return self

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, units: Any = None) -> Self:  # noqa: ARG002
        """Take in rows of a stream: every row is used once, and attributes are those of the last closed batch.

        After `fit` it starts from nothing, at a cost of its own.

        Parameters
        ----------
        X : anything that holds rows
            The next rows, any number of them.
        y : ignored
            For pipelines.
        units : str or array-like of ids, optional
            Whose row each row is. Of each person only the first row ever counts. Give it always or never.

        Returns
        -------
        DPPCA
            Itself. Before the first batch closes it is not fitted.
        """
        settings = read_settings(self, stream=True)
        check_search(None, seeded=settings.random_state is not None)
        stream = vars(self).get("_stream")
        if stream is not None:
            self._refuse_another_stream(settings)
        X = open_block(self, X, units, settings.layout, first=stream is None or stream.schema is None)
        if stream is None:
            check_k(settings.k, self.n_features_in_)
            self._count_in_family(settings)
            warn_of_a_fresh_start(again="components_" in vars(self))
            stream = new_stream(settings, self.layout_, people=units is not None)
            self._forget()
            self._fitted_with = parameters_of_fit(self)
            self._declared = settings.layout
        mean, scale = settings.declared_mean(self.n_features_in_), self._declared_scale(settings)
        with Reporter(settings.callback).watching(stream.ledger, stream.budget.mu):
            add_to_stream(stream, X, units, layout=self.layout_, mean=mean, scale=scale)
        self._stream = stream
        self._take_from_stream(settings)
        return self

    # -- streams ---------------------------------------------------------------------------------

    @property
    def stream(self) -> TrackedStream:
        """The stream behind `partial_fit`: it holds the rows of the open batch, so it is *not private*."""
        stream: TrackedStream | None = vars(self).get("_stream")
        if stream is None:
            raise AttributeError("there is no stream before the first partial_fit.")
        return stream

    def resume(self, path: str | os.PathLike[str]) -> Self:
        """Go on with a stream that ``pca.stream.save(path)`` has written."""
        settings = read_settings(self, stream=True)
        stream = TrackedStream.load(path, engine=settings.engine)
        if stream.stated != (settings.k, settings.epsilon, settings.delta):
            raise InvalidInputError("the checkpoint is of a stream with another n_components, epsilon or delta.")
        self._forget()
        self._fitted_with = parameters_of_fit(self)
        self._stream = stream
        for name in ("_unit_column", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.layout_ = self._declared = settings.layout
        declare_layout(stream.ledger, settings.layout)
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
                "a DPPCA in the middle of a stream is not copied or pickled: it holds raw rows of the open batch, "
                "and a copy that also goes on would spend the same people's budget again.",
                hint="pca.stream.save(path) writes a checkpoint, and DPPCA(...).resume(path) goes on with it.",
            )
        state: dict[str, Any] = super().__getstate__()
        return state

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        plain: str = super().__repr__(N_CHAR_MAX)
        if "ledger_" not in vars(self):
            return plain
        return f"{plain}  # {self._guarantee()}; {_COVERS}"

    @property
    def _repr_html_(self) -> Callable[[], str]:
        plain: Callable[[], str] = super()._repr_html_
        return lambda: plain() + self._told_in_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._told_in_html()
        return bundle

    def _told_in_html(self) -> str:
        return f"<p>{html.escape(self._guarantee())}</p>" if "ledger_" in vars(self) else ""

    def _guarantee(self) -> str:
        """What the fit has cost, by its own parameters and its ledger, whatever the parameters are now."""
        fitted, changed = as_fitted(self), changed_since(self)
        since = f" ({', '.join(changed)} changed since)" if changed else ""
        if not self.ledger_.private:
            return f"NOT PRIVATE: {'; '.join(self.ledger_.reasons)}{since}"
        cost = f"epsilon = {fitted['epsilon']:g}, delta = {fitted['delta']:g}, {self.ledger_.relation.value}"
        return f"the fit cost {cost}{since}"

    # -- inside ----------------------------------------------------------------------------------

    def _count_in_family(self, settings: Settings) -> None:
        """Once per estimator, and only where nothing else adds up what its clones spend."""
        family = vars(self).get("_family")
        alone = settings.ledger is None and settings.random_state is None
        if family is not None and alone and not vars(self).get("_counted", False):
            self._counted = True
            warn_of_relatives(family)

    def _forget(self) -> None:
        """Everything of an earlier fit but the schema of the data at hand."""
        for name in [*(FITTED - {"feature_names_in_", "layout_"}), "_stream", "_fitted_with", "_declared"]:
            self.__dict__.pop(name, None)

    def _refuse_another_stream(self, settings: Settings) -> None:
        """A stream has its budget from its beginning on; parameters of now would not be those of its ledger."""
        changed = [*changed_since(self), *settings.layout.unlike(self._declared)]
        if changed:
            raise InvalidInputError(
                f"the stream was begun with another {', '.join(changed)}; what it costs is fixed from there on.",
                hint="Set it back to go on with this stream, or begin another one with a new DPPCA.",
            )

    def _declared_scale(self, settings: Settings) -> FloatArray | None:
        """Public scales of the columns of a stream."""
        names = vars(self).get("feature_names_in_")
        return read_scales(settings.scale, self.n_features_in_, None if names is None else list(names)).declared

    def _take_from_stream(self, settings: Settings) -> None:
        self.n_samples_seen_ = self._stream.arrivals
        if not self._stream.batches:
            return
        mean, scale = settings.declared_mean(self.n_features_in_), self._declared_scale(settings)
        self.__dict__.update(attributes(self._stream.release(), mean=mean, scale=scale, n_hat=None))
