"""Intervals and angles of a fitted DPPCA: the uncertainty of what was released, at no further cost."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenveil._typing import FloatArray
from eigenveil.algorithms import Release
from eigenveil.algorithms.uncertainty import VarianceErrors, component_angles, release_errors
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.component_count import ComponentsFor, components_for, cumulative_interval
from eigenveil.estimators.settings import made_by

USUAL_SHARE = 0.9
"""Share of variance for which summaries and reports give the number of components."""


def known_angles(model: Any) -> FloatArray | None:
    """Return the expected angular errors of the components; None if the model does not know them."""
    with contextlib.suppress(AttributeError, InvalidInputError):
        found: FloatArray = model.component_angles()
        return found
    return None


def known_components_for(model: Any) -> ComponentsFor | None:
    """Return how many components hold the usual share of variance; None if the model does not know."""
    with contextlib.suppress(AttributeError, InvalidInputError):
        found: ComponentsFor = model.components_for(USUAL_SHARE)
        return found
    return None


class UncertaintyMixin:
    """Uncertainty of a model, from released values and the known noise only.

    Notes
    -----
    *Formal guarantees.* All of it is post-processing of what `fit` has released: nothing is charged or drawn.

    Estimands refer to the population that the units come from, not to these units: u^T Sigma u for a released
    component u, and the eigenvectors of Sigma. Errors include privacy noise, sampling error and clipping bias; the
    last two are those of normal rows, or of people with several normal rows. If scales were bought, Sigma is that
    of columns divided by their true standard deviations, and the noise in the scales is included, up to the error
    at which a warning calls them unknown. If a mean was bought, Sigma is the second moment
    around it: the error of the mean adds its outer product to the covariance.

    For skewed or heavy-tailed data the true variances exceed what the intervals suggest: intervals are about units
    without the few that no count shows. Limits of angles do allow for these few, by how slowly the tails that were
    seen fall off. docs/coming-from-sklearn.md has numbers.
    """

    algorithm: str
    release_: Release

    def explained_variance_interval(self, level: float = 0.95) -> FloatArray:
        """Intervals for the population's variance along each released component.

        The intervals are corrected for clipping bias, so `explained_variance_` is not exactly in the middle.

        Parameters
        ----------
        level : float
            Coverage probability of one interval.

        Returns
        -------
        array of shape (n_components, 2)
            Lower and upper ends, never below 0.

        Examples
        --------
        >>> from eigenveil import DPPCA
        >>> X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
        >>> pca = DPPCA(n_components=2, epsilon=1.0).fit(X)
        >>> low, high = pca.explained_variance_interval(level=0.9999)[0]
        >>> bool(low < 25 < high), bool(high - low < 8)
        (True, True)
        """
        return self._variance_errors("explained_variance_interval").interval(level)

    def explained_variance_ratio_interval(self, level: float = 0.95) -> FloatArray:
        """Intervals for shares of the total variance, within [0, 1]; shape (n_components, 2)."""
        return self._variance_errors("explained_variance_ratio_interval").ratio_interval(level)

    def cumulative_variance_ratio_interval(self, level: float = 0.95) -> FloatArray:
        """Intervals for the joint share of the first 1, 2, ... components; shape (n_components, 2).

        Examples
        --------
        >>> from eigenveil import DPPCA
        >>> X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
        >>> pca = DPPCA(n_components=2, epsilon=1.0).fit(X)
        >>> low, high = pca.cumulative_variance_ratio_interval(level=0.9999)[1]
        >>> bool(low < 34 / 38 < high), bool(high - low < 0.2)
        (True, True)
        """
        return cumulative_interval(self._variance_errors("cumulative_variance_ratio_interval"), level)

    def components_for(self, share: float, *, level: float = 0.95) -> ComponentsFor:
        """Estimate how many components hold a share of the variance, at no further cost.

        Parameters
        ----------
        share : float
            Share of the total variance, above 0 and at most 1.
        level : float
            Probability that the interval from `low` to `high` contains the number.

        Returns
        -------
        ComponentsFor
            `n`, `low`, `high`, and the shares of the first 1, 2, ... components (`reached`). `n` is None if the
            fitted components do not reach the share; `low` and `high` then bound how many would be needed.

        Examples
        --------
        >>> from eigenveil import DPPCA
        >>> X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
        >>> pca = DPPCA(n_components=3, epsilon=1.0).fit(X)
        >>> pca.components_for(0.8).n, pca.components_for(0.99).n
        (2, None)
        >>> 4 <= pca.components_for(0.99).low <= pca.components_for(0.99).high <= 6
        True
        """
        found = self._variance_errors("components_for")
        return components_for(found, share, d=self.release_.components.shape[1], level=level)

    def total_variance_interval(self, level: float = 0.95) -> FloatArray:
        """Interval for the total variance of the population (the trace of Sigma), of shape (2,)."""
        return self._variance_errors("total_variance_interval").total_interval(level)

    def standard_errors(self) -> FloatArray:
        """Standard errors of the variances along the components (noise and sampling), shape (n_components,)."""
        return self._variance_errors("standard_errors").errors

    def component_angles(self, level: float | None = None) -> FloatArray:
        """Expected angles, in degrees, between components and the nearest principal directions of the population.

        Parameters
        ----------
        level : float, optional
            None: the expected root mean square angle. A level such as 0.95: a limit that about 5 % of fits exceed,
            fewer with normal rows and more with heavy tails.

        Returns
        -------
        array of shape (n_components,)
            Below about 10 degrees a component can be interpreted on its own. Near 45 degrees two components have
            similar variances and may be mixed or swapped: interpret the plane they span, not each of them. A limit
            of 90 degrees: errors may have swapped the component with another, or nothing is known.

        Examples
        --------
        >>> from eigenveil import DPPCA
        >>> X = np.random.default_rng(0).normal(size=(20_000, 6)) * [5, 3, 1, 1, 1, 1]
        >>> pca = DPPCA(n_components=2, epsilon=1.0).fit(X)
        >>> bool(np.all(pca.component_angles() < 5)), bool(np.all(pca.component_angles(level=0.95) < 8))
        (True, True)
        """
        check_is_fitted(self)
        if self.release_.variances is None or "followed" not in self.release_.diagnostics:
            raise AttributeError(
                f"DPPCA has no component_angles: {made_by(self)} does not report the noise of its components.\n"
                "Hint: algorithm='tracked' does, with fit."
            )
        return np.degrees(component_angles(self.release_, level=level))

    def _variance_errors(self, name: str) -> VarianceErrors:
        """Return the errors of the variances, or raise an error that says why there are none."""
        check_is_fitted(self)
        if self.release_.variances is None:
            raise AttributeError(
                f"DPPCA has no {name}: {made_by(self)} has bought no variances with known noise.\n"
                "Hint: algorithm='tracked' buys them, with fit."
            )
        return release_errors(self.release_)
