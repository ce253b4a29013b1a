"""Intervals and angles of a fitted DPPCA: how far what was released may be from the truth, at no further cost."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenveil._typing import FloatArray
from eigenveil.errors import InvalidInputError
from eigenveil.estimators.how_many import ComponentsFor, components_for, cumulative_interval
from eigenveil.estimators.settings import made_by
from eigenveil.subspace import Release
from eigenveil.subspace.uncertainty import VarianceErrors, component_angles, release_errors

USUAL_SHARE = 0.9
"""The share of variance for which summaries and reports tell the number of components."""


def told_angles(model: Any) -> FloatArray | None:
    """The angles that a fitted model expects its components to be off by; None where it cannot tell."""
    with contextlib.suppress(AttributeError, InvalidInputError):
        found: FloatArray = model.component_angles()
        return found
    return None


def told_components_for(model: Any) -> ComponentsFor | None:
    """How many components hold the usual share of the variance; None where a fitted model cannot tell."""
    with contextlib.suppress(AttributeError, InvalidInputError):
        found: ComponentsFor = model.components_for(USUAL_SHARE)
        return found
    return None


class UncertaintyMixin:
    """What a model can say of its own errors, from released values and the known noise only.

    Notes
    -----
    *Formal guarantees.* All of it is post-processing of what `fit` has released: nothing is charged or drawn.

    The truth that is meant is that of the population the units come from, not of these units: u^T Sigma u for a
    released component u, and the eigenvectors of Sigma. It counts privacy noise, the chance of which units came,
    and what clipping took, the last two as for normal rows or people with several normal rows. Where scales were
    bought, Sigma is that of columns divided by their true standard deviations, and the errors of the scales count
    too (not of those that a warning calls unknown: these are taken as if they were declared). With skewed or
    heavy-tailed data variances are lower than the intervals say; docs/coming-from-sklearn.md has numbers.
    """

    algorithm: str
    release_: Release

    def explained_variance_interval(self, level: float = 0.95) -> FloatArray:
        """Intervals for the population's variance along each released component.

        They lie around `explained_variance_` with what clipping took put back, so not quite in their middle.

        Parameters
        ----------
        level : float
            Probability with which one such interval holds the truth.

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
        """The same for shares of the total variance, within [0, 1]; shape (n_components, 2)."""
        return self._variance_errors("explained_variance_ratio_interval").ratio_interval(level)

    def cumulative_variance_ratio_interval(self, level: float = 0.95) -> FloatArray:
        """The same for what the first 1, 2, ... components hold together; shape (n_components, 2).

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
        """How many components hold a share of the variance, from what `fit` has released: it costs nothing more.

        Parameters
        ----------
        share : float
            Above 0 and at most 1: 0.9 asks for 90 % of the total variance.
        level : float
            Probability with which `low` and `high` of the answer hold the number.

        Returns
        -------
        ComponentsFor
            `n`, `low`, `high`, and the shares that 1, 2, ... components hold (`reached`). `n` is None where the
            components that were fitted do not reach the share; `low` and `high` then say how many may be needed.

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
        """An interval for the population's total variance (the trace of Sigma), of shape (2,)."""
        return self._variance_errors("total_variance_interval").total_interval(level)

    def standard_errors(self) -> FloatArray:
        """Standard errors of the variances along the components, of shape (n_components,): noise and chance."""
        return self._variance_errors("standard_errors").errors

    def component_angles(self, level: float | None = None) -> FloatArray:
        """About how far, in degrees, each component is from the population's principal direction nearest to it.

        Parameters
        ----------
        level : float, optional
            None: the root mean square angle to be expected. 0.95, say: the angle that is exceeded in about 5 % of
            fits.

        Returns
        -------
        array of shape (n_components,)
            Below some 10 degrees a direction may be read as it is. Near 45 two directions have variances too
            close to tell, and may have mixed or swapped: trust the plane they span, not each of them. 90: nothing
            is known.

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
                f"DPPCA has no component_angles: {made_by(self)} does not tell how noisy its directions are.\n"
                "Hint: algorithm='tracked' does, with fit."
            )
        return np.degrees(component_angles(self.release_, level=level))

    def _variance_errors(self, name: str) -> VarianceErrors:
        """Errors of the variances, or an error that says why there are none."""
        check_is_fitted(self)
        if self.release_.variances is None:
            raise AttributeError(
                f"DPPCA has no {name}: {made_by(self)} has bought no variances of known noise.\n"
                "Hint: algorithm='tracked' buys them, with fit."
            )
        return release_errors(self.release_)
