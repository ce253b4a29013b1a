"""What a fitted model offers: scores, rows back from scores, covariance, density; all from released values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.absent import FITTED, REASONS, why_absent
from eigenveil.estimators.inputs import rows_to_transform
from eigenveil.estimators.projection import centred, scores_of, whitening_of
from eigenveil.estimators.released import covariance, log_likelihood
from eigenveil.estimators.repeated_fits import warn_if_it_chooses
from eigenveil.estimators.score_files import WrittenScores, warn_once_of_scores, write_scores
from eigenveil.estimators.score_picture import ScoreHistogram
from eigenveil.estimators.scores import Ask, release_scores
from eigenveil.estimators.settings import made_by
from eigenveil.privacy import Ledger, Relation
from eigenveil.sources.kept import open_kept
from eigenveil.subspace.release import component_names
from eigenveil.subspace.release_warnings import ReleaseWarning


def _has_density(model: ReleasedModel) -> bool:
    """Whether there is a density; before fit there may be one. If not, the missing attribute's error says why."""
    return "components_" not in vars(model) or model.noise_variance_ is not None


class ReleasedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Directions, mean, scales and variances that were released, and what can be done with them."""

    algorithm: str
    whiten: bool
    n_features_in_: int

    @property
    def warnings_(self) -> tuple[ReleaseWarning, ...]:
        """What the release warns of, as data: code, text and numbers."""
        found: tuple[ReleaseWarning, ...] = self.release_.warnings
        return found

    # -- using -----------------------------------------------------------------------------------

    def transform(self, X: Any) -> FloatArray:
        """Scores of rows: their coordinates along the components.

        Scores of the rows it was fitted to are functions of single rows: they are *not private*.

        Parameters
        ----------
        X : anything that holds rows
            Whatever `fit` takes; the unit column of `fit` may be among its columns and is left out. Columns that
            were chosen at fit, or come from files, are found by their names; others may be there, in any order.

        Returns
        -------
        array of shape (rows, n_components)
            One row of scores per row; nan where a row is not finite.
        """
        blocks = list(self.transform_blocks(X))
        return np.concatenate(blocks) if blocks else np.zeros((0, self.n_components_))

    def transform_blocks(self, X: Any) -> Iterator[FloatArray]:
        """The same block by block, for rows that do not fit into memory."""
        check_is_fitted(self)
        return (scores_of(self, rows) for rows in rows_to_transform(self, X))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit, and the scores of the same rows: the model is private, these scores are *not* (it warns once).

        Parameters
        ----------
        X : anything that holds rows
            Whatever `fit` takes.
        y : ignored
            For pipelines.
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        array of shape (rows, n_components)
            As `transform` gives them.
        """
        scores: FloatArray = super().fit_transform(X, y, **fit_params)
        if self.ledger_.private:
            warn_once_of_scores()
        return scores

    def transform_to(self, X: Any, path: str | os.PathLike[str], *, keep: Any = None) -> WrittenScores:
        """Write scores to a Parquet or CSV file, block by block: for rows that do not fit into memory.

        Scores of the rows it was fitted to are *not private*, so neither is the file.

        Parameters
        ----------
        X : anything that holds rows
            Whatever `fit` takes.
        path : path
            The file: CSV if it ends in .csv, else Parquet. Its columns are those that are kept, then
            `get_feature_names_out`. One that exists is replaced when all is written.
        keep : str or list of str, optional
            Columns of X that are written beside the scores as they are, such as ids: names, or globs such as
            ``"id*"``. For frames in memory and files.

        Returns
        -------
        WrittenScores
            How many rows there are, and how many have no scores, since a value of theirs is missing. They are
            written all the same, with missing scores, so that line i of the file is row i of X.
        """
        check_is_fitted(self)
        kept = None if keep is None else open_kept(X, keep)
        return write_scores(self.transform_blocks(X), list(self.get_feature_names_out()), path, kept=kept)

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
    ) -> ScoreHistogram:
        """A picture of scores that may be published: a noisy 2-D histogram, at a cost of its own.

        Parameters
        ----------
        X : anything that holds rows
            Whatever `fit` takes; read once, block by block.
        epsilon, delta : float
            What the picture costs, on top of what the fit has cost.
        units : str or array-like of ids, optional
            Whose row each row is; where `fit` was given the name of a column, that one by default. A person counts
            as 1 in all, in equal parts on all rows. Leave it out only where a row is a person.
        components : (int, int)
            Which two components are the axes, counted from 1.
        bins : int or (int, int)
            Cells along each axis. Noise per cell is the same for any number, so fewer cells show more.
        bounds : ((low, high), (low, high)), optional
            What the picture shows, if that is public: 3.5 released standard deviations to either side by default.
            What lies outside is counted apart (`outside`).
        groups : array-like or str, optional
            A label for every row: one histogram per label, for the same price. With people, rows in memory only.
            Where X is files, the name of the column that holds the labels, with people too.
        labels : list
            All groups, in the order wanted. The list must be public; rows with other labels are left out.
        relation : {"add-remove", "replace"}, optional
            What neighbours are: that of `ledger`, or of the model.
        ledger : Ledger, optional
            One to charge; a new one by default, never that of the fit unless it is passed here.
        random_state : int, optional
            A seed, for tests and teaching: the picture then says "not private".

        Returns
        -------
        ScoreHistogram
            Counts, edges, noise and ledger; `non_negative()` takes the negative numbers out.

        Notes
        -----
        *Formal guarantees.* (epsilon, delta)-DP under `relation`: Gaussian noise on integers of L2 sensitivity 1
        (sqrt(2) under "replace"), as proven in `eigenveil.mechanisms.score_histogram`. Axes and bounds are
        released or declared. Where the same people were fitted to, both costs add up; charge one ledger to see
        the sum.

        Examples
        --------
        >>> from eigenveil import DPPCA
        >>> X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
        >>> pca = DPPCA(n_components=2, epsilon=1.0).fit(X)
        >>> picture = pca.private_scores(X, epsilon=0.5, bins=8)
        >>> picture.counts.shape, round(picture.noise), picture.private
        ((8, 8), 8, True)
        >>> bool(picture.non_negative().counts.min() >= 0), round(picture.ledger.epsilon(1e-6), 3)
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
        """Rows whose scores these are, in the plane of the components.

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
        scores = check_array(X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
        if scores.shape[1] != self.n_components_:
            raise InvalidInputError(f"expected scores of {self.n_components_} components, got {scores.shape[1]}.")
        rows: FloatArray = (scores * whitening_of(self)) @ self.components_
        scaled: FloatArray = rows if self.scale_ is None else rows * self.scale_
        return np.asarray(scaled + self.mean_)

    def get_covariance(self) -> FloatArray:
        """Covariance of the released model: PCA's formula on released values, in the units of the data."""
        check_is_fitted(self)
        return covariance(self.components_, self.explained_variance_, self.noise_variance_, self.scale_)

    def get_precision(self) -> FloatArray:
        """Inverse of `get_covariance` (the pseudo-inverse, where a released variance is 0)."""
        return np.asarray(np.linalg.pinv(self.get_covariance(), hermitian=True))

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> FloatArray:
        """Log-likelihood of rows under the released model; of rows it was fitted to, not private."""
        check_is_fitted(self)
        model = self.get_covariance()
        blocks = [log_likelihood(centred(self, rows), model) for rows in rows_to_transform(self, X)]
        return np.concatenate(blocks) if blocks else np.zeros(0)

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Average log-likelihood of the finite rows of X."""
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
        """Names of the scores: pc1, pc2, and so on.

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
