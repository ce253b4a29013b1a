"""Methods of a fitted model: scores, inverse transform, covariance and density, all from released values."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from eigenveil._printable import printable
from eigenveil._typing import FloatArray
from eigenveil.algorithms.release import component_names
from eigenveil.algorithms.release_warnings import ReleaseWarning
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.attributes import covariance, log_likelihood
from eigenveil.estimators.inputs import numeric, rows_to_transform
from eigenveil.estimators.missing_attributes import FITTED, REASONS, why_absent
from eigenveil.estimators.refit_guard import warn_if_it_chooses
from eigenveil.estimators.scores.files import WrittenScores, refuse_existing, warn_once_of_scores, write_scores
from eigenveil.estimators.scores.projection import centred, scores_of, whitening_of
from eigenveil.estimators.scores.release_scores import Ask, release_scores
from eigenveil.estimators.scores.score_map import ScoreMap
from eigenveil.estimators.settings import as_fitted, changed_since, made_by
from eigenveil.privacy import Ledger, Relation
from eigenveil.sources.carried_columns import open_kept
from eigenveil.sources.files.any_files import refuse_to_replace

_COVERS = "the guarantee covers the input of DPPCA; a scaler or imputer fitted before it is not private"


def _has_density(model: ReleasedModel) -> bool:
    """Return whether the model has a density; if not, the error of the missing attribute says why."""
    return "components_" not in vars(model) or model.noise_variance_ is not None


class ReleasedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A model made of released components, mean, scales and variances."""

    algorithm: str
    whiten: bool
    n_features_in_: int

    @property
    def warnings_(self) -> tuple[ReleaseWarning, ...]:
        """Warnings of the release, as data: code, text and numbers."""
        found: tuple[ReleaseWarning, ...] = self.release_.warnings
        return found

    # -- using -----------------------------------------------------------------------------------

    def transform(self, X: Any) -> FloatArray:
        """Return scores: the coordinates of rows along the components.

        Scores of the training rows depend on single rows: they are *not private*.

        Parameters
        ----------
        X : anything that holds rows
            Anything that `fit` accepts. The unit column of `fit` is ignored if present. Columns that were chosen
            at fit, or come from files, are found by name, in any order; other columns are ignored.

        Returns
        -------
        array of shape (rows, n_components)
            One row of scores per row; nan if the row is not finite.
        """
        blocks = list(self.transform_blocks(X))
        return np.concatenate(blocks) if blocks else np.zeros((0, self.n_components_))

    def transform_blocks(self, X: Any) -> Iterator[FloatArray]:
        """Yield scores block by block, for rows that do not fit in memory."""
        check_is_fitted(self)
        return (scores_of(self, rows) for rows in rows_to_transform(self, X))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit, and return scores of the training rows. The model is private, the scores are *not* (warns once).

        Parameters
        ----------
        X : anything that holds rows
            Anything that `fit` accepts.
        y : ignored
            For pipelines.
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        array of shape (rows, n_components)
            Scores, as from `transform`.
        """
        scores: FloatArray = super().fit_transform(X, y, **fit_params)
        if self.ledger_.private:
            warn_once_of_scores()
        return scores

    def transform_to(
        self, X: Any, path: str | os.PathLike[str], *, keep: Any = None, overwrite: bool = False
    ) -> WrittenScores:
        """Write scores to a Parquet or CSV file, block by block, for rows that do not fit in memory.

        Scores of the training rows are *not private*, so neither is the file.

        Parameters
        ----------
        X : anything that holds rows
            Anything that `fit` accepts.
        path : path
            The file: CSV if it ends in .csv, else Parquet. Its columns are the kept ones, then
            `get_feature_names_out`. It appears when it is complete. An existing file is refused.
        keep : str or list of str, optional
            Columns of X to copy unchanged next to the scores, such as ids: names, or globs such as ``"id*"``. For
            data frames in memory and for files.
        overwrite : bool
            Whether an existing file may be replaced. It is still refused if X is a path, a glob or a folder that
            includes it; whether X is read from it in another way is not checked.

        Returns
        -------
        WrittenScores
            The number of rows, and of rows without scores because of a missing value. These rows are written with
            missing scores, so that line i of the file is row i of X.
        """
        check_is_fitted(self)
        if overwrite:
            refuse_to_replace(X, path)
        else:
            refuse_existing(path)
        kept = None if keep is None else open_kept(X, keep)
        names = list(self.get_feature_names_out())
        return write_scores(self.transform_blocks(X), names, path, kept=kept, overwrite=overwrite)

    def private_scores(
        self,
        X: Any,
        *,
        epsilon: float,
        delta: float = 1e-6,
        units: Any = None,
        components: tuple[int, int] = (1, 2),
        bins: int | tuple[int, int] = 16,
        bounds: Any = None,
        groups: Any = None,
        labels: Any = None,
        relation: Relation | str | None = None,
        ledger: Ledger | None = None,
        random_state: int | None = None,
    ) -> ScoreMap:
        """Buy a noisy two-dimensional histogram of scores, which can be published.

        Parameters
        ----------
        X : anything that holds rows
            Anything that `fit` accepts; read once, block by block.
        epsilon, delta : float
            Privacy budget of the histogram, in addition to the cost of the fit.
        units : str or array-like of ids, optional
            The owner of each row; by default the unit column of `fit`, if it was given by name. A person counts as
            1 in total, divided equally among their rows. A model of people needs it, with ids of the same people:
            ids without a name count as theirs.
        components : (int, int)
            The two components on the axes, counted from 1.
        bins : int or (int, int)
            Number of cells along each axis. The noise per cell does not depend on it, so fewer cells show more.
        bounds : ((low, high), (low, high)), optional
            Public bounds of the histogram; by default 3.5 released standard deviations on either side. Units
            beyond the bounds are counted separately (`outside`).
        groups : array-like or str, optional
            A label for every row: one histogram per label, at the same cost. With people, for rows in memory only.
            If X is files, the name of the column of labels, also with people.
        labels : list
            All groups, in display order. The list must be public; rows with other labels are excluded. Labels
            are compared with groups as text of one form: 1, 1.0, "1" and True are equal, and so are a date, a
            date-time at midnight and "2020-01-31". Labels that the type of the groups cannot hold are refused.
        relation : {"add-remove", "replace"}, optional
            Neighbouring relation; by default that of `ledger`, or of the model.
        ledger : Ledger, optional
            The ledger to charge; by default a new one. The ledger of the fit is charged only if passed here.
        random_state : int, optional
            A seed, for tests and teaching. The histogram is then marked "not private".

        Returns
        -------
        ScoreMap
            Counts, edges, noise and ledger; `non_negative()` removes negative counts.

        Notes
        -----
        *Formal guarantees.* (epsilon, delta)-DP under `relation`: Gaussian noise on integers of L2 sensitivity 1
        (sqrt(2) under "replace"), as proven in `eigenveil.mechanisms.score_histogram`. Axes and bounds are
        released or declared. If the model was fitted to the same people, both costs add up; charge one ledger to
        see the sum.

        Examples
        --------
        >>> from eigenveil import DPPCA
        >>> X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
        >>> pca = DPPCA(n_components=2, epsilon=1.0).fit(X)
        >>> histogram = pca.private_scores(X, epsilon=0.5, bins=8)
        >>> histogram.counts.shape, round(histogram.noise), histogram.private
        ((8, 8), 8, True)
        >>> bool(histogram.non_negative().counts.min() >= 0), round(histogram.ledger.epsilon(1e-6), 3)
        (True, 0.5)
        """
        check_is_fitted(self)
        ask = Ask(components=components, bins=bins, bounds=bounds, groups=groups, labels=labels)
        return release_scores(
            self,
            X,
            ask,
            units=units,
            relation=relation,
            epsilon=epsilon,
            delta=delta,
            ledger=ledger,
            random_state=random_state,
        )

    def inverse_transform(self, X: Any) -> FloatArray:
        """Map scores back to rows in the subspace of the components.

        Parameters
        ----------
        X : array of shape (rows, n_components)
            Scores.

        Returns
        -------
        array of shape (rows, d)
            Rows in the units of the data.
        """
        check_is_fitted(self)
        scores = check_array(numeric(X), dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
        if scores.shape[1] != self.n_components_:
            raise InvalidInputError(f"expected scores of {self.n_components_} components, got {scores.shape[1]}.")
        rows: FloatArray = (scores * whitening_of(self)) @ self.components_
        scaled: FloatArray = rows if self.scale_ is None else rows * self.scale_
        return np.asarray(scaled + self.mean_)

    def get_covariance(self) -> FloatArray:
        """Return the covariance of the released model, in the units of the data, by PCA's formula."""
        check_is_fitted(self)
        return covariance(self.components_, self.explained_variance_, self.noise_variance_, self.scale_)

    def get_precision(self) -> FloatArray:
        """Return the inverse of `get_covariance` (the pseudo-inverse if a released variance is 0)."""
        return np.asarray(np.linalg.pinv(self.get_covariance(), hermitian=True))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of rows under the released model. *Not private* for training rows."""
        check_is_fitted(self)
        model = self.get_covariance()
        blocks = [log_likelihood(centred(self, rows), model) for rows in rows_to_transform(self, X)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the average log-likelihood of the finite rows of X."""
        each = self.score_samples(X)
        warn_if_it_chooses(self.ledger_)
        good = np.isfinite(each)
        return float(np.mean(each[good])) if np.any(good) else float("nan")

    # -- scikit-learn ----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "components_" in vars(self)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the scores: pc1, pc2, and so on.

        Parameters
        ----------
        input_features : array-like of str, optional
            For pipelines: names of the columns, which must be those of the fit.

        Returns
        -------
        array of str
            One per component.
        """
        super().get_feature_names_out(input_features)  # which checks them
        return np.asarray(component_names(self.n_components_), dtype=object)

    def __getattr__(self, name: str) -> Any:
        if name in FITTED and "components_" not in vars(self):
            waiting = "no batch of the stream has closed yet" if "_stream" in vars(self) else "call fit first"
            raise NotFittedError(f"This DPPCA instance is not fitted yet, so it has no {name}: {waiting}.")
        if name in REASONS:
            raise AttributeError(why_absent(name, made_by(self)))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        plain: str = super().__repr__(N_CHAR_MAX)
        if "ledger_" not in vars(self):
            return plain
        return f"{plain}  # {self._guarantee()}; {_COVERS}"

    @property
    def _repr_html_(self) -> Callable[[], str]:
        plain: Callable[[], str] = super()._repr_html_
        return lambda: plain() + self._guarantee_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._guarantee_html()
        return bundle

    def _guarantee_html(self) -> str:
        return f"<p>{html.escape(self._guarantee())}</p>" if "ledger_" in vars(self) else ""

    def _guarantee(self) -> str:
        """Return the cost of the fit, from its own parameters and ledger, not from the current parameters."""
        fitted, changed = as_fitted(self), changed_since(self)
        since = f" ({', '.join(changed)} changed since)" if changed else ""
        if not self.ledger_.private:
            return f"NOT PRIVATE: {'; '.join(self.ledger_.reasons)}{since}"
        cost = f"epsilon = {fitted['epsilon']:g}, delta = {fitted['delta']:g}, {self.ledger_.relation.value}"
        unit = "" if self.ledger_.unit is None else f", one unit: {printable(str(self.ledger_.unit))}"
        return f"the fit cost {cost}{unit}{since}"
